/** A bell that rings once however often it is struck, and that nobody needs to be waiting for. */
export class Waker {
  #struck = false
  #resolve: (() => void) | null = null

  wake = (): void => {
    this.#struck = true
    this.#resolve?.()
  }

  /** Resolves when struck, now or before; after `ms` at the latest; when `stop` is aborted. */
  async wait(ms: number, stop: AbortSignal): Promise<void> {
    if (!this.#struck && !stop.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(finish, ms)
        stop.addEventListener('abort', finish)
        this.#resolve = finish
        function finish() {
          clearTimeout(timer)
          stop.removeEventListener('abort', finish)
          resolve()
        }
      })
      this.#resolve = null
    }
    this.#struck = false
  }
}

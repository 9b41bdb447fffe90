/** Counts the changes of a sandbox chain, and lets any number wait for the next. */
export class Changes {
  // Whoever followed an earlier process must not take this one's for the same.
  #count = Date.now()
  readonly #waiting = new Set<() => void>()

  get count(): number {
    return this.#count
  }

  readonly emit = (): void => {
    this.#count += 1
    for (const go of [...this.#waiting]) go()
  }

  /** Resolves when the count is another than `known`, or after `ms`. */
  async until(known: number, ms: number): Promise<void> {
    if (this.#count !== known) return
    await new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer)
        this.#waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(go, ms)
      timer.unref()
      this.#waiting.add(go)
    })
  }
}

/** An auto-reset event for one waiter. A signal before the wait is kept; several count once. */
export type AutoResetEvent = {
  signal(): void
  /** Resolves at the next signal, after `ms`, or when `stop` is aborted. */
  wait(ms: number, stop?: AbortSignal): Promise<void>
}

export function createAutoResetEvent(): AutoResetEvent {
  let signalled = false
  let answer: (() => void) | null = null
  return {
    signal: () => {
      signalled = true
      answer?.()
    },
    wait: (ms, stop) =>
      new Promise((resolve) => {
        const finish = (): void => {
          clearTimeout(timer)
          stop?.removeEventListener('abort', finish)
          answer = null
          signalled = false
          resolve()
        }
        const timer = setTimeout(finish, ms)
        stop?.addEventListener('abort', finish)
        if (signalled || stop?.aborted === true) finish()
        else answer = finish
      }),
  }
}

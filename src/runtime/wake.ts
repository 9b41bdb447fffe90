/** A bell that one waiter listens to: a ring before the wait is not missed, and many rings are one. */
export type Wake = {
  ring(): void
  /** Resolves at the next ring, after `ms`, or when `stop` is aborted. */
  wait(ms: number, stop?: AbortSignal): Promise<void>
}

export function createWake(): Wake {
  let rung = false
  let answer: (() => void) | null = null
  return {
    ring: () => {
      rung = true
      answer?.()
    },
    wait: (ms, stop) =>
      new Promise((resolve) => {
        const finish = (): void => {
          clearTimeout(timer)
          stop?.removeEventListener('abort', finish)
          answer = null
          rung = false
          resolve()
        }
        const timer = setTimeout(finish, ms)
        stop?.addEventListener('abort', finish)
        if (rung || stop?.aborted === true) finish()
        else answer = finish
      }),
  }
}

/** A bell that one waiter listens to: a ring before the wait is not missed, and many rings are one. */
export type Wake = {
  ring(): void
  /** Resolves at the next ring, or after `ms`. */
  wait(ms: number): Promise<void>
}

export function createWake(): Wake {
  let rung = false
  let answer: (() => void) | null = null
  return {
    ring: () => {
      rung = true
      answer?.()
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const finish = (): void => {
          clearTimeout(timer)
          answer = null
          rung = false
          resolve()
        }
        const timer = setTimeout(finish, ms)
        if (rung) finish()
        else answer = finish
      }),
  }
}

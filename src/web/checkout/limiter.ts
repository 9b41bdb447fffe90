/** Runs at most `max` of the given works at a time; the others wait their turn in order. */
export function createLimiter(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      // The slot goes straight to the first that waits, so that a newcomer cannot take it.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

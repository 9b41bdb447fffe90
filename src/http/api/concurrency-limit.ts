/** Limits what runs at the same time, counted by name. A name is kept only while something runs under it. */
export type ConcurrencyLimit = {
  /** Runs `work`, or returns null at once if one of the names has reached its maximum. */
  run<Result>(
    within: readonly { readonly name: string; readonly max: number }[],
    work: () => Promise<Result>,
  ): Promise<Result | null>
}

/** Creates a limit for this process, so that what is slow for one does not hold up others. */
export function createConcurrencyLimit(): ConcurrencyLimit {
  const counts = new Map<string, number>()
  const countOf = (name: string): number => counts.get(name) ?? 0
  return {
    run: async (within, work) => {
      if (within.some(({ name, max }) => countOf(name) >= max)) return null
      for (const { name } of within) counts.set(name, countOf(name) + 1)
      try {
        return await work()
      } finally {
        for (const { name } of within) {
          if (countOf(name) === 1) counts.delete(name)
          else counts.set(name, countOf(name) - 1)
        }
      }
    },
  }
}

/** What is under way, counted by name; a name is kept only as long as something of it is. */
export type Turnstile = {
  /** Does `work`, or gives null at once where as much as may be is under way already for one of the names. */
  pass<Result>(
    within: readonly { readonly name: string; readonly max: number }[],
    work: () => Promise<Result>,
  ): Promise<Result | null>
}

/** Bounds what one process has under way at a time, so that what is slow for one is not in the way of others. */
export function createTurnstile(): Turnstile {
  const counts = new Map<string, number>()
  const countOf = (name: string): number => counts.get(name) ?? 0
  return {
    pass: async (within, work) => {
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

/**
 * Runs `work` over `items`, `limit` at a time, results in the items' order. The first failure ends it: nothing
 * more is started, and it is thrown.
 */
export async function concurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const entries = items.entries()
  let failed = false
  const run = async (): Promise<void> => {
    for (const [index, item] of entries) {
      if (failed) return
      try {
        results[index] = await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, run))
  return results
}

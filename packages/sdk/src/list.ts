import { UnexpectedAnswer } from './errors.ts'

export type Page<Item> = {
  readonly object: 'list'
  readonly url: string
  /** Whether there are more in the direction that was asked for. */
  readonly has_more: boolean
  readonly data: readonly Item[]
}

/**
 * A list that is read as far as you go: `for await (const invoice of paylink.invoices.list())` asks for further pages
 * by itself. Newest first; after `ending_before` it goes the other way, from the oldest of the newer ones on.
 */
export type List<Item> = AsyncIterable<Item> & {
  /** One page as the API gives it, newest first. */
  page(): Promise<Page<Item>>
  /** The first ones, at most so many. */
  take(most: number): Promise<Item[]>
}

export type Position = {
  readonly starting_after?: string | undefined
  readonly ending_before?: string | undefined
}

/** The most that the API gives at once. */
const PAGE_LIMIT = 100
/** Far above what a shop has: it only ends what a faulty server would never end. */
const PAGES_MAX = 1_000_000

/** A list whose pages `ask` gives. `query` is the caller's; null for what comes whole, and takes none. */
export function listOf<Item>(query: Position | null, ask: (query: object) => Promise<unknown>): List<Item> {
  const pageOf = async (page: object) => pageIn<Item>(await ask(page))
  const isUpwards = query?.ending_before !== undefined
  const first = query === null ? {} : { limit: PAGE_LIMIT, ...query }
  async function* items(): AsyncGenerator<Item, void, undefined> {
    let position: Position = {}
    let last = ''
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const { data, has_more } = await pageOf({ ...first, ...position })
      const id = has_more ? idOf(isUpwards ? data[0] : data.at(-1)) : null
      // A cache that does not look at the query would give the same page for ever.
      if (id === last) break
      yield* isUpwards ? [...data].reverse() : data
      if (id === null) return
      last = id
      position = isUpwards ? { ending_before: id } : { starting_after: id }
    }
    throw new UnexpectedAnswer(200, 'a list without end')
  }
  return {
    [Symbol.asyncIterator]: items,
    page: () => pageOf(query ?? {}),
    take: async (most) => {
      const taken: Item[] = []
      if (most < 1) return taken
      for await (const item of items()) {
        taken.push(item)
        if (taken.length >= most) break
      }
      return taken
    },
  }
}

/** What the items are is as the server's schemas say. */
function pageIn<Item>(answer: unknown): Page<Item> {
  const { data, has_more } = answer as { readonly data?: unknown; readonly has_more?: unknown }
  if (Array.isArray(data) && typeof has_more === 'boolean') return answer as Page<Item>
  throw new UnexpectedAnswer(200, 'an answer that is no list')
}

function idOf(item: unknown): string {
  const id = typeof item === 'object' && item !== null && 'id' in item ? item.id : undefined
  if (typeof id === 'string') return id
  throw new UnexpectedAnswer(200, 'a list says that it goes on, and not after what')
}

import { formatId, type IdKind, uuidv7 } from '../core/ids.ts'
import type { Tx } from '../postgres/transaction.ts'

/** Where a page of a list begins; ids sort by time. */
export type ListPosition = {
  readonly limit: number
  /** At most one of these two. */
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

/** So many rows are searched for a text, the newest: no index serves the middle of a word. */
const SEARCHED_MAX = 10_000

/** What somebody looks for, and the condition that finds it where `text` stands for it. */
type ListSearch = { readonly text: string; readonly matches: (text: string) => string }

/** The condition under which a column holds a text, in any case of letters. */
export const holds = (column: string, text: string): string =>
  `position(lower(${text}) in lower(${column})) > 0`

/**
 * A page of the rows of a table that have the given values, newest first, and whether there are more in the
 * direction that was asked for. A column whose value is absent is not asked about. Table and columns are the
 * program's own words, never a caller's.
 */
export async function loadPage<Row extends { id: string }>(
  tx: Tx,
  from: {
    readonly table:
      | 'api_key'
      | 'payment_link'
      | 'checkout_session'
      | 'payout'
      | 'payout_destination'
      | 'transfer'
      | 'deposit_account'
      | 'deposit'
    readonly columns: string
  },
  position: ListPosition,
  filters: readonly (readonly [column: string, value: unknown])[],
  search?: ListSearch | undefined,
): Promise<{ rows: Row[]; hasMore: boolean }> {
  const values: unknown[] = []
  const conditions: string[] = []
  const where = (column: string, comparison: '=' | '<' | '>', value: unknown): void => {
    if (value === null || value === undefined) return
    values.push(value)
    conditions.push(`${column} ${comparison} $${values.length}`)
  }
  for (const [column, value] of filters) where(column, '=', value)
  if (search !== undefined) {
    const newest = `select * from ${from.table} where ${conditions.join(' and ')} order by id desc limit ${SEARCHED_MAX}`
    values.push(search.text)
    conditions.push(
      `id in (select id from (${newest}) newest where ${search.matches(`$${values.length}::text`)})`,
    )
  }
  where('id', '<', position.startingAfter)
  where('id', '>', position.endingBefore)
  const oldestFirst = position.endingBefore !== null
  const { rows } = await tx.query<Row>(
    `select ${from.columns} from ${from.table} where ${conditions.join(' and ')}
     order by id ${oldestFirst ? 'asc' : 'desc'} limit ${position.limit + 1}`,
    values,
  )
  const page = rows.slice(0, position.limit)
  if (oldestFirst) page.reverse()
  return { rows: page, hasMore: rows.length > position.limit }
}

/** Unix milliseconds that a UUIDv7 can hold. */
const UUID_MS_MAX = 2 ** 48 - 1

/** The smallest id that something made so many milliseconds after `ms` can have. */
export function firstIdAt(kind: IdKind, ms: number | undefined, later: number): string | null {
  if (ms === undefined) return null
  return formatId(kind, uuidv7(Math.min(Math.max(ms + later, 0), UUID_MS_MAX), new Uint8Array(10)))
}

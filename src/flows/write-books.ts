import { type BookEntry, type BookFormat, type ClosingBalance, dayOf } from '../core/books/book-entry.ts'
import { type BookRow, listBookRows } from '../db/ledger/books.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'

/** Entries of one read. */
const PAGE_SIZE = 1_000

/**
 * Writes a merchant's whole ledger in one mode as a journal. Entries never change, and each says what its account held after
 * it, so that the closing balances are those of the last entries read, whatever is posted meanwhile.
 */
export async function writeBooks(
  deps: { readonly pool: Pool },
  tenant: Tenant,
  format: BookFormat,
  line: (text: string) => void,
): Promise<{ readonly entries: number }> {
  const closing = new Map<string, ClosingBalance>()
  let [after, entries, lastDay] = [-1, 0, '']
  for (const text of format.head) line(text)
  for (let rows = await read(after); rows.length > 0; rows = await read(after)) {
    for (const row of rows) {
      const { account, asset, balance_after: balance } = row
      closing.set(`${account} ${asset}`, { account, asset, balance })
      lastDay = dayOf(row.created_at)
      after = row.position
      // Of a move between two own accounts, the second side.
      if (row.other_position !== null && row.other_position < row.position) continue
      entries += 1
      for (const text of format.linesOf(entryOf(row))) line(text)
    }
  }
  if (entries > 0) for (const text of format.closing([...closing.values()], lastDay)) line(text)
  return { entries }

  function read(position: number): Promise<readonly BookRow[]> {
    const page = { after: position, limit: PAGE_SIZE }
    return withTransaction(deps.pool, tenant, (tx) => listBookRows(tx, tenant, page))
  }
}

function entryOf(row: BookRow): BookEntry {
  const isIn = row.amount > 0n
  const { rate, rate_asset, asset } = row
  return {
    id: row.transfer_id,
    kind: row.kind,
    asset,
    amount: isIn ? row.amount : -row.amount,
    from: isIn ? row.other_account : row.account,
    to: isIn ? row.account : row.other_account,
    usdCents: row.usd_cents,
    rate:
      rate === null || rate_asset !== asset
        ? null
        : { usdPerUnit: rate.usdPerUnit, sources: rate.sources.map(({ name }) => name) },
    invoiceId: row.invoice_id,
    payoutId: row.payout_id,
    createdAt: row.created_at,
  }
}

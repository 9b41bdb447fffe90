import { type BookFormat, type ClosingBalance, dayOf, pricesOf } from '../core/books/book-entry.ts'
import { loadMerchantProfile } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import { readBooks } from './steps/read-books.ts'

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
  const priced = new Set<string>()
  let [entries, lastDay] = [0, '']
  const shop = await withTransaction(deps.pool, tenant, (tx) => loadMerchantProfile(tx, tenant.merchantId))
  for (const text of format.head(shop?.homeCurrency ?? null)) line(text)
  for await (const { row, entry } of readBooks(deps, tenant)) {
    const { account, asset, balance_after: balance } = row
    closing.set(`${account} ${asset}`, { account, asset, balance })
    lastDay = dayOf(row.created_at)
    if (entry === null) continue
    entries += 1
    for (const price of pricesOf(entry)) writePrice(...price)
    for (const text of format.linesOf(entry)) line(text)
  }
  if (entries > 0) for (const text of format.closing([...closing.values()], lastDay)) line(text)
  return { entries }

  /** Once for each day. */
  function writePrice(day: string, commodity: string, dollars: string): void {
    const text = priced.has(`${day} ${commodity}`) ? null : format.priceLine(day, commodity, dollars)
    priced.add(`${day} ${commodity}`)
    if (text !== null) line(text)
  }
}

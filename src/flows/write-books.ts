import {
  type BookEntry,
  type BookFormat,
  type ClosingBalance,
  dayOf,
  pricesOf,
} from '../core/books/book-entry.ts'
import { homeValueOf } from '../core/books/home-value.ts'
import { evidenceOf } from '../db/invoices/invoice-row.ts'
import { type BookRow, listBookRows } from '../db/ledger/books.ts'
import { homeTermsOf } from '../db/ledger/currency-rates.ts'
import { loadMerchantProfile } from '../db/people/merchants.ts'
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
  const priced = new Set<string>()
  let [after, entries, lastDay] = [-1, 0, '']
  const shop = await withTransaction(deps.pool, tenant, (tx) => loadMerchantProfile(tx, tenant.merchantId))
  for (const text of format.head(shop?.homeCurrency ?? null)) line(text)
  for (let rows = await read(after); rows.length > 0; rows = await read(after)) {
    for (const row of rows) {
      const { account, asset, balance_after: balance } = row
      closing.set(`${account} ${asset}`, { account, asset, balance })
      lastDay = dayOf(row.created_at)
      after = row.position
      // Of a move between two own accounts, the second side.
      if (row.other_position !== null && row.other_position < row.position) continue
      entries += 1
      const entry = entryOf(row)
      for (const price of pricesOf(entry)) writePrice(...price)
      for (const text of format.linesOf(entry)) line(text)
    }
  }
  if (entries > 0) for (const text of format.closing([...closing.values()], lastDay)) line(text)
  return { entries }

  /** Once for each day. */
  function writePrice(day: string, commodity: string, dollars: string): void {
    const text = priced.has(`${day} ${commodity}`) ? null : format.priceLine(day, commodity, dollars)
    priced.add(`${day} ${commodity}`)
    if (text !== null) line(text)
  }

  function read(position: number): Promise<readonly BookRow[]> {
    const page = { after: position, limit: PAGE_SIZE }
    return withTransaction(deps.pool, tenant, (tx) => listBookRows(tx, tenant, page))
  }
}

function entryOf(row: BookRow): BookEntry {
  const isIn = row.amount > 0n
  const { asset, usd_cents: usdCents, invoice_rate: rate, invoice_asset: rateAsset } = row
  const [amount, terms] = [isIn ? row.amount : -row.amount, homeTermsOf(row)]
  return {
    id: row.transfer_id,
    kind: row.kind,
    asset,
    amount,
    from: isIn ? row.other_account : row.account,
    to: isIn ? row.account : row.other_account,
    usdCents,
    rate: rateAsset === asset && row.kind.startsWith('deposit') ? evidenceOf(rate) : null,
    home: terms === null ? null : homeValueOf({ asset, amount, usdCents }, terms),
    invoiceId: row.invoice_id,
    payoutId: row.payout_id,
    createdAt: row.created_at,
  }
}

import type { BookEntry } from '../../core/books/book-entry.ts'
import { homeValueOf } from '../../core/books/home-value.ts'
import { evidenceOf } from '../../db/invoices/invoice-row.ts'
import { type BookRow, listBookRows } from '../../db/ledger/books.ts'
import { homeTermsOf } from '../../db/ledger/currency-rates.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tenant, withTransaction } from '../../postgres/transaction.ts'

/** Entries of one read. */
const PAGE_SIZE = 1_000

/** Every line of a ledger in its order; its entry is null where the other side of a move between own accounts had it. */
export async function* readBooks(
  deps: { readonly pool: Pool },
  tenant: Tenant,
): AsyncGenerator<{ readonly row: BookRow; readonly entry: BookEntry | null }> {
  const readAfter = (after: number) =>
    withTransaction(deps.pool, tenant, (tx) => listBookRows(tx, tenant, { after, limit: PAGE_SIZE }))
  for (let rows = await readAfter(-1); rows.length > 0; rows = await readAfter(rows.at(-1)?.position ?? 0)) {
    for (const row of rows) {
      const isSecondSide = row.other_position !== null && row.other_position < row.position
      yield { row, entry: isSecondSide ? null : entryOf(row) }
    }
  }
}

function entryOf(row: BookRow): BookEntry {
  const isIn = row.amount > 0n
  const { asset, usd_cents: usdCents, invoice_assets: rateAssets } = row
  const rate = row.deposit_id === null ? row.invoice_rate : row.deposit_rate
  const isDeposit = row.kind.startsWith('deposit')
  const [amount, terms] = [isIn ? row.amount : -row.amount, homeTermsOf(row)]
  return {
    id: row.transfer_id,
    kind: row.kind,
    asset,
    amount,
    from: isIn ? row.other_account : row.account,
    to: isIn ? row.account : row.other_account,
    usdCents,
    rate: isDeposit && (rateAssets?.includes(asset) || row.deposit_id !== null) ? evidenceOf(rate) : null,
    home: terms === null ? null : homeValueOf({ asset, amount, usdCents }, terms),
    invoiceId: row.deposit_id ?? row.invoice_id,
    payout: row.payout_id === null ? null : { id: row.payout_id, networkFee: row.payout_fee ?? 0n },
    txid: row.txid,
    createdAt: row.created_at,
  }
}

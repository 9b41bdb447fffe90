import type { PaymentAsset } from '../core/assets.ts'
import { type ClosingBalance, dayOf } from '../core/books/book-entry.ts'
import {
  type CoinStatement,
  camt053,
  directionOf,
  type StatementEntry,
  statementUnits,
} from '../core/books/camt053.ts'
import { balanceEntryId } from '../core/ledger/entry-id.ts'
import type { Currency } from '../core/rates/currencies.ts'
import { loadPositionBefore } from '../db/ledger/ledger.ts'
import { loadMerchantProfile } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { readBooks } from './steps/read-books.ts'

/** A file holds so many; a shop with more takes a month of them. */
const ENTRIES_MAX = 100_000

type Written = { readonly kind: 'written' } | { readonly kind: 'empty' } | { readonly kind: 'too_many' }
type Account = {
  openingUnits: bigint
  readonly entries: StatementEntry[]
  readonly closing: Map<string, ClosingBalance>
}

/**
 * Writes a merchant's ledger in one mode as a camt.053 file: all of it, or from one time to before another, with the balances
 * of `GET /balances?at=` the latter.
 */
export async function writeStatement(
  { pool, clock }: { readonly pool: Pool; readonly clock: Clock },
  tenant: Tenant,
  span: { readonly from: Date; readonly to: Date } | null,
  line: (text: string) => void,
): Promise<Written> {
  const [shop, first, last] = await withTransaction(pool, tenant, async (tx) => [
    await loadMerchantProfile(tx, tenant.merchantId),
    span === null ? 0 : await loadPositionBefore(tx, tenant, span.from),
    span === null ? Number.MAX_SAFE_INTEGER : await loadPositionBefore(tx, tenant, span.to),
  ])
  const currency: Currency | 'USD' = shop?.homeCurrency ?? 'USD'
  const accounts = new Map<PaymentAsset, Account>()
  let [count, firstDay, lastDay] = [0, '', '']
  for await (const { row, entry } of readBooks({ pool }, tenant)) {
    if (row.position > last) break
    const { asset, account, balance_after: balance, position, created_at: createdAt } = row
    const coin: Account = accounts.get(asset) ?? { openingUnits: 0n, entries: [], closing: new Map() }
    accounts.set(asset, coin)
    coin.closing.set(account, { account, asset, balance })
    lastDay = dayOf(createdAt)
    if (firstDay === '') firstDay = lastDay
    if (entry === null || directionOf(entry) === null) continue
    if (position <= first) {
      coin.openingUnits += statementUnits(entry, currency) ?? 0n
      continue
    }
    if (++count > ENTRIES_MAX) return { kind: 'too_many' }
    const entryId = balanceEntryId({ createdAtMs: createdAt.getTime(), livemode: tenant.livemode, position })
    coin.entries.push({ ...entry, entryId, reference: row.reference })
  }
  if (accounts.size === 0) return { kind: 'empty' }
  const statements: CoinStatement[] = [...accounts].map(([asset, { openingUnits, entries, closing }]) => ({
    asset,
    openingUnits,
    entries,
    closing: [...closing.values()],
  }))
  const days =
    span === null
      ? { firstDay, lastDay }
      : { firstDay: dayOf(span.from), lastDay: dayOf(new Date(span.to.getTime() - 1)) }
  const { merchantId: id, livemode } = tenant
  const file = { ...days, shop: { id, livemode, name: shop?.legalName ?? shop?.name ?? id }, currency }
  for (const text of camt053({ ...file, createdAt: clock(), statements })) line(text)
  return { kind: 'written' }
}

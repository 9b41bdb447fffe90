import type { PaymentAsset } from '../../core/assets.ts'
import type { LedgerBucket } from '../../core/invoice/types.ts'
import { withValues } from '../../core/ledger/deposit.ts'
import { coverMoves } from '../../core/ledger/shortfall.ts'
import { loadAssetPrice } from '../../db/invoices/asset-prices.ts'
import {
  insertCoveredTransfer,
  insertLedgerTransfer,
  type LedgerTransfer,
  loadAvailability,
  loadLedgerCredit,
  lockLedger,
} from '../../db/ledger/ledger.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Money that had been paid out before the chain took back the deposit it came from, base units. */
export type Shortfall = { readonly asset: PaymentAsset; readonly amount: bigint }

/**
 * Writes the ledger transfers of one event, all of one asset, in their order, with what they are worth. Where they take
 * more than is available, a transfer from the shortfall comes before them; where they leave something while there is one,
 * it is repaid first. Returns the shortfall that this adds; null where none.
 */
export async function postTransfers(
  tx: Tx,
  tenant: Tenant,
  transfers: readonly LedgerTransfer[],
): Promise<Shortfall | null> {
  const [first] = transfers
  if (first === undefined) return null
  const { asset } = first
  const isCredit =
    first.to === 'available' && transfers.every(({ from, to }) => from !== 'available' || to === 'fees')
  if (isCredit) {
    await postCredit(tx, tenant, first, transfers)
    return null
  }
  const takesAvailable = transfers.some(({ from, to }) => from === 'available' || to === 'available')
  const covered = takesAvailable ? await withCover(tx, tenant, first, transfers) : transfers
  const valued = await valuedNow(tx, tenant, asset, covered)
  await insertAll(tx, tenant, valued)
  const missing = valued.find(({ kind }) => kind === 'shortfall')
  return missing === undefined ? null : { asset, amount: missing.amount }
}

/** Writes the ledger transfers of several postings, and returns what had been paid out before the chain took it back. */
export async function postGroups(
  tx: Tx,
  tenant: Tenant,
  postings: readonly {
    readonly number: number
    readonly to: LedgerBucket
    readonly transfers: readonly LedgerTransfer[]
  }[],
): Promise<Shortfall[]> {
  // Payments that are posted for the first time depend on nothing that stands, nor on one another.
  if (postings.every(({ number, to }) => number === 1 && to !== 'available')) {
    await postIndependent(
      tx,
      tenant,
      postings.map(({ transfers }) => transfers),
    )
    return []
  }
  const shortfalls: Shortfall[] = []
  for (const { transfers } of postings) {
    const missing = await postTransfers(tx, tenant, transfers)
    if (missing !== null) shortfalls.push(missing)
  }
  return shortfalls
}

/**
 * The same for many events at once, none of which moves what is available or what another one moved. Sent together:
 * however many they are, the database is waited for twice.
 */
async function postIndependent(
  tx: Tx,
  tenant: Tenant,
  groups: readonly (readonly LedgerTransfer[])[],
): Promise<void> {
  const valued = await Promise.all(
    groups.map(([first, ...others]) =>
      first === undefined ? [] : valuedNow(tx, tenant, first.asset, [first, ...others]),
    ),
  )
  await insertAll(tx, tenant, valued.flat())
}

/**
 * A deposit that becomes available, with its fee, needs no cover. A shortfall to repay is looked up only where nothing was
 * available before: nothing ever is while there is a shortfall.
 */
async function postCredit(
  tx: Tx,
  tenant: Tenant,
  first: LedgerTransfer,
  transfers: readonly LedgerTransfer[],
): Promise<void> {
  const valued = await valuedNow(tx, tenant, first.asset, transfers)
  const [available] = await insertAll(tx, tenant, valued)
  if (available !== undefined && available !== null && available > first.amount) return
  const { repaid } = coverMoves([], await loadAvailability(tx, tenant, first.asset))
  if (repaid === 0n) return
  const [, ...repayment] = await valuedNow(tx, tenant, first.asset, [
    valued[0] ?? first,
    repaymentOf(first, repaid),
  ])
  await insertAll(tx, tenant, repayment)
}

/** Sent together: the connection keeps their order. Returns for each the new balance of the account that it moved to. */
function insertAll(tx: Tx, tenant: Tenant, transfers: readonly LedgerTransfer[]): Promise<(bigint | null)[]> {
  return Promise.all(transfers.map((transfer) => insertLedgerTransfer(tx, tenant, transfer)))
}

const repaymentOf = (first: LedgerTransfer, amount: bigint): LedgerTransfer => ({
  ...first,
  usdCents: null,
  id: `${first.id}:repaid`,
  kind: 'shortfall_repaid',
  from: 'available',
  to: 'shortfall',
  amount,
})

/** One transfer, where the account has as much: false, and nothing written, where it has less. */
export async function postCoveredTransfer(
  tx: Tx,
  tenant: Tenant,
  transfer: LedgerTransfer,
): Promise<boolean> {
  const [valued = transfer] = await valuedNow(tx, tenant, transfer.asset, [transfer])
  return insertCoveredTransfer(tx, tenant, valued)
}

async function withCover(
  tx: Tx,
  tenant: Tenant,
  first: LedgerTransfer,
  transfers: readonly LedgerTransfer[],
): Promise<LedgerTransfer[]> {
  const [, availability] = await Promise.all([
    lockLedger(tx, tenant),
    loadAvailability(tx, tenant, first.asset),
  ])
  const { covered, repaid } = coverMoves(transfers, availability)
  const group = [...transfers]
  const aside = { ...first, usdCents: null }
  if (covered > 0n) {
    const id = `${first.id}:shortfall`
    const kind = 'shortfall'
    group.unshift({ ...aside, id, kind, from: 'shortfall', to: 'available', amount: covered })
  }
  if (repaid > 0n) group.push(repaymentOf(first, repaid))
  return group
}

async function valuedNow(
  tx: Tx,
  tenant: Tenant,
  asset: PaymentAsset,
  transfers: readonly LedgerTransfer[],
): Promise<LedgerTransfer[]> {
  if (transfers.some(({ usdCents }) => usdCents !== null)) return withValues(transfers, null)
  const valuedAs = transfers.find((transfer) => transfer.valuedAs !== null)?.valuedAs ?? null
  const earlier = valuedAs === null ? null : await loadLedgerCredit(tx, tenant, valuedAs)
  return withValues(transfers, await loadAssetPrice(tx, asset, tenant.livemode), earlier)
}

import type { PaymentAsset } from '../../core/assets.ts'
import type { LedgerBucket } from '../../core/invoice/types.ts'
import { withValues } from '../../core/ledger/deposit.ts'
import { type Availability, coverMoves } from '../../core/ledger/shortfall.ts'
import { loadAssetPrice } from '../../db/invoices/asset-prices.ts'
import {
  insertCoveredTransfer,
  insertLedgerTransfers,
  type LedgerTransfer,
  loadAvailability,
  loadLedgerCredit,
  lockLedger,
} from '../../db/ledger/ledger.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Money that had been paid out before the chain took back the deposit it came from, base units. */
export type Shortfall = {
  readonly asset: PaymentAsset
  readonly amount: bigint
  /** Null where it was no invoice's. */
  readonly invoiceId: string | null
}

type Posting = {
  readonly number: number
  readonly to: LedgerBucket
  readonly transfers: readonly LedgerTransfer[]
}

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
  if (isCredit(transfers)) {
    await postTogether(tx, tenant, [transfers])
    return null
  }
  const takesAvailable = transfers.some(({ from, to }) => from === 'available' || to === 'available')
  const covered = takesAvailable ? await withCover(tx, tenant, first, transfers) : transfers
  const valued = await valuedNow(tx, tenant, covered)
  await insertLedgerTransfers(tx, tenant, valued)
  const missing = valued.find(({ kind }) => kind === 'shortfall')
  return missing === undefined
    ? null
    : { asset: missing.asset, amount: missing.amount, invoiceId: missing.invoiceId }
}

/** Writes the ledger transfers of several postings, and returns what had been paid out before the chain took it back. */
export async function postGroups(tx: Tx, tenant: Tenant, postings: readonly Posting[]): Promise<Shortfall[]> {
  const groups = postings.map(({ transfers }) => transfers)
  // Each of another payment: then none is about what another one moves.
  const payments = new Set(groups.map(([first]) => first?.paymentId))
  const isPlain = ({ number, to, transfers }: Posting) =>
    to === 'available' ? isCredit(transfers) : number === 1
  if (payments.size === groups.length && postings.every(isPlain)) {
    await postTogether(tx, tenant, groups)
    return []
  }
  const shortfalls: Shortfall[] = []
  for (const transfers of groups) {
    const missing = await postTransfers(tx, tenant, transfers)
    if (missing !== null) shortfalls.push(missing)
  }
  return shortfalls
}

/** A deposit that becomes available, with its fee: it needs no cover. */
const isCredit = (transfers: readonly LedgerTransfer[]): boolean =>
  transfers[0]?.to === 'available' && transfers.every(({ from, to }) => from !== 'available' || to === 'fees')

/**
 * The same for many deposits at once that become available or are recorded for the first time, in one statement, however
 * many they are.
 */
async function postTogether(
  tx: Tx,
  tenant: Tenant,
  groups: readonly (readonly LedgerTransfer[])[],
): Promise<void> {
  const valued = await Promise.all(groups.map((transfers) => valuedNow(tx, tenant, transfers)))
  const transfers = valued.flat()
  const balances = await insertLedgerTransfers(tx, tenant, transfers)
  const after = new Map(transfers.map(({ id }, place) => [id, balances[place] ?? 0n] as const))
  const credits = valued.filter(isCredit)
  for (const asset of new Set(credits.map(([first]) => first?.asset))) {
    const ofAsset = credits.filter(([first]) => first?.asset === asset)
    const [[first] = []] = ofAsset
    // Nothing is available while there is a shortfall: it is looked up only where nothing was.
    if (first !== undefined && (after.get(first.id) ?? 0n) <= first.amount)
      await repay(tx, tenant, first.asset, ofAsset)
  }
}

/** Repays a shortfall from what credits of its asset have brought, one after the other. */
async function repay(
  tx: Tx,
  tenant: Tenant,
  asset: PaymentAsset,
  credits: readonly (readonly LedgerTransfer[])[],
): Promise<void> {
  let standing: Availability = { ...(await loadAvailability(tx, tenant, asset)), available: 0n }
  const repayments: LedgerTransfer[] = []
  for (const transfers of credits) {
    const { repaid, after } = coverMoves(transfers, standing)
    standing = after
    const [first] = transfers
    // One of which its fee leaves nothing repays nothing, and the next one does.
    if (first === undefined || repaid === 0n) continue
    repayments.push(...withValues([first, repaymentOf(first, repaid)], null).slice(1))
  }
  await insertLedgerTransfers(tx, tenant, repayments)
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
  const [valued = transfer] = await valuedNow(tx, tenant, [transfer])
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
  transfers: readonly LedgerTransfer[],
): Promise<LedgerTransfer[]> {
  const [first] = transfers
  if (first === undefined || transfers.some(({ usdCents }) => usdCents !== null))
    return withValues(transfers, null)
  const valuedAs = transfers.find((transfer) => transfer.valuedAs !== null)?.valuedAs ?? null
  const earlier = valuedAs === null ? null : await loadLedgerCredit(tx, tenant, valuedAs)
  return withValues(transfers, await loadAssetPrice(tx, first.asset, tenant.livemode), earlier)
}

import { ASSETS, type AssetId, networkOf } from '../core/assets.ts'
import { formatCoinAmount, parseCoinAmount } from '../core/money.ts'
import type { PaymentRules } from '../core/payment-rules.ts'
import type { Payout, PayoutSource } from '../core/payout/payout.ts'
import { LIMIT_WINDOW_MS, planFee } from '../core/payout/payout-limits.ts'
import { loadBalance, loadBalances } from '../db/ledger/ledger.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { commitNewPayout } from './commit-payout.ts'
import { estimatePayoutFee, payoutOutputMin } from './estimate-payout-fee.ts'
import { loadFeeDestination } from './store/fee-destinations.ts'
import { sumFrozenDeposits } from './store/frozen-deposits.ts'
import { loadPayoutDestination, type PayoutDestination } from './store/payout-destinations.ts'
import { sumRequestedSince } from './store/payouts.ts'

type PayoutRequest = {
  readonly tenant: Tenant
  readonly source: PayoutSource
  /** On the list of the source's owner. */
  readonly destinationId: string
  /** Canonical decimal in coins; null: all that the source has. */
  readonly amount: string | null
  readonly asset: AssetId | null
  /** API key or person; of fees an operator. */
  readonly by: string
  readonly dailyLimits: PaymentRules['payoutDailyLimits']
  readonly requestId: string
  readonly now: Date
}

export type PayoutRequested =
  | { readonly kind: 'requested'; readonly payout: Payout; readonly deliveries: number }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'invalid'; readonly param: 'amount' | 'asset'; readonly message: string }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'not_usable' }
  /** Base units. */
  | { readonly kind: 'too_small'; readonly asset: AssetId; readonly minimum: bigint }
  | { readonly kind: 'dust_remainder'; readonly asset: AssetId; readonly minimum: bigint }
  | { readonly kind: 'not_covered' }
  | { readonly kind: 'over_limit' }

/**
 * Requests a payout: reserves its amount and writes it, with its event if it is the merchant's, in the caller's
 * transaction, which must be rolled back unless the answer is `requested`.
 */
export async function requestPayout(tx: Tx, request: PayoutRequest): Promise<PayoutRequested> {
  const { tenant, source, now } = request
  const destination =
    source === 'fees'
      ? await loadFeeDestination(tx, tenant.livemode, request.destinationId, { share: true })
      : await loadPayoutDestination(tx, tenant, request.destinationId, { share: true })
  if (destination === null) return { kind: 'not_found' }
  const { asset } = destination
  const all = await loadPayable(tx, tenant, asset, source)
  const asked = request.amount === null ? all : parseCoinAmount(request.amount, ASSETS[asset].decimals)
  if (request.amount === null && all <= 0n) return { kind: 'not_covered' }
  const invalid = refuseFields(request, asset, asked)
  if (invalid !== null || asked === null) return invalid ?? { kind: 'unavailable' }
  if (destination.usableAt > now) return { kind: 'not_usable' }
  const outputMin = await payoutOutputMin(tx, tenant, { asset, now })
  if (outputMin === null) return { kind: 'unavailable' }
  const amount = asked === all ? all - (await loadWithheld(tx, tenant, { asset, all, outputMin })) : asked
  const estimate = await estimatePayoutFee(tx, tenant, { asset, amount, now })
  if (estimate === null) return { kind: 'unavailable' }
  if (typeof estimate !== 'bigint') return tooLarge(asset, estimate.most)
  const plan = planFee(amount, estimate, outputMin)
  if (plan.kind === 'too_small') return { ...plan, asset }
  const payout = newPayout(request, destination, amount, plan)
  const written = await commitNewPayout(tx, payout, { now, requestId: request.requestId })
  if (written.kind === 'not_covered') return written
  // From here on the merchant's ledger is locked: nobody else requests or books a payout meanwhile.
  const left = await loadLeft(tx, tenant, asset)
  // A deposit that was already paid out left the chain: until that is made up for there are not enough coins.
  if (left < 0n) return { kind: 'unavailable' }
  if (left !== 0n && left < outputMin) return { kind: 'dust_remainder', asset, minimum: outputMin }
  const limit = source === 'available' ? request.dailyLimits[asset] : undefined
  const since = new Date(now.getTime() - LIMIT_WINDOW_MS)
  if (limit !== undefined && (await sumRequestedSince(tx, tenant, asset, since)) > limit)
    return { kind: 'over_limit' }
  return { kind: 'requested', payout, deliveries: written.deliveries }
}

/** All that a source has and that can be moved. What is frozen is the merchant's share of it before it is the operator's. */
async function loadPayable(tx: Tx, tenant: Tenant, asset: AssetId, source: PayoutSource): Promise<bigint> {
  const balance = await loadBalance(tx, tenant, asset, source)
  if (balance === 0n) return 0n
  const frozen = await sumFrozenDeposits(tx, tenant, asset)
  if (frozen === 0n || source === 'available') return balance - frozen
  const movable = (await loadLeft(tx, tenant, asset)) - frozen
  return movable < balance ? movable : balance
}

/** Requests a payout in its own transaction, which is rolled back unless the answer is `requested`. */
export async function requestPayoutAlone(pool: Pool, request: PayoutRequest): Promise<PayoutRequested> {
  try {
    return await withTransaction(pool, request.tenant, async (tx) => {
      const outcome = await requestPayout(tx, request)
      if (outcome.kind !== 'requested') throw new NotRequested(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof NotRequested) return error.outcome
    throw error
  }
}

/** Carries an outcome out of a transaction that must not be committed. */
class NotRequested extends Error {
  readonly outcome: PayoutRequested

  constructor(outcome: PayoutRequested) {
    super(outcome.kind)
    this.outcome = outcome
  }
}

/**
 * What all that a source has must leave behind: the other source's money among the same coins may be too little for an output
 * of its own.
 */
async function loadWithheld(
  tx: Tx,
  tenant: Tenant,
  { asset, all, outputMin }: { readonly asset: AssetId; readonly all: bigint; readonly outputMin: bigint },
): Promise<bigint> {
  const others = (await loadLeft(tx, tenant, asset)) - all
  const withheld = others > 0n && others < outputMin ? outputMin - others : 0n
  return withheld < all ? withheld : 0n
}

/**
 * What the merchant's coins hold beyond what is reserved: the merchant's money and the operator's fees are in the
 * same coins.
 */
async function loadLeft(tx: Tx, tenant: Tenant, asset: AssetId): Promise<bigint> {
  const rows = await loadBalances(tx, tenant)
  return rows
    .filter((row) => row.asset === asset && ['available', 'fees', 'shortfall'].includes(row.account))
    .reduce((sum, { balance }) => sum + balance, 0n)
}

function refuseFields(
  request: PayoutRequest,
  asset: AssetId,
  amount: bigint | null,
): Extract<PayoutRequested, { kind: 'invalid' }> | null {
  if (request.asset !== null && request.asset !== asset) {
    return { kind: 'invalid', param: 'asset', message: `The destination takes ${asset}.` }
  }
  if (amount === null || amount === 0n) {
    const message = `Must be above 0 and have at most ${ASSETS[asset].decimals} decimals.`
    return { kind: 'invalid', param: 'amount', message }
  }
  return null
}

function tooLarge(asset: AssetId, most: bigint): PayoutRequested {
  const coins = formatCoinAmount(most > 0n ? most : 0n, ASSETS[asset].decimals)
  const message = `One payout of these coins can be of ${coins} ${asset} at most: ask for several.`
  return { kind: 'invalid', param: 'amount', message }
}

function newPayout(
  request: PayoutRequest,
  destination: Pick<PayoutDestination, 'id' | 'asset' | 'address'>,
  amount: bigint,
  fee: { readonly networkFee: bigint; readonly networkFeeMax: bigint },
): Payout {
  const { tenant, now } = request
  const { asset } = destination
  return {
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id: newId('payout', now),
    status: 'requested',
    source: request.source,
    asset,
    network: networkOf(asset, tenant.livemode),
    amount,
    networkFee: fee.networkFee,
    networkFeeMax: fee.networkFeeMax,
    destinationId: destination.id,
    destination: destination.address,
    requestedBy: request.by,
    approvedBy: null,
    rejectedBy: null,
    txid: null,
    failureCode: null,
    createdAtMs: now.getTime(),
    approvedAtMs: null,
    rejectedAtMs: null,
    submittedAtMs: null,
    confirmedAtMs: null,
    failedAtMs: null,
  }
}

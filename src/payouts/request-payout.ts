import { ASSETS, type AssetId, isSplToken, isToken, networkOf } from '../core/assets.ts'
import { formatCoinAmount, parseCoinAmount } from '../core/money.ts'
import type { PaymentRules } from '../core/payment-rules.ts'
import { transferCostOf } from '../core/payout/gas.ts'
import type { Payout, PayoutSource } from '../core/payout/payout.ts'
import { fixedPayoutMin, LIMIT_WINDOW_MS, planFee } from '../core/payout/payout-limits.ts'
import { feeFor, INPUTS_MAX, mostThatFits, selectCoins, vbytesOf } from '../core/payout/select-coins.ts'
import { solanaFee } from '../core/payout/solana-fee.ts'
import { hotTokenOf, loadHotWallet } from '../db/addresses/hot-wallets.ts'
import { loadBalance, loadBalances } from '../db/ledger/ledger.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { commitNewPayout } from './advance-payout.ts'
import { loadFeeDestination } from './store/fee-destinations.ts'
import { sumFrozenDeposits } from './store/frozen-deposits.ts'
import { isChangeComing, listSpendableCoins, loadNetworkFee } from './store/payout-coins.ts'
import { loadPayoutDestination, type PayoutDestination } from './store/payout-destinations.ts'
import { sumRequestedSince } from './store/payout-sums.ts'
import { loadSolanaSignerAccounts } from './store/solana-accounts.ts'
import { loadVaultToken } from './store/solana-token-sweeps.ts'
import { loadSweepCost } from './store/sweep-cost.ts'
import { listSweepSources } from './store/sweep-sources.ts'
import { loadSweptCredit, sumUnsignedPayouts } from './store/swept-credit.ts'

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
  const requested = request.amount === null ? all : parseCoinAmount(request.amount, ASSETS[asset].decimals)
  if (request.amount === null && all <= 0n) return { kind: 'not_covered' }
  const invalid = refuseFields(request, asset, requested)
  if (invalid !== null || requested === null) return invalid ?? { kind: 'unavailable' }
  if (destination.usableAt > now) return { kind: 'not_usable' }
  const outputMin = await payoutOutputMin(tx, tenant, { asset, now })
  if (outputMin === null) return { kind: 'unavailable' }
  const amount =
    requested === all ? all - (await loadWithheld(tx, tenant, { asset, all, outputMin })) : requested
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

/** All that a source has and that can be moved, in base units. What is frozen is the merchant's share of it before it is the operator's. */
async function loadPayable(tx: Tx, tenant: Tenant, asset: AssetId, source: PayoutSource): Promise<bigint> {
  const balance = await loadBalance(tx, tenant, asset, source)
  if (balance === 0n) return 0n
  const frozen = await sumFrozenDeposits(tx, tenant, asset)
  if (frozen === 0n || source === 'available') return balance - frozen
  const movable = (await loadLeft(tx, tenant, asset)) - frozen
  return movable < balance ? movable : balance
}

/** Requests a payout in its own transaction, which is rolled back unless the answer is `requested`. */
export function requestPayoutAlone(pool: Pool, request: PayoutRequest): Promise<PayoutRequested> {
  return withTransaction(
    pool,
    request.tenant,
    (tx) => requestPayout(tx, request),
    ({ kind }) => kind === 'requested',
  )
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

/** A network's fee estimate is used for this long; the watcher refreshes it every minute. */
const FEE_KNOWN_MS = 3_600_000

type Wanted = { readonly asset: AssetId; readonly amount: bigint; readonly now: Date }

/**
 * What the network would take for a payout now, in units of its asset; null where nobody knows. `most`: the amount needs more
 * coins than fit into one transaction, which can surely send so much.
 */
function estimatePayoutFee(
  tx: Tx,
  tenant: Tenant,
  wanted: Wanted,
): Promise<bigint | { readonly most: bigint } | null> {
  const { keyFamily } = ASSETS[wanted.asset]
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin':
      return estimateOverCoins(tx, tenant, wanted)
    case 'evm':
      return estimateFromHotWallet(tx, tenant, wanted)
    case 'solana':
      return estimateOnSolana(tx, tenant, wanted)
  }
}

/** The least that may arrive of a payout, in units of its asset; null where nobody knows. */
async function payoutOutputMin(
  tx: Tx,
  tenant: Tenant,
  { asset, now }: Pick<Wanted, 'asset' | 'now'>,
): Promise<bigint | null> {
  const fixed = fixedPayoutMin(asset)
  if (fixed !== undefined || ASSETS[asset].keyFamily !== 'solana') return fixed ?? null
  // Less than this, the chain does not let a new account hold.
  return (await freshReading(tx, tenant, { asset, now }))?.rentExempt ?? null
}

async function estimateOnSolana(tx: Tx, tenant: Tenant, wanted: Wanted): Promise<bigint | null> {
  const { asset, now } = wanted
  const reading = await freshReading(tx, tenant, wanted)
  if (reading === null) return null
  if (!isSplToken(asset)) return solanaFee(reading.unitPrice)
  const token = await loadVaultToken(tx, networkOf(asset, tenant.livemode), asset)
  // The fee payer's own SOL pays for it. Of what its issuer lets nobody move, nothing is promised.
  return token === null || token.refusal !== null || !isFresh(token.readAt, now) ? null : 0n
}

async function freshReading(tx: Tx, tenant: Tenant, { asset, now }: Pick<Wanted, 'asset' | 'now'>) {
  const signerAccounts = await loadSolanaSignerAccounts(tx, networkOf(asset, tenant.livemode))
  const reading = signerAccounts?.reading ?? null
  return reading === null || !isFresh(reading.readAt, now) ? null : reading
}

const isFresh = (readAt: Date, now: Date): boolean => now.getTime() - readAt.getTime() <= FEE_KNOWN_MS

async function estimateOverCoins(
  tx: Tx,
  tenant: Tenant,
  { asset, amount, now }: Wanted,
): Promise<bigint | { readonly most: bigint } | null> {
  const network = networkOf(asset, tenant.livemode)
  const changeMin = fixedPayoutMin(asset)
  if (changeMin === undefined) return null
  const fee = await loadNetworkFee(tx, network)
  if (fee === null || now.getTime() - fee.updatedAt.getTime() > FEE_KNOWN_MS) return null
  const coins = await listSpendableCoins(tx, tenant, network)
  const selection = selectCoins(coins, amount, { rate: fee.rate, changeMin })
  if (selection !== null) return selection.fee
  const most = mostThatFits(coins, changeMin)
  if (most !== null && !(await isChangeComing(tx, tenant, network))) return { most }
  // Some coins are on their way back from another payout: all that are left, and one of those.
  return feeFor(vbytesOf(Math.min(coins.length + 1, INPUTS_MAX), true), fee.rate)
}

/**
 * On an account-based chain: the payout's own transaction, and each sweep that is needed beside what is in the hot wallet, new
 * or left over from a payout that failed. A token takes nothing from the amount, for its gas is paid in another coin. Null also where
 * addresses hold so little that none is worth its sweep.
 */
async function estimateFromHotWallet(
  tx: Tx,
  tenant: Tenant,
  { asset, amount, now }: Wanted,
): Promise<bigint | null> {
  const network = networkOf(asset, tenant.livemode)
  const wallet = await loadHotWallet(tx, network)
  if (wallet === null || now.getTime() - wallet.updatedAt.getTime() > FEE_KNOWN_MS) return null
  if (isToken(asset) && hotTokenOf(wallet, asset) === null) return null
  const cost = await loadSweepCost(tx, { asset, livemode: tenant.livemode, wallet })
  const of = { network, asset }
  const credit = await loadSweptCredit(tx, tenant, { ...of, counts: 'planned' })
  const others = await sumUnsignedPayouts(tx, tenant, { ...of, before: null })
  let missing = amount + others - credit
  let sweeps = 0n
  const { orphans, addresses, dust } = await listSweepSources(tx, tenant, { ...of, cost })
  for (const { amount: swept, isSigned } of [
    ...orphans,
    ...addresses.map((each) => ({ ...each, isSigned: false })),
  ]) {
    // What was signed before for a payout that failed comes along, needed or not.
    if (missing <= 0n && !isSigned) break
    missing -= swept
    sweeps += 1n
  }
  // What others wait for is not its own. Where the rest is not in the merchant's balance either, the ledger says so.
  const lacks = missing - others
  if (lacks > 0n && lacks <= dust) return null
  if (isToken(asset)) return 0n
  return cost * sweeps + transferCostOf(wallet, wallet.newAccountGas)
}

import { checkPayoutAddress } from '../chain/payout-address.ts'
import { ASSET_IDS, ASSETS, type AssetId, COINS, networkOf, type PaymentAsset } from '../core/assets.ts'
import { formatCoinAmount } from '../core/money.ts'
import type { Payout } from '../core/payout/payout.ts'
import { loadNetworkStates } from '../db/chain/network-state.ts'
import { decidePayout, type PayoutDecided } from '../payouts/advance-payout.ts'
import { allowFeeDestination } from '../payouts/payout-destinations.ts'
import { type PayoutRequested, requestPayoutAlone } from '../payouts/request-payout.ts'
import {
  type FeeDestination,
  listFeeDestinations,
  loadFeeDestination,
  removeFeeDestination,
} from '../payouts/store/fee-destinations.ts'
import {
  type FeePayout,
  findFeePayoutTenant,
  listFeePayouts,
  listFeeTotals,
  listMerchantsWithFees,
} from '../payouts/store/fees.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { openAccessSeals } from '../secrets/access-seals.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { openCommandKeyring } from './open-seals.ts'
import { operatorOf, parseName } from './operator-commands.ts'
import { operatorEvidence } from './operator-evidence.ts'
import { UsageError } from './usage-error.ts'

/** Payouts that `status` reports. */
const SHOWN_MAX = 100
const DESTINATIONS_SHOWN_MAX = 100
const MERCHANTS_PAGE = 100
/** Payouts that one command asks for, to a page of merchants; the next goes on with the others. */
const REQUESTED_MAX = 1_000
/** Where the ledger's events would name the request; a payout of fees has none. */
const REQUEST_ID = 'paylink fees'

const coins = (amount: bigint, asset: PaymentAsset): string =>
  `${formatCoinAmount(amount, COINS[asset].decimals)} ${asset}`
const modeOf = (livemode: boolean): string => (livemode ? 'live' : 'test')

/** `paylink fees status`: what was collected, where it may go, and what became of the payouts. */
export async function feesStatusCommand(
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const { totals, destinations, payouts } = await withOwnerPool(async (pool) => ({
    totals: await listFeeTotals(pool),
    destinations: [
      ...(await listFeeDestinations(pool, true, DESTINATIONS_SHOWN_MAX)),
      ...(await listFeeDestinations(pool, false, DESTINATIONS_SHOWN_MAX)),
    ].filter(({ removedAt }) => removedAt === null),
    payouts: await listFeePayouts(pool, SHOWN_MAX),
  }))
  if (options.json) {
    const fees = totals.map(({ livemode, asset, merchants, collected, reserved, owed }) => ({
      livemode,
      asset,
      merchants,
      collected: formatCoinAmount(collected, COINS[asset].decimals),
      reserved: formatCoinAmount(reserved, COINS[asset].decimals),
      owed: formatCoinAmount(owed, COINS[asset].decimals),
    }))
    const listed = { destinations: destinations.map(destinationView), payouts: payouts.map(payoutView) }
    output.line(JSON.stringify({ fees, ...listed }))
    return 0
  }
  for (const { livemode, asset, merchants, collected, reserved, owed } of totals) {
    const parts = [`${coins(collected, asset)} collected from ${merchants} merchants`]
    if (reserved > 0n) parts.push(`${coins(reserved, asset)} on its way`)
    if (owed > 0n) parts.push(`${coins(owed, asset)} owed: the chain took payments back`)
    output.line(`${modeOf(livemode)}  ${parts.join(', ')}`)
  }
  if (totals.length === 0) output.line('No fees were collected: see SERVICE_FEE_BPS.')
  for (const one of destinations) output.line(destinationLine(one))
  for (const one of payouts) output.line(payoutLine(one))
  return 0
}

export type AllowArguments = {
  readonly mode: string
  readonly asset: string
  readonly address: string
  readonly name: string
  readonly keyFile: string
  readonly json: boolean
}

/** `paylink fees allow`: puts an address on the operator's list. */
export async function allowFeesCommand(given: AllowArguments, output: Output): Promise<number> {
  const { mode } = given
  const asset = ASSET_IDS.find((one) => one === given.asset)
  if (mode !== 'test' && mode !== 'live') throw new UsageError('--mode must be test or live')
  if (asset === undefined) throw new UsageError(`--asset must be one of ${ASSET_IDS.join(', ')}`)
  const livemode = mode === 'live'
  const name = parseName(given.name)
  const added = await withOwnerPool(async (pool) => {
    const by = (await operatorOf(pool, given.keyFile)).id
    const network = networkOf(asset, livemode)
    const state = (await loadNetworkStates(pool)).find((one) => one.network === network)
    const checked = checkPayoutAddress(given.address, {
      asset,
      livemode,
      parameters: state?.parameters ?? null,
    })
    if (checked.kind === 'invalid') throw new UsageError(`--address: ${checked.message}`)
    const now = systemClock()
    const { address } = checked
    return withSystemTransaction(pool, (tx) =>
      allowFeeDestination(tx, { livemode, asset, address, name, by, now }),
    )
  })
  switch (added.kind) {
    case 'own':
      throw new UsageError('--address: payouts leave from this address; use one of a wallet of your own')
    case 'lookalike':
      throw new UsageError(
        `--address begins and ends like ${added.of}, which was used before, but is a different one: compare them character by character`,
      )
    case 'listed':
      throw new UsageError('--address is on the list already: paylink fees status shows it')
    case 'too_many':
      throw new UsageError('the list is full: take another address off it with paylink fees disallow')
    case 'added': {
      const { destination } = added
      output.line(given.json ? JSON.stringify(destinationView(destination)) : destinationLine(destination))
      return 0
    }
  }
}

/** `paylink fees disallow`: takes an address off the operator's list; no open payout to it can be approved any more. */
export async function disallowFeesCommand(
  id: string,
  options: { readonly keyFile: string },
  output: Output,
): Promise<number> {
  await withOwnerPool(async (pool) => {
    const by = (await operatorOf(pool, options.keyFile)).id
    if (!(await removeFeeDestination(pool, id, { by, now: systemClock() })))
      throw new UsageError(`${id} is not on the list: paylink fees status shows what is`)
  })
  output.line(`${id} is off the list`)
  return 0
}

/** What became of asking for one merchant's fees. */
type RequestResult = { readonly merchantId: string; readonly outcome: PayoutRequested }
const requestedOf = (requested: readonly RequestResult[]): Payout[] =>
  requested.flatMap(({ outcome }) => (outcome.kind === 'requested' ? outcome.payout : []))

/**
 * `paylink fees request`: sets everything aside that was collected in the destination's coin and mode, as one payout for
 * each merchant whose coins it is among. Exit code 1 where nothing could be.
 */
export async function requestFeesCommand(
  options: {
    readonly destination: string
    readonly merchant?: string
    readonly keyFile: string
    readonly json: boolean
  },
  output: Output,
): Promise<number> {
  const requested = await withOwnerPool(async (pool) => {
    const by = (await operatorOf(pool, options.keyFile)).id
    const destination = await loadFeeDestination(pool, null, options.destination)
    if (destination === null)
      throw new UsageError('--destination is not on the list: paylink fees allow puts it there')
    const { livemode, asset } = destination
    const results: RequestResult[] = []
    const askAll = async (merchants: readonly string[]): Promise<void> => {
      for (const merchantId of merchants) {
        const outcome = await requestPayoutAlone(pool, {
          tenant: { merchantId, livemode },
          source: 'fees',
          destinationId: destination.id,
          amount: null,
          asset,
          by,
          dailyLimits: {},
          requestId: REQUEST_ID,
          now: systemClock(),
        })
        results.push({ merchantId, outcome })
      }
    }
    if (options.merchant !== undefined) await askAll([options.merchant])
    else {
      // Those whose fees cannot be paid out keep them: a page of them must not hide the merchants after them.
      let page: string[]
      do {
        const after = results.at(-1)?.merchantId ?? ''
        page = await listMerchantsWithFees(pool, { livemode, asset, after, limit: MERCHANTS_PAGE })
        await askAll(page)
      } while (page.length === MERCHANTS_PAGE && requestedOf(results).length < REQUESTED_MAX)
    }
    return results
  })
  const created = requestedOf(requested)
  const left = requested.filter(({ outcome }) => outcome.kind !== 'requested')
  if (options.json) {
    const skipped = left.map(({ merchantId, outcome }) => ({ merchant_id: merchantId, reason: outcome.kind }))
    output.line(JSON.stringify({ payouts: created.map(payoutView), skipped }))
  } else {
    for (const payout of created) output.line(payoutLine(payout))
    for (const one of left) output.line(`${one.merchantId}  stays: ${whyNot(one.outcome)}`)
    if (requested.length === 0) output.line('There are no fees of this coin in this mode.')
    if (created.length >= REQUESTED_MAX) output.line('There may be more: ask again.')
  }
  return created.length > 0 ? 0 : EXIT_FAILED
}

function whyNot(outcome: PayoutRequested): string {
  switch (outcome.kind) {
    case 'too_small':
      return `too little to be sent, at the network's fees of the moment (at least ${coins(outcome.minimum, outcome.asset)})`
    case 'dust_remainder':
      return `it would leave dust, which cannot be sent by itself (at least ${coins(outcome.minimum, outcome.asset)})`
    case 'not_covered':
      return 'nothing is left of the fees'
    case 'not_usable':
      return 'the destination cannot be used yet: paylink fees status says from when on'
    case 'invalid':
      return outcome.message
    case 'unavailable':
      return 'the network was not read lately, or the chain took back what was paid out of these coins'
    default:
      return outcome.kind
  }
}

/**
 * `paylink fees approve` and `reject`: the word of an operator on payouts that were asked for. Exit code 1 where one of them
 * was not decided.
 */
export async function decideFeesCommand(
  decision: 'approve' | 'reject',
  ids: readonly string[],
  options: { readonly keyFile: string; readonly code?: string; readonly json: boolean },
  output: Output,
): Promise<number> {
  const decided = await withOwnerPool(async (pool, config) => {
    const by = (await operatorOf(pool, options.keyFile)).id
    const keyring = await openCommandKeyring(config, pool)
    const seals = openAccessSeals(keyring, createLogger('error', 'stderr'))
    const evidence = decision === 'approve' ? await operatorEvidence(pool, config, ids, options.code) : null
    const results: { readonly id: string; readonly outcome: PayoutDecided }[] = []
    for (const id of ids) {
      const tenant = await findFeePayoutTenant(pool, id)
      const proof = tenant?.livemode === true && evidence !== null ? { evidence } : {}
      const order = { source: 'fees', payoutId: id, decision, by, requestId: REQUEST_ID } as const
      const outcome: PayoutDecided =
        tenant === null
          ? { kind: 'not_found' }
          : await decidePayout({ pool, clock: systemClock, keyring, seals }, { tenant, ...order, ...proof })
      results.push({ id, outcome })
    }
    return results
  })
  const refused = decided.filter(({ outcome }) => outcome.kind !== 'decided')
  const done = decided.flatMap(({ outcome }) => (outcome.kind === 'decided' ? outcome.payout : []))
  if (options.json) {
    const skipped = refused.map(({ id, outcome }) => ({ id, reason: outcome.kind }))
    output.line(JSON.stringify({ payouts: done.map(payoutView), skipped }))
  } else {
    for (const payout of done) output.line(payoutLine(payout))
    for (const { id, outcome } of refused) output.problem(`${id}: ${REFUSALS[outcome.kind] ?? outcome.kind}`)
  }
  return refused.length === 0 ? 0 : EXIT_FAILED
}

const REFUSALS: { readonly [kind: string]: string } = {
  not_found: 'there is no such payout of fees',
  not_open: 'somebody decided already',
  own_request: 'you asked for it: another operator must approve',
  destination_removed: 'its destination is no longer on the list',
}

const destinationView = ({ id, livemode, asset, address, name, usableAt }: FeeDestination) => ({
  id,
  livemode,
  asset,
  address,
  name,
  usable_at: usableAt.toISOString(),
})

const destinationLine = ({ id, livemode, asset, address, name, usableAt }: FeeDestination): string =>
  `${id}  ${modeOf(livemode)}  ${asset} to ${address}, from ${usableAt.toISOString()} on  ${name}`

const payoutView = (payout: FeePayout | Payout) => ({
  id: payout.id,
  merchant_id: payout.merchantId,
  livemode: payout.livemode,
  status: payout.status,
  asset: payout.asset,
  amount: formatCoinAmount(payout.amount, decimalsOf(payout.asset)),
  network_fee: formatCoinAmount(payout.networkFee, decimalsOf(payout.asset)),
  destination: payout.destination,
  requested_by: payout.requestedBy,
  approved_by: payout.approvedBy,
  txid: payout.txid,
  failure_code: payout.failureCode,
})

const decimalsOf = (asset: AssetId): number => ASSETS[asset].decimals

const payoutLine = (payout: FeePayout | Payout): string =>
  [
    payout.id,
    modeOf(payout.livemode),
    payout.status.padEnd(9),
    `${coins(payout.amount, payout.asset)} of ${payout.merchantId} to ${payout.destination}, network fee ${coins(payout.networkFee, payout.asset)}, asked for by ${payout.requestedBy}`,
    ...(payout.failureCode === null ? [] : [payout.failureCode]),
  ].join('  ')

import { COINS, isAssetId, keyspaceOfNetwork, type Network, type PaymentAsset } from '../../core/assets.ts'
import { advanceDeposits, type DepositChange } from '../../core/deposit/advance.ts'
import { type DepositAccount, type DepositRecord, renderDeposit } from '../../core/deposit/deposit.ts'
import { eventBody } from '../../core/event/envelope.ts'
import { type Finality, strictestFinality } from '../../core/finality.ts'
import { isDust, isOfSum, keyOfTransfer } from '../../core/invoice/block-sums.ts'
import type { ChainIdentities, NetworkFacts } from '../../core/invoice/render.ts'
import type { RateEvidence, TransferFact } from '../../core/invoice/types.ts'
import { parsePrice, usdValueOf } from '../../core/money.ts'
import { confirmationsFor } from '../../core/payment-rules.ts'
import { listDepositAddresses } from '../../db/addresses/deposit-addresses.ts'
import { loadNetworkState } from '../../db/chain/network-state.ts'
import { insertEvent } from '../../db/delivery/events.ts'
import { loadDepositAccount } from '../../db/deposits/deposit-accounts.ts'
import {
  countWithoutBlock,
  insertDeposits,
  loadKnownDeposits,
  loadUnsettledSums,
  lockDeposits,
  updateDeposit,
} from '../../db/deposits/deposits.ts'
import { loadPricesWithEvidence } from '../../db/invoices/asset-prices.ts'
import { loadPaymentRules } from '../../db/invoices/payment-rules.ts'
import { insertPayments, updatePayments } from '../../db/invoices/transfers.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../../postgres/transaction.ts'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../runtime/new-id.ts'
import { postGroups, type Shortfall } from './post-transfers.ts'

/** Facts in one transaction: whoever fills a block with deposits holds no other one up for long. */
const FACTS_PER_COMMIT = 100

/** Of an account so many are recorded in an hour that are in no block yet, or were never in one. */
const WAITING_MAX = 50
const WAITING_MS = 3_600_000

type RecordingDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly identityOf?: ChainIdentities | undefined
  readonly guard?: (tx: Tx) => Promise<void>
}

type Recorded = {
  readonly changed: boolean
  readonly deliveries: number
  readonly shortfalls: readonly Shortfall[]
}

/**
 * `recordTransfers` for an address that belongs to a deposit account: each payment is a deposit of its own, with events of its
 * own. What it costs depends on the facts alone, not on what came to the account before.
 */
export async function recordDeposits(
  deps: RecordingDeps,
  input: {
    readonly tenant: Tenant
    readonly accountId: string
    /** All of one network. */
    readonly facts: readonly TransferFact[]
    readonly tipHeight: number
  },
): Promise<Recorded> {
  let total: Recorded = { changed: false, deliveries: 0, shortfalls: [] }
  for (const facts of portionsOf(input.facts)) {
    const one = await withTransaction(deps.pool, input.tenant, async (tx) => {
      await deps.guard?.(tx)
      return recordSome(tx, deps, { ...input, facts })
    })
    total = {
      changed: total.changed || one.changed,
      deliveries: total.deliveries + one.deliveries,
      shortfalls: [...total.shortfalls, ...one.shortfalls],
    }
  }
  return total
}

/** Dust comes last and at once: each portion of it would write anew what the block's sum has so far. */
function portionsOf(facts: readonly TransferFact[]): (readonly TransferFact[])[] {
  const isSummed = (fact: TransferFact) => isDust(fact) || isOfSum(fact)
  const own = facts.filter((fact) => !isSummed(fact))
  const portions: (readonly TransferFact[])[] = []
  for (let at = 0; at < own.length; at += FACTS_PER_COMMIT)
    portions.push(own.slice(at, at + FACTS_PER_COMMIT))
  const summed = facts.filter(isSummed)
  return summed.length === 0 ? portions : [...portions, summed]
}

async function recordSome(
  tx: Tx,
  deps: RecordingDeps,
  input: Parameters<typeof recordDeposits>[1],
): Promise<Recorded> {
  const { tenant, accountId, facts, tipHeight } = input
  const network = facts[0]?.network
  if (network === undefined) return { changed: false, deliveries: 0, shortfalls: [] }
  const account = await loadDepositAccount(tx, tenant, accountId)
  if (account === null)
    throw new Error(`a transfer was matched to deposit account ${accountId}, which does not exist`)
  await lockDeposits(tx, account, network)
  const known = await loadKnownDeposits(tx, account, { network, txids: txidsOf(facts) })
  const now = deps.clock()
  const keys = new Set(known.payments.map(keyOfTransfer))
  const isNew = (fact: TransferFact) => !keys.has(keyOfTransfer(fact))
  const reported = await withinRoom(tx, account, facts, { isNew, now })
  const { rateOf, finalityOf } = await loadTerms(tx, account, network, reported.some(isNew) ? reported : [])
  const advanced = advanceDeposits(account, known, {
    facts: reported,
    newPaymentIds: reported.map(() => newId('payment', now)),
    nowMs: now.getTime(),
    rateOf,
    finalityOf,
  })
  const changes = advanced.filter(isChange)
  if (changes.length === 0) return { changed: false, deliveries: 0, shortfalls: [] }
  const ownHeight = (requested: string) => (requested === network ? tipHeight : null)
  const context = { now, networkFacts: { tipHeightOf: ownHeight, identityOf: deps.identityOf } }
  return commit(tx, { tenant, account, network, records: known.records, changes }, context)
}

/**
 * Without what waits in the mempool beyond the room for it, so that nobody has a row and two events made for each replacement
 * of one payment. A block reports whatever it holds.
 */
async function withinRoom(
  tx: Tx,
  account: DepositAccount,
  facts: readonly TransferFact[],
  { isNew, now }: { readonly isNew: (fact: TransferFact) => boolean; readonly now: Date },
): Promise<readonly TransferFact[]> {
  const waits = (fact: TransferFact) => fact.state === 'mempool' && isNew(fact)
  if (!facts.some(waits)) return facts
  const since = new Date(now.getTime() - WAITING_MS)
  let room = WAITING_MAX - (await countWithoutBlock(tx, account, { since, limit: WAITING_MAX }))
  return facts.filter((fact) => !waits(fact) || room-- > 0)
}

/** Also the block of what is dust: its sum has the block's hash in place of a transaction's. */
function txidsOf(facts: readonly TransferFact[]): string[] {
  return [
    ...new Set(
      facts.flatMap((fact) => {
        const block = fact.state === 'block' ? fact.block.hash : fact.knownIn
        return block !== null && (isDust(fact) || isOfSum(fact)) ? [fact.txid, block] : [fact.txid]
      }),
    ),
  ]
}

/** Coins' prices, and what makes new payments final. */
async function loadTerms(tx: Tx, account: DepositAccount, network: Network, facts: readonly TransferFact[]) {
  if (facts.length === 0) return { rateOf: () => null, finalityOf: () => strictestFinality('BTC') }
  const unsettled = await loadUnsettledSums(tx, account, network)
  const assets = [...new Set([...facts, ...unsettled].map(({ asset }) => asset))]
  const [rates, rules, state] = await Promise.all([
    loadPricesWithEvidence(tx, assets, account.livemode),
    loadPaymentRules(tx, account),
    loadNetworkState(tx, network),
  ])
  const rateOf = (asset: PaymentAsset): RateEvidence | null => rates.get(asset) ?? null
  const worthOf = ({ asset, amount }: { readonly asset: PaymentAsset; readonly amount: bigint }) => {
    const price = parsePrice(rateOf(asset)?.usdPerUnit ?? '')
    return price === null ? null : usdValueOf(amount, price, COINS[asset].decimals)
  }
  let atStake = unsettled.reduce(plus, 0n as bigint | null)
  function plus(sum: bigint | null, money: Parameters<typeof worthOf>[0]): bigint | null {
    const worth = worthOf(money)
    return sum === null || worth === null ? null : sum + worth
  }
  // By all that is not final yet: many small payments at a time may be taken back together, as one large one may.
  const finalityOf = (fact: TransferFact): Finality => {
    atStake = plus(atStake, fact)
    const { asset } = fact
    if (!isAssetId(asset)) return strictestFinality(asset)
    return confirmationsFor(rules, asset, atStake, state?.parameters ?? '')[asset] ?? strictestFinality(asset)
  }
  return { rateOf, finalityOf }
}

const isChange = ({ before, payment, events, postings }: DepositChange): boolean =>
  before === null || events.length > 0 || postings.length > 0 || textOf(before) !== textOf(payment)

/** Their parts stay as they are stored where they were not read. */
const textOf = (value: object): string =>
  JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? field.toString() : field))

type Advanced = {
  readonly tenant: Tenant
  readonly account: DepositAccount
  readonly network: Network
  /** As they stand. */
  readonly records: ReadonlyMap<string, DepositRecord>
  readonly changes: readonly DepositChange[]
}
type Context = { readonly now: Date; readonly networkFacts: NetworkFacts }

/** Payments, deposits, ledger and events: all or nothing. */
async function commit(tx: Tx, advanced: Advanced, context: Context): Promise<Recorded> {
  const { tenant, account, changes } = advanced
  const added = changes.flatMap(({ before, payment }) => (before === null ? [payment] : []))
  const changed = changes.flatMap(({ before, payment }) => (before === null ? [] : [payment]))
  await insertPayments(tx, tenant, account.id, added)
  await updatePayments(tx, tenant, changed)
  await writeRecords(tx, advanced, context.now)
  const createdAt = context.now
  const postings = changes.flatMap((change) =>
    change.postings.map((posting) => ({
      ...posting,
      transfers: posting.transfers.map((transfer) => ({ ...transfer, createdAt })),
    })),
  )
  // In the order of every commit of payments, so that no two wait for one another.
  const deliveries = await writeEvents(tx, advanced, context)
  const shortfalls = await postGroups(tx, tenant, postings)
  return { changed: true, deliveries, shortfalls }
}

async function writeRecords(tx: Tx, { account, records, changes }: Advanced, now: Date): Promise<void> {
  const written = changes.flatMap(({ record, payment, events }) => {
    if (record === null) return []
    const known = records.get(record.id)
    const eventCount = (known?.eventCount ?? 0) + events.length
    return [{ record: { ...record, eventCount }, paymentId: payment.id, known }]
  })
  await insertDeposits(
    tx,
    account,
    written.filter(({ known }) => known === undefined),
    now,
  )
  for (const { record, known } of written)
    if (known !== undefined && known.eventCount !== record.eventCount)
      await updateDeposit(tx, account, record, known.eventCount)
}

/** Writes the events with their deliveries, and returns how many of these wait now. */
async function writeEvents(tx: Tx, advanced: Advanced, { now, networkFacts }: Context): Promise<number> {
  const { tenant, account, network, records, changes } = advanced
  const addresses = await listDepositAddresses(tx, tenant, [account.id])
  const address = addresses.find(({ keyspace }) => keyspace === keyspaceOfNetwork(network))?.address ?? ''
  const announced = changes.flatMap(({ record, events }) => {
    if (record === null) return []
    const before = records.get(record.id)?.eventCount ?? 0
    return events.map(({ type, payment }, place) => ({
      type,
      sequence: before + place + 1,
      deposit: { ...record, account, address, payment },
    }))
  })
  // Sorted: made in the same millisecond, they would otherwise not sort in the order of the events.
  const ids = announced.map(() => newId('event', now)).sort()
  const queued = await Promise.all(
    announced.map(({ type, sequence, deposit }, place) => {
      const event = { id: ids[place] ?? '', type, resourceId: deposit.id, sequence, requestId: null }
      const data = renderDeposit(deposit, networkFacts)
      const body = eventBody({ ...event, ...tenant, createdAtMs: now.getTime(), data })
      return insertEvent(tx, tenant, { ...event, body, createdAt: now })
    }),
  )
  return queued.reduce((sum, { deliveries }) => sum + deliveries, 0)
}

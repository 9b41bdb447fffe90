import {
  ASSETS,
  type KeyFamily,
  keyFamilyOfNetwork,
  NETWORKS,
  type Network,
  networkOf,
} from '../../core/assets.ts'
import { formatCoinAmount } from '../../core/money.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { tenantOf } from '../../core/tenant.ts'
import { isConstraintViolation } from '../../postgres/constraint-violation.ts'
import { type Tx, withTransaction } from '../../postgres/transaction.ts'
import { isDestinationListed } from '../store/destination-sightings.ts'
import {
  answerJournalQuestion,
  listJournalQuestions,
  postponeJournalQuestion,
} from '../store/journal-questions.ts'
import { savePayoutHold } from '../store/payout-holds.ts'
import {
  insertPayoutRefusal,
  insertPayoutTransaction,
  listPayoutTransactions,
  loadApproval,
  loadPayoutRefusal,
} from '../store/payout-transactions.ts'
import { listPayoutsUnderWay } from '../store/payouts.ts'
import { listSweepsOf, listSweepTransactions } from '../store/sweeps.ts'
import { alert } from './alert.ts'
import { checkApprover, verifyApproval } from './check-approval.ts'
import { EVM_PAYOUTS } from './evm/evm-payouts.ts'
import { publishSweep } from './evm/evm-sweeps.ts'
import { type JournalEntry, type SignedIntent, UnreadableLine } from './journal-lines.ts'
import { payableFrom } from './known-destinations.ts'
import { networksSetBack } from './lost-payouts.ts'
import { beginOutcomes } from './outcomes.ts'
import { isJournaled, isPayoutId } from './payout-journal.ts'
import { type PayoutSigner, type Signed, type Unsigned, WAITS } from './payout-signer.ts'
import { approvalKeysOf, outcomeKeyOf } from './pinned-keys.ts'
import type { SigningContext } from './signing-context.ts'
import { findOverLimit, LONGEST_WINDOW_MS } from './signing-limits.ts'
import { SOLANA_PAYOUTS } from './solana/solana-payouts.ts'
import { unlessFailing } from './unless-failing.ts'
import { UTXO_PAYOUTS } from './utxo/utxo-payouts.ts'

/** How payouts of each family of chains are signed. */
const SIGNERS: { readonly [family in KeyFamily]?: PayoutSigner } = {
  bitcoin: UTXO_PAYOUTS,
  litecoin: UTXO_PAYOUTS,
  evm: EVM_PAYOUTS,
  solana: SOLANA_PAYOUTS,
}

/** Payouts of one network, or questions of the watcher, looked at in one pass. */
const PASS_MAX = 500

/**
 * Signs what is approved and not yet signed, on every network. An approval is checked against what the payout says now;
 * a signature is on the signer's own disk before the database learns of it; and a payout that was ever signed gets the
 * same bytes again, whatever the database has forgotten.
 */
export async function signPayouts(signer: SigningContext): Promise<void> {
  await answerQuestions(signer)
  const setBack = await networksSetBack(signer)
  const keys = await approvalKeysOf(signer)
  await outcomeKeyOf(signer)
  await beginOutcomes(signer)
  for (const { network, payoutSigner } of signedNetworks()) {
    await attempt(signer, { id: network }, async () => payoutSigner.maintain?.(signer, network))
    const key = keys[network.endsWith('-live') ? 'live' : 'test']
    // Nothing was ever approved, or the approval key is unknown.
    if (key === null) continue
    const payouts = (await listPayoutsUnderWay(signer.pool, network, PASS_MAX)).map(({ payout }) => payout)
    // First publish earlier signatures that the database has forgotten: new ones are signed against what is left.
    const isSigned = ({ id }: Payout) => signer.journal.entriesOf(id).length > 0
    const inOrder = [...payouts.filter(isSigned), ...payouts.filter((payout) => !isSigned(payout))]
    const isSetBack = setBack.has(network)
    for (const payout of inOrder)
      await attempt(signer, payout, () =>
        signPayout(signer, { payout, network, payoutSigner, key, isSetBack }),
      )
  }
}

/**
 * Publishes what the journal has of payouts and sweeps that are about to be given up, and says so. What the database has
 * forgotten of them may be what the chain has. A question that cannot be answered comes after all others.
 */
async function answerQuestions(signer: SigningContext): Promise<void> {
  const { pool, clock } = signer
  for (const question of await listJournalQuestions(pool, PASS_MAX)) {
    const subject = { ...question, id: question.intentId }
    const isPublished = await attempt(signer, subject, () => publishJournaled(signer, subject))
    if (isPublished === true) await answerJournalQuestion(pool, question, clock())
    else await postponeJournalQuestion(pool, question, clock())
  }
}

/**
 * Writes all that the journal has of a payout or sweep into the database. False, with an alarm, where the database holds
 * other signatures than these: the chain may have what this signer knows nothing of.
 */
async function publishJournaled(signer: SigningContext, subject: Published): Promise<boolean> {
  const { pool, journal } = signer
  if (isPayoutId(subject.id)) await publishSweepsOf(signer, subject)
  const entries = journal.entriesOf(subject.id)
  const isOthers = ({ network, intent }: JournalEntry) =>
    network !== subject.network || (intent?.merchant_id ?? subject.merchantId) !== subject.merchantId
  if (entries.some(isOthers)) {
    alert(signer, subject, 'it was signed for another merchant or network than the database says')
    return false
  }
  const [write, list] = isPayoutId(subject.id)
    ? ([publish, listPayoutTransactions] as const)
    : ([publishSweep, listSweepTransactions] as const)
  for (const entry of entries) await write(signer, subject, entry)
  return isJournaled(signer, subject, await list(pool, tenantOf(subject), subject.id), entries)
}

/**
 * A payout's sweeps are published before the payout itself. Once the payout is paid, nobody asks for them any more, and
 * what was swept would be missing in the books.
 */
async function publishSweepsOf(signer: SigningContext, payout: Published): Promise<void> {
  for (const sweep of await listSweepsOf(signer.pool, tenantOf(payout), payout.id))
    await attempt(signer, sweep, () => publishJournaled(signer, sweep))
}

const signedNetworks = (): { network: Network; payoutSigner: PayoutSigner }[] =>
  NETWORKS.flatMap((network) => {
    const payoutSigner = SIGNERS[keyFamilyOfNetwork(network)]
    return payoutSigner === undefined ? [] : [{ network, payoutSigner }]
  })

type Task = {
  readonly payout: Payout
  readonly network: Network
  readonly payoutSigner: PayoutSigner
  /** The public key that verifies approvals. */
  readonly key: Uint8Array
  /** The network was set back by a restore: nothing is signed on it for the first time; see lost-payouts. */
  readonly isSetBack: boolean
}

/** One payout or sweep whose rows contradict each other, or say what no journal can hold (null), must not hold up the others; any other failure ends the pass. */
async function attempt<T>(
  signer: SigningContext,
  about: { readonly id: string },
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (!isConstraintViolation(error) && !(error instanceof UnreadableLine)) throw error
    alert(signer, about, 'what was or is to be signed contradicts what the database holds', error)
    return null
  }
}

async function signPayout(signer: SigningContext, task: Task): Promise<void> {
  const { pool, journal } = signer
  const { payout } = task
  const tenant = tenantOf(payout)
  const stored = await listPayoutTransactions(pool, tenant, payout.id)
  const signed = journal.entriesOf(payout.id)
  const isUnsigned = stored.length === 0 && signed.length === 0
  if (isUnsigned && (await loadPayoutRefusal(pool, tenant, payout.id)) !== null) return
  const approval = await loadApproval(pool, tenant, payout.id)
  const digest = verifyApproval(payout, approval, { key: task.key, signed })
  // What the asset says decides which coins go out, what the network says which chain is asked.
  const isHere = networkOf(payout.asset, payout.livemode) === task.network
  if (digest === null || !isHere) {
    alert(signer, payout, 'a payout is not what was approved, and is not signed')
    if (isUnsigned) await refuse(signer, payout, 'approval_invalid')
    // What was signed may happen, whatever the database says now: the chain decides.
    else await publishJournaled(signer, payout)
    return
  }
  if (!isJournaled(signer, payout, stored, signed)) return
  if (stored.length < signed.length) {
    await publishSweepsOf(signer, payout)
    for (const entry of signed.slice(stored.length)) await publish(signer, payout, entry)
    return
  }
  const result =
    signed.length === 0
      ? await signFirst(signer, task, digest)
      : await unlessFailing(
          signer,
          payout,
          () => task.payoutSigner.signReplacement(signer, { payout, digest }, signed),
          WAITS,
        )
  if (result.kind === 'waits') return
  if (result.kind === 'refused') {
    if (signed.length === 0) await refuse(signer, payout, result.code)
    return
  }
  await signer.reached?.('before_journal')
  await journal.append({ ...result.entry, intent: intentOf(payout) })
  await signer.reached?.('after_journal')
  await publish(signer, payout, result.entry)
  await signer.reached?.('after_commit')
}

async function signFirst(
  signer: SigningContext,
  { payout, payoutSigner, isSetBack }: Task,
  digest: Buffer,
): Promise<Signed> {
  const objection = await checkApprover(signer, payout, digest)
  if (objection !== null) return objection
  if (isSetBack) return WAITS
  const held = await holdPayout(signer, payout)
  if (held !== null) return held
  const before = (await payoutSigner.prepare?.(signer, { payout, digest })) ?? 'ready'
  if (before !== 'ready') return before
  return unlessFailing(signer, payout, () => payoutSigner.signFirst(signer, { payout, digest }), WAITS)
}

const intentOf = (payout: Payout): SignedIntent => ({
  kind: 'payout',
  merchant_id: payout.merchantId,
  asset: payout.asset,
  amount: payout.amount.toString(),
  network_fee_max: payout.networkFeeMax.toString(),
  destination: payout.destination,
  source: payout.source,
})

async function refuse({ pool, clock }: SigningContext, payout: Payout, code: string): Promise<void> {
  const tenant = tenantOf(payout)
  await withTransaction(pool, tenant, (tx) =>
    insertPayoutRefusal(tx, tenant, { payoutId: payout.id, code, now: clock() }),
  )
}

type Published = Pick<Payout, 'merchantId' | 'livemode' | 'id' | 'network'>

/** Writes a signature into the database; one that is there already stays as it is. */
async function publish(
  { pool, clock }: SigningContext,
  payout: Published,
  entry: JournalEntry,
): Promise<void> {
  await withTransaction(pool, tenantOf(payout), (tx) => writeSignature(tx, payout, entry, clock()))
}

/** The same in the caller's transaction. */
export async function writeSignature(
  tx: Tx,
  payout: Published,
  entry: JournalEntry,
  now: Date,
): Promise<void> {
  const { id: payoutId, network } = payout
  const tenant = tenantOf(payout)
  const transaction = {
    number: entry.number,
    txid: entry.txid,
    raw: Buffer.from(entry.raw, 'hex'),
    networkFee: BigInt(entry.network_fee),
    fromHeight: entry.from_height,
  }
  await insertPayoutTransaction(tx, tenant, { payoutId, network, transaction, now })
  await SIGNERS[keyFamilyOfNetwork(network)]?.publish(tx, tenant, entry, now)
}

type Hold = { readonly reason: string; readonly until: Date | null; readonly why: string }

/**
 * Whether an approved payout is signed now, as far as the signer's own files say: they alone decide where money goes and
 * how much of it. Null: it is.
 */
async function holdPayout(signer: SigningContext, payout: Payout): Promise<Unsigned | null> {
  if (payout.livemode && !(await isDestinationListed(signer.pool, payout)))
    return { kind: 'refused', code: 'destination_removed' }
  const hold = await findHold(signer, payout)
  if (hold === null) return null
  const { reason, until, why } = hold
  if (signer.alerts.isNew(payout.id, `held back: ${reason}`)) {
    const { id: payoutId, merchantId, asset, amount } = payout
    const worth = formatCoinAmount(amount, ASSETS[asset].decimals)
    signer.log.warn({ payoutId, merchantId, asset, amount: worth, reason, until }, why)
    await savePayoutHold(signer.pool, payout, { reason, until, now: signer.clock() })
  }
  return WAITS
}

async function findHold(
  { seen, journal, limits, clock }: SigningContext,
  payout: Payout,
): Promise<Hold | null> {
  const now = clock()
  const from = payout.livemode ? await payableFrom(seen, payout, now) : now
  if (from === null || from > now)
    return {
      reason: 'destination_new',
      until: from,
      why: 'a payout waits: the signer has not known its destination for a day',
    }
  const signed = journal.firstSignedWithin(LONGEST_WINDOW_MS, now.getTime(), payout.livemode)
  const over = findOverLimit(limits, payout, signed, now.getTime())
  return over === null ? null : { ...over, why: WHY[over.reason] }
}

const WHY = {
  payouts_in_hour: 'as many payouts were signed as an hour may have; this one waits',
  value_in_hour: "a payout waits: with it, the merchant's payouts of an hour would be above limits.json",
  value_in_day: "a payout waits: with it, the merchant's payouts of a day would be above limits.json",
} as const

import { type Network, networkOf } from '../../core/assets.ts'
import { approvalText } from '../../core/payout/approval-text.ts'
import { advancePayout, type Payout } from '../../core/payout/payout.ts'
import { isConstraintViolation } from '../../postgres/constraint-violation.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tx, withTransaction } from '../../postgres/transaction.ts'
import type { Clock } from '../../runtime/clock.ts'
import { newId } from '../../runtime/new-id.ts'
import { approvalDigest } from '../../secrets/approval-key.ts'
import { commitNewPayout, commitPayoutAdvance } from '../advance-payout.ts'
import { listFeeDestinations } from '../store/fee-destinations.ts'
import { insertLostPayouts, JOURNAL_APPROVER } from '../store/lost-payouts.ts'
import {
  findPayoutDestination,
  insertPayoutDestination,
  removePayoutDestination,
} from '../store/payout-destinations.ts'
import { loadPayout } from '../store/payouts.ts'
import { adoptSweep } from '../store/sweep-sources.ts'
import { findPayoutOfSweep, insertSweep, listDepositsOfSweep } from '../store/sweeps.ts'
import { writeSweepSignature } from './evm/evm-sweeps.ts'
import { areSignedOver, type JournalEntry } from './journal-lines.ts'
import { findLostPayouts } from './lost-payouts.ts'
import type { PayoutJournal } from './payout-journal.ts'
import { writeSignature } from './sign-payouts.ts'

/** The outcome for a lost payout. */
export type Recovered = {
  readonly payoutId: string
  readonly network: string
  /** The newest of the transactions that were signed for it. */
  readonly txid: string
  readonly outcome: /** It is recorded as approved and signed; the watcher determines its outcome. */
    | 'recovered'
    /** The merchant's balance does not cover it yet: deposits made after the backup are still to be read. */
    | 'not_covered'
    /** Its lines are from a release that did not record payouts, or are not what was approved. */
    | 'unknown'
    /** The database holds what contradicts it: its merchant is gone, or something else took its coins or its nonce. */
    | 'contradicts'
}

type Deps = { readonly pool: Pool; readonly clock: Clock; readonly journal: PayoutJournal }
type Lost = Omit<Payout, 'destinationId'>

/** More than an operator ever lists. */
const FEE_DESTINATIONS_MAX = 1_000

/**
 * Brings back what a restored database has forgotten: each payout with its reserved money, its signatures and the
 * sweeps for its sake, as it stood after its approval. `pool` is the owner's. Nothing is signed and no chain is asked: the
 * watcher follows what is there, and confirms or fails it.
 */
export async function recoverPayouts(deps: Deps): Promise<Recovered[]> {
  const recovered: Recovered[] = []
  for (const payoutId of await findLostPayouts(deps)) {
    const entries = deps.journal.entriesOf(payoutId)
    const last = entries.at(-1)
    if (last === undefined) continue
    const about = { payoutId, network: last.network, txid: last.txid }
    recovered.push({ ...about, outcome: await recoverOne(deps, payoutId, entries) })
  }
  return recovered
}

async function recoverOne(
  deps: Deps,
  payoutId: string,
  entries: readonly JournalEntry[],
): Promise<Recovered['outcome']> {
  const lost = lostPayoutOf(payoutId, entries)
  if (lost === null) return 'unknown'
  try {
    return await withTransaction(deps.pool, lost, (tx) => write(tx, deps, lost, entries))
  } catch (error) {
    if (isConstraintViolation(error)) return 'contradicts'
    throw error
  }
}

/** The payout as it was asked for; null where the journal does not say it, or says something else than was approved. */
function lostPayoutOf(id: string, entries: readonly JournalEntry[]): Lost | null {
  const [first] = entries
  const last = entries.at(-1)
  if (first?.intent?.kind !== 'payout' || last === undefined) return null
  const {
    merchant_id: merchantId,
    asset,
    amount,
    network_fee_max: feeMax,
    destination,
    source,
  } = first.intent
  const livemode = first.network.endsWith('-live')
  const network = networkOf(asset, livemode)
  if (network !== first.network) return null
  const lost: Lost = {
    merchantId,
    id,
    livemode,
    status: 'requested',
    source,
    asset,
    network,
    amount: BigInt(amount),
    networkFee: BigInt(last.network_fee),
    networkFeeMax: BigInt(feeMax),
    destination,
    requestedBy: JOURNAL_APPROVER,
    approvedBy: null,
    rejectedBy: null,
    txid: null,
    failureCode: null,
    createdAtMs: first.signed_at,
    approvedAtMs: null,
    rejectedAtMs: null,
    submittedAtMs: null,
    confirmedAtMs: null,
    failedAtMs: null,
  }
  const digest = approvalDigest(approvalText(lost))
  const isApproved = areSignedOver(entries, digest)
  return isApproved ? lost : null
}

async function write(
  tx: Tx,
  { clock, journal }: Deps,
  lost: Lost,
  entries: readonly JournalEntry[],
): Promise<'recovered' | 'not_covered' | 'contradicts'> {
  const now = clock()
  const context = { now, requestId: null }
  const known = await loadPayout(tx, lost, lost.id, { source: null, forUpdate: true })
  if (known === null) {
    const destinationId = await destinationOf(tx, lost, now)
    if (destinationId === null) return 'contradicts'
    const written = await commitNewPayout(tx, { ...lost, destinationId }, context)
    if (written.kind === 'not_covered') return 'not_covered'
  } else if (approvalText(known.payout) !== approvalText(lost)) return 'contradicts'
  const before = known ?? (await loadPayout(tx, lost, lost.id, { source: null, forUpdate: true }))
  if (before === null) throw new Error(`${lost.id} was written and is not there`)
  const approval = { kind: 'approve', by: JOURNAL_APPROVER, nowMs: lost.createdAtMs } as const
  const advance = advancePayout(before.payout, approval)
  // Somebody has rejected it since, and its money went back to the balance.
  if (advance.kind === 'refused') return 'contradicts'
  await commitPayoutAdvance(tx, before, advance, { ...context, by: 'merchant' })
  await insertLostPayouts(tx, new Map([[lost.id, lost.network]]), now)
  for (const signatures of journal.sweepsFor(lost.id)) await writeSweep(tx, lost, signatures, now)
  for (const entry of entries) await writeSignature(tx, lost, entry, now)
  return 'recovered'
}

/**
 * Where its money went. A merchant's address that the database has forgotten is written down as one taken off the list; null
 * for fees paid to an address that is not on the operator's list, which is left as it is.
 */
async function destinationOf(tx: Tx, lost: Lost, now: Date): Promise<string | null> {
  const of = { asset: lost.asset, address: lost.destination }
  if (lost.source === 'fees') {
    const listed = await listFeeDestinations(tx, lost.livemode, FEE_DESTINATIONS_MAX)
    return listed.find(({ asset, address }) => asset === of.asset && address === of.address)?.id ?? null
  }
  const known = await findPayoutDestination(tx, lost, of)
  if (known !== null) return known.id
  const id = newId('payoutDestination', now)
  const name = 'From the journal of the signer'
  await insertPayoutDestination(tx, lost, {
    id,
    ...of,
    name,
    createdBy: JOURNAL_APPROVER,
    createdAt: now,
    usableAt: now,
  })
  await removePayoutDestination(tx, lost, id, now)
  return id
}

/** A sweep that the database has forgotten, with those of its deposits that it knows. */
async function writeSweep(
  tx: Tx,
  lost: Lost & { readonly network: Network },
  signatures: readonly JournalEntry[],
  now: Date,
): Promise<void> {
  const [first] = signatures
  if (first?.intent?.kind !== 'sweep') return
  const { asset, key_index: keyIndex, nonce, delegation_nonce: delegationNonce = null } = first.intent
  const { merchantId, livemode, network, id: payoutId } = lost
  const sweep = { merchantId, livemode, network, id: first.payout_id }
  const known = await findPayoutOfSweep(tx, lost, sweep.id)
  // Taken over from a payout that goes on no more; one that does keeps it.
  if (known !== null && known !== payoutId) await adoptSweep(tx, lost, { sweepId: sweep.id, payoutId })
  if (known === null) {
    const address = Buffer.from(first.intent.address, 'hex')
    const amount = BigInt(first.intent.amount)
    // What came to the address later is not this sweep's.
    const transferIds = await listDepositsOfSweep(tx, lost, { network, asset, address, amount })
    await insertSweep(tx, {
      ...sweep,
      payoutId,
      asset,
      address,
      keyIndex,
      amount,
      nonce,
      delegationNonce,
      transferIds,
      now,
    })
  }
  for (const entry of signatures) await writeSweepSignature(tx, sweep, entry, now)
}

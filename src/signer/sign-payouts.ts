import type { HDKey } from '@scure/bip32'
import { outputScriptOf } from '../chain/utxo/output-script.ts'
import type { Clock } from '../clock.ts'
import { ASSETS, type Keyspace, type Network, networkOf } from '../core/assets.ts'
import { type UtxoParameters, utxoParametersOf } from '../core/chain/utxo-parameters.ts'
import type { Payout } from '../core/payout/payout.ts'
import { PAYOUT_OUTPUT_MIN } from '../core/payout/payout-limits.ts'
import { feeFor, selectCoins, vbytesOf } from '../core/payout/select-coins.ts'
import { isConstraintViolation } from '../db/constraint-violation.ts'
import type { Pool } from '../db/pool.ts'
import { loadNetworkState } from '../db/queries/network-state.ts'
import { listSpendableCoins, loadNetworkFee } from '../db/queries/payout-coins.ts'
import {
  insertPayoutRefusal,
  insertPayoutTransaction,
  listFailedPayouts,
  listPayoutTransactions,
  loadApproval,
  loadApprovalKey,
  loadPayoutRefusal,
} from '../db/queries/payout-transactions.ts'
import { listPayoutsUnderWay } from '../db/queries/payouts.ts'
import { type Tenant, withTransaction } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { buildTransaction } from './build-transaction.ts'
import type { JournalEntry, PayoutJournal } from './payout-journal.ts'
import { planReplacement } from './plan-replacement.ts'
import { approvalKeyOf, isSameDigest, verifyApproval } from './verify-approval.ts'

const NETWORKS: readonly { readonly network: Network; readonly asset: 'BTC' | 'LTC' }[] = (
  ['BTC', 'LTC'] as const
).flatMap((asset) => [true, false].map((livemode) => ({ network: networkOf(asset, livemode), asset })))

const PAGE = 50
/** Payouts of one network looked at in one turn. */
const TURN_MAX = 500
/** Payouts signed in an hour at most, on all networks: whoever could approve without end still cannot empty everything at once. */
export const SIGNED_PER_HOUR_MAX = 200
const HOUR_MS = 3_600_000
/** Thousandths of a base unit for a virtual byte: no estimate above this is believed. */
export const FEE_RATE_MAX = 500_000n
/** What nodes relay at least (minrelaytxfee, 1 for a virtual byte). */
const FEE_RATE_MIN = 1_000n

export type PayoutSigner = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly folder: string
  readonly journal: PayoutJournal
  /** Accounts of the chains made like Bitcoin, with their private keys. */
  readonly accounts: ReadonlyMap<Keyspace, HDKey>
  /** Payouts of which an alarm was raised. */
  readonly told: Set<string>
  /** For tests that stop it in between. */
  readonly reached?: (point: SigningPoint) => Promise<void>
}
export type SigningPoint = 'before_journal' | 'after_journal' | 'after_commit'

/**
 * Signs what is approved and not yet signed, on every network. An approval is checked against what the payout says now;
 * a signature is on the signer's own disk before the database learns of it; and a payout that was ever signed gets the
 * same bytes again, whatever the database has forgotten.
 */
export async function signPayouts(signer: PayoutSigner): Promise<void> {
  const key = await approvalKeyOf(signer.folder, await loadApprovalKey(signer.pool))
  if (key === null) return
  for (const { network, asset } of NETWORKS) {
    let after = ''
    for (let seen = 0; seen < TURN_MAX; seen += PAGE) {
      const page = await listPayoutsUnderWay(signer.pool, network, { after, limit: PAGE })
      for (const { payout } of page) await attempt(signer, { payout, asset, key })
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) break
      after = last.payout.id
    }
  }
}

type Task = { readonly payout: Payout; readonly asset: 'BTC' | 'LTC'; readonly key: Uint8Array }

const tenantOf = ({ merchantId, livemode }: Payout): Tenant => ({ merchantId, livemode })

/** One payout whose rows contradict each other must not hold up the others; whatever else fails ends the turn. */
async function attempt(signer: PayoutSigner, task: Task): Promise<void> {
  try {
    await signPayout(signer, task)
  } catch (error) {
    if (!isConstraintViolation(error)) throw error
    complain(signer, task.payout, 'a payout contradicts what the database holds', error)
  }
}

/** An alarm, once for each payout as long as this signer runs. */
function complain({ told, log }: PayoutSigner, { id }: Payout, message: string, err?: unknown): void {
  if (told.has(id)) return
  told.add(id)
  log.error({ payoutId: id, err }, message)
}

async function signPayout(signer: PayoutSigner, task: Task): Promise<void> {
  const { pool, journal } = signer
  const { payout } = task
  const tenant = tenantOf(payout)
  const stored = await listPayoutTransactions(pool, tenant, payout.id)
  const signed = journal.entriesOf(payout.id)
  if (stored.length === 0 && (await loadPayoutRefusal(pool, tenant, payout.id)) !== null) return
  const digest = verifyApproval(payout, await loadApproval(pool, tenant, payout.id), task.key)
  const isSame =
    digest !== null && signed.every((entry) => isSameDigest(Buffer.from(entry.digest, 'hex'), digest))
  if (digest === null || !isSame || payout.asset !== task.asset) {
    complain(signer, payout, 'a payout is not what was approved, and is not signed')
    if (stored.length === 0)
      await refuse(signer, payout, digest === null ? 'approval_invalid' : 'already_signed_otherwise')
    return
  }
  if (stored.length < signed.length) {
    for (const entry of signed.slice(stored.length)) await publish(signer, payout, entry)
    return
  }
  const entry =
    signed.length === 0
      ? await signFirst(signer, task, digest)
      : await signReplacement(signer, task, signed, digest)
  if (entry === null) return
  await signer.reached?.('before_journal')
  await journal.append(entry)
  await signer.reached?.('after_journal')
  await publish(signer, payout, entry)
  await signer.reached?.('after_commit')
}

async function refuse({ pool, clock }: PayoutSigner, payout: Payout, code: string): Promise<void> {
  const tenant = tenantOf(payout)
  await withTransaction(pool, tenant, (tx) =>
    insertPayoutRefusal(tx, tenant, { payoutId: payout.id, code, now: clock() }),
  )
}

async function publish({ pool, clock }: PayoutSigner, payout: Payout, entry: JournalEntry): Promise<void> {
  const tenant = tenantOf(payout)
  await withTransaction(pool, tenant, (tx) =>
    insertPayoutTransaction(tx, tenant, {
      payoutId: payout.id,
      network: payout.network,
      transaction: {
        number: entry.number,
        txid: entry.txid,
        raw: Buffer.from(entry.raw, 'hex'),
        networkFee: BigInt(entry.network_fee),
        fromHeight: entry.from_height,
      },
      inputs: entry.inputs.map((input) => ({ txid: input.txid, outputIndex: input.output_index })),
      change:
        entry.change === null
          ? null
          : {
              txid: entry.change.txid,
              outputIndex: entry.change.output_index,
              amount: BigInt(entry.change.amount),
              changeIndex: entry.change.change_index,
            },
      now: clock(),
    }),
  )
}

/** What of a network a signature needs; null while it is not known. */
async function readTerms(signer: PayoutSigner, task: Task) {
  const { payout, asset } = task
  const { keyFamily } = ASSETS[asset]
  if (keyFamily !== 'bitcoin' && keyFamily !== 'litecoin') return null
  const [state, fee] = await Promise.all([
    loadNetworkState(signer.pool, payout.network),
    loadNetworkFee(signer.pool, payout.network),
  ])
  const parameters: UtxoParameters | null =
    state?.parameters == null ? null : utxoParametersOf(keyFamily, state.parameters)
  const account = signer.accounts.get(`${keyFamily}-${payout.livemode ? 'live' : 'test'}`)
  const changeMin = PAYOUT_OUTPUT_MIN[asset]
  if (fee === null || account === undefined || changeMin === undefined) return null
  if (parameters === null || parameters.livemode !== payout.livemode) return null
  const output = outputScriptOf(payout.destination, keyFamily, parameters)
  const rate = fee.rate < FEE_RATE_MAX ? fee.rate : FEE_RATE_MAX
  return { account, changeMin, rate, script: output?.script ?? null, height: state?.height ?? 0 }
}

async function signFirst(signer: PayoutSigner, task: Task, digest: Buffer): Promise<JournalEntry | null> {
  const { journal } = signer
  const { payout } = task
  const nowMs = signer.clock().getTime()
  if (journal.signedSince(nowMs - HOUR_MS) >= SIGNED_PER_HOUR_MAX) {
    complain(signer, payout, 'as many payouts were signed as an hour may have; this one waits')
    return null
  }
  const terms = await readTerms(signer, task)
  if (terms === null) return null
  if (terms.script === null) {
    await refuse(signer, payout, 'destination_invalid')
    return null
  }
  const coins = await freeCoins(signer, payout)
  const selection = selectCoins(coins, payout.amount, terms)
  // The rest may be on its way back as another payout's change.
  if (selection === null) return null
  const vbytes = vbytesOf(selection.coins.length, selection.change > 0n)
  if (payout.networkFeeMax < feeFor(vbytes, FEE_RATE_MIN)) {
    await refuse(signer, payout, 'fee_above_limit')
    return null
  }
  const networkFee = selection.fee < payout.networkFeeMax ? selection.fee : payout.networkFeeMax
  const change =
    selection.change === 0n
      ? null
      : { amount: selection.change, index: journal.nextChangeIndex(payout.network) }
  const amount = payout.amount - networkFee
  const built = buildTransaction(terms.account, { ...selection, script: terms.script, amount, change })
  return entryOf(payout, {
    number: 1,
    digest,
    built,
    networkFee,
    inputs: selection.coins.map(({ txid, outputIndex }) => ({ txid, output_index: outputIndex })),
    change,
    fromHeight: terms.height,
    nowMs,
  })
}

/** The merchant's coins, without those that anything ever signed spends, unless that payout failed for good. */
async function freeCoins({ pool, journal }: PayoutSigner, payout: Payout) {
  const coins = await listSpendableCoins(pool, tenantOf(payout), payout.network)
  const spenders = [...new Set(coins.flatMap((coin) => journal.spendersOf(coin)))]
  const failed = spenders.length === 0 ? new Set<string>() : await listFailedPayouts(pool, spenders)
  return coins.filter((coin) => journal.spendersOf(coin).every((payoutId) => failed.has(payoutId)))
}

/** A transaction that waits too long at too low a fee is signed again, over the same coins, for a higher one. */
async function signReplacement(
  signer: PayoutSigner,
  task: Task,
  signed: readonly JournalEntry[],
  digest: Buffer,
): Promise<JournalEntry | null> {
  const { payout } = task
  const nowMs = signer.clock().getTime()
  const terms = await readTerms(signer, task)
  if (terms === null || terms.script === null) return null
  const plan = planReplacement({ signed, rate: terms.rate, feeMax: payout.networkFeeMax, nowMs })
  if (plan === null) return null
  const { first, networkFee } = plan
  const held = await listSpendableCoins(signer.pool, tenantOf(payout), payout.network, payout.id)
  const coins = first.inputs.map((input) =>
    held.find((coin) => coin.txid === input.txid && coin.outputIndex === input.output_index),
  )
  if (coins.some((coin) => coin === undefined)) return null
  const change =
    first.change === null ? null : { amount: BigInt(first.change.amount), index: first.change.change_index }
  const built = buildTransaction(terms.account, {
    coins: coins.flatMap((coin) => coin ?? []),
    script: terms.script,
    amount: payout.amount - networkFee,
    change,
  })
  const inputs = first.inputs
  const number = signed.length + 1
  return entryOf(payout, {
    number,
    digest,
    built,
    networkFee,
    inputs,
    change,
    fromHeight: first.from_height,
    nowMs,
  })
}

function entryOf(
  payout: Payout,
  signed: {
    readonly number: number
    readonly digest: Buffer
    readonly built: { readonly txid: string; readonly raw: Buffer }
    readonly networkFee: bigint
    readonly inputs: JournalEntry['inputs']
    readonly change: { readonly amount: bigint; readonly index: number } | null
    readonly fromHeight: number
    readonly nowMs: number
  },
): JournalEntry {
  const { built, change } = signed
  return {
    payout_id: payout.id,
    number: signed.number,
    network: payout.network,
    digest: signed.digest.toString('hex'),
    txid: built.txid,
    raw: built.raw.toString('hex'),
    network_fee: signed.networkFee.toString(),
    from_height: signed.fromHeight,
    inputs: signed.inputs,
    change:
      change === null
        ? null
        : { txid: built.txid, output_index: 1, amount: change.amount.toString(), change_index: change.index },
    signed_at: signed.nowMs,
  }
}

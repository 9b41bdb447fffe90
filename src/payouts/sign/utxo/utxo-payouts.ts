import type { HDKey } from '@scure/bip32'
import { p2wpkh, Transaction } from '@scure/btc-signer'
import { outputScriptOf } from '../../../chain/utxo/output-script.ts'
import { ASSETS } from '../../../core/assets.ts'
import { outpointKey } from '../../../core/chain/outpoint.ts'
import { type UtxoParameters, utxoParametersOf } from '../../../core/chain/utxo-parameters.ts'
import { SEQUENCE_REPLACEABLE } from '../../../core/payout/lost-payment.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { fixedPayoutMin, isWaitOver } from '../../../core/payout/payout-limits.ts'
import { type Coin, feeFor, mostThatFits, selectCoins, vbytesOf } from '../../../core/payout/select-coins.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { loadNetworkState } from '../../../db/chain/network-state.ts'
import type { Tenant, Tx } from '../../../postgres/transaction.ts'
import { isDue } from '../../../runtime/clock.ts'
import { loadFoundPayout } from '../../store/found-payouts.ts'
import {
  isChangeComing,
  isShortOfCoins,
  listSpendableCoins,
  loadNetworkFee,
  type OwnCoin,
} from '../../store/payout-coins.ts'
import { insertPayoutChange, insertPayoutInputs, listFailedPayouts } from '../../store/payout-transactions.ts'
import { alert } from '../alert.ts'
import { isUtxoEntry, type JournalEntry, type UtxoEntry } from '../journal-lines.ts'
import { type PayoutSigner, type Signed, type SigningTask, WAITS } from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { ANY_OUTPUT, privateKeyAt, publicKeyAt } from './coin-keys.ts'
import { isProvenChange } from './proven-change.ts'

/** Thousandths of a base unit for a virtual byte: no estimate above this is believed. */
const FEE_RATE_MAX = 500_000n
/** What nodes relay at least (minrelaytxfee, 1 for a virtual byte). */
const FEE_RATE_MIN = 1_000n

/** A fee that was read so lately says that the watcher offers what is signed. */
const WATCHED_MS = 5 * 60_000

/** What a signature needs to know of a network; null until it is known. */
async function readTerms(signer: SigningContext, payout: Payout) {
  const { asset } = payout
  const { keyFamily } = ASSETS[asset]
  if (keyFamily !== 'bitcoin' && keyFamily !== 'litecoin') return null
  const [state, fee] = await Promise.all([
    loadNetworkState(signer.pool, payout.network),
    loadNetworkFee(signer.pool, payout.network),
  ])
  const parameters: UtxoParameters | null =
    state?.parameters == null ? null : utxoParametersOf(keyFamily, state.parameters)
  const account = signer.accounts.get(`${keyFamily}-${payout.livemode ? 'live' : 'test'}`)
  const changeMin = fixedPayoutMin(asset)
  if (fee === null || account === undefined || changeMin === undefined) return null
  if (parameters === null || parameters.livemode !== payout.livemode) return null
  const output = outputScriptOf(payout.destination, keyFamily, parameters)
  const rate = fee.rate < FEE_RATE_MAX ? fee.rate : FEE_RATE_MAX
  const isWatched = Math.abs(signer.clock().getTime() - fee.updatedAt.getTime()) < WATCHED_MS
  return { account, changeMin, rate, isWatched, script: output?.script ?? null, height: state?.height ?? 0 }
}

async function signFirst(
  signer: SigningContext,
  { payout, digest }: SigningTask,
): Promise<Signed<UtxoEntry>> {
  const { journal } = signer
  const terms = await readTerms(signer, payout)
  if (terms === null) return WAITS
  if (terms.script === null) return { kind: 'refused', code: 'destination_invalid' }
  const coins = await freeCoins(signer, terms.account, payout)
  const selection = selectCoins(coins, payout.amount, terms)
  if (selection === null) {
    if (await isTooMuch(signer, payout, coins, terms)) return TOO_MANY_COINS
    return (await isTooLittle(signer, payout)) ? INSUFFICIENT_FUNDS : WAITS
  }
  const vbytes = vbytesOf(selection.coins.length, selection.change > 0n)
  if (payout.networkFeeMax < feeFor(vbytes, FEE_RATE_MIN)) return { kind: 'refused', code: 'fee_above_limit' }
  const networkFee = selection.fee < payout.networkFeeMax ? selection.fee : payout.networkFeeMax
  const change =
    selection.change === 0n
      ? null
      : { amount: selection.change, index: journal.nextChangeIndex(payout.network) }
  const amount = payout.amount - networkFee
  const built = buildTransaction(terms.account, { ...selection, script: terms.script, amount, change })
  const entry = entryOf(payout, {
    number: 1,
    digest,
    built,
    networkFee,
    inputs: selection.coins.map(({ txid, outputIndex }) => ({ txid, output_index: outputIndex })),
    change,
    fromHeight: terms.height,
    nowMs: signer.clock().getTime(),
  })
  return { kind: 'signed', entry }
}

const TOO_MANY_COINS = { kind: 'refused', code: 'too_many_coins' } as const
const INSUFFICIENT_FUNDS = { kind: 'refused', code: 'insufficient_funds' } as const

/** Whether the amount needs more coins than fit into a transaction, and nothing is on its way back as change. */
async function isTooMuch(
  { pool }: SigningContext,
  payout: Payout,
  coins: readonly Coin[],
  { changeMin }: { readonly changeMin: bigint },
): Promise<boolean> {
  if (mostThatFits(coins, changeMin) === null) return false
  return !(await isChangeComing(pool, tenantOf(payout), payout.network))
}

/** Whether the coins do not suffice and no change is expected. Only the chain knows what was spent outside Paylink. */
async function isTooLittle({ pool, clock }: SigningContext, payout: Payout): Promise<boolean> {
  const tenant = tenantOf(payout)
  if (await isShortOfCoins(pool, tenant, payout)) return true
  return isWaitOver(payout, clock().getTime()) && !(await isChangeComing(pool, tenant, payout.network))
}

/** Whether a coin is a deposit's, or change that the journal, or its own signatures, show to be this merchant's. */
async function isKnownCoin(
  signer: SigningContext,
  account: HDKey,
  payout: Payout,
  coin: OwnCoin,
): Promise<boolean> {
  if (coin.chain === 0) return true
  const change = signer.journal.changeAt(coin)
  if (change === undefined) return isProvenChange(signer, account, payout, coin)
  if (change.index !== coin.index || change.amount !== coin.amount) return false
  return change.merchantId === null || change.merchantId === payout.merchantId
}

/** The merchant's coins, except those that a signed transaction spends whose payout has not failed for good. */
async function freeCoins(signer: SigningContext, account: HDKey, payout: Payout) {
  const { pool, journal } = signer
  const listed = await listSpendableCoins(pool, tenantOf(payout), payout.network)
  const coins: OwnCoin[] = []
  for (const coin of listed) if (await isKnownCoin(signer, account, payout, coin)) coins.push(coin)
  if (coins.length < listed.length)
    alert(signer, payout, 'change is not what was signed for the merchant, and is not spent')
  // What was signed over it for another merchant is signed with another's key: where this one's is the coin's, it never happens.
  const spendersOf = (coin: Coin): readonly string[] =>
    journal
      .spendersOf(outpointKey(coin))
      .filter((id) => (journal.merchantOf(id) ?? payout.merchantId) === payout.merchantId)
  const spenders = [...new Set(coins.flatMap(spendersOf))]
  const failed = spenders.length === 0 ? new Set<string>() : await listFailedPayouts(pool, spenders)
  return coins.filter((coin) => spendersOf(coin).every((payoutId) => failed.has(payoutId)))
}

/** A transaction that waits too long at too low a fee is signed again, over the same coins, for a higher one. */
async function signReplacement(
  signer: SigningContext,
  { payout, digest }: SigningTask,
  entries: readonly JournalEntry[],
): Promise<Signed<UtxoEntry>> {
  const signed = entries.filter(isUtxoEntry)
  const nowMs = signer.clock().getTime()
  const terms = await readTerms(signer, payout)
  if (terms === null || terms.script === null) return WAITS
  const [first] = signed
  const found = await findForgotten(signer, payout, signed)
  const { txid: taken, networkFeeMax: feeMax } = payout
  const isOutbid = terms.isWatched && signed.slice(0, -1).some(({ txid }) => txid === taken)
  const fee = planReplacement({ signed, rate: terms.rate, isOutbid, feeMax, nowMs })
  if (first === undefined || (found === null && fee === null)) return WAITS
  const { script, account } = terms
  const held = await listSpendableCoins(signer.pool, tenantOf(payout), payout.network, payout.id)
  const coins = first.inputs.map((input) =>
    held.find((coin) => coin.txid === input.txid && coin.outputIndex === input.output_index),
  )
  if (coins.some((coin) => coin === undefined)) return WAITS
  const change =
    first.change === null ? null : { amount: BigInt(first.change.amount), index: first.change.change_index }
  const spent = coins.flatMap((coin) => coin ?? [])
  const signedFor = (networkFee: bigint): UtxoEntry => {
    const built = buildTransaction(account, {
      coins: spent,
      script,
      amount: payout.amount - networkFee,
      change,
    })
    const { inputs, from_height: fromHeight } = first
    const number = signed.length + 1
    return entryOf(payout, { number, digest, built, networkFee, inputs, change, fromHeight, nowMs })
  }
  const forgotten = found === null ? null : signedFor(found.networkFee)
  if (forgotten !== null && forgotten.txid === found?.txid) return { kind: 'signed', entry: forgotten }
  return fee === null ? WAITS : { kind: 'signed', entry: signedFor(fee) }
}

function entryOf(
  payout: Payout,
  signed: {
    readonly number: number
    readonly digest: Buffer
    readonly built: { readonly txid: string; readonly raw: Buffer }
    readonly networkFee: bigint
    readonly inputs: UtxoEntry['inputs']
    readonly change: { readonly amount: bigint; readonly index: number } | null
    readonly fromHeight: number
    readonly nowMs: number
  },
): UtxoEntry {
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

async function publish(tx: Tx, tenant: Tenant, entry: JournalEntry): Promise<void> {
  if (!isUtxoEntry(entry)) throw new Error(`what was signed for ${entry.payout_id} spends no coins`)
  const { payout_id: payoutId, network, change } = entry
  const inputs = entry.inputs.map((input) => ({ txid: input.txid, outputIndex: input.output_index }))
  await insertPayoutInputs(tx, tenant, { payoutId, network, inputs })
  if (change === null) return
  await insertPayoutChange(tx, tenant, {
    payoutId,
    network,
    change: {
      txid: change.txid,
      outputIndex: change.output_index,
      amount: BigInt(change.amount),
      changeIndex: change.change_index,
      addressBytes: addressBytesAt(entry.raw, change.output_index),
    },
  })
}

/** The witness program of a P2WPKH output (BIP141): its script without version and length. */
function addressBytesAt(raw: string, outputIndex: number): Uint8Array {
  const { script } = Transaction.fromRaw(Buffer.from(raw, 'hex'), ANY_OUTPUT).getOutput(outputIndex)
  if (script === undefined) throw new Error(`a signed transaction has no output ${outputIndex}`)
  return script.subarray(2)
}

/** Payouts over coins (Bitcoin, Litecoin): all transactions of one spend the same coins. */
export const UTXO_PAYOUTS: PayoutSigner = { signFirst, signReplacement, publish }

/** A transaction has this long to be taken into a block before its fee is looked at again. */
const REPLACE_AFTER_MS = 30 * 60_000
const REPLACEMENTS_MAX = 10
/** A replacement pays for its own relay beside what it replaces (BIP125 rule 4): 1 for a virtual byte. */
const INCREMENT = 1_000n

/**
 * The fee of a replacement, or null where none is due: the last signature is young, its fee is what the network takes now,
 * or the highest fee that was approved does not allow enough.
 */
function planReplacement(waiting: {
  readonly signed: readonly UtxoEntry[]
  readonly rate: bigint
  /** Whether nodes keep an older one, whose payee has spent it: all of that counts (BIP125 rule 3), and twice as much is offered. */
  readonly isOutbid: boolean
  readonly feeMax: bigint
  readonly nowMs: number
}): bigint | null {
  const first = waiting.signed[0]
  const last = waiting.signed.at(-1)
  if (first === undefined || last === undefined || last.number > REPLACEMENTS_MAX) return null
  if (!isDue(last.signed_at, REPLACE_AFTER_MS, waiting.nowMs)) return null
  const vbytes = vbytesOf(first.inputs.length, first.change !== null)
  const twice = waiting.isOutbid ? 2n * BigInt(last.network_fee) : 0n
  const current = feeFor(vbytes, waiting.rate)
  const wanted = twice > current ? twice : current
  const least = BigInt(last.network_fee) + feeFor(vbytes, INCREMENT)
  if (wanted < least || least > waiting.feeMax) return null
  return wanted < waiting.feeMax ? wanted : waiting.feeMax
}

/**
 * The fee of a transaction over the payout's coins that the watcher found in a block and that neither database nor journal
 * knows, since both were set back: signed again for that fee it is the same, or it is not the payout's. Null where there is none.
 */
async function findForgotten(
  signer: SigningContext,
  payout: Payout,
  signed: readonly UtxoEntry[],
): Promise<{ readonly networkFee: bigint; readonly txid: string } | null> {
  const found = await loadFoundPayout(signer.pool, tenantOf(payout), payout.id)
  if (found === null || signed.some(({ txid }) => txid === found.txid)) return null
  const networkFee = payout.amount - found.value
  if (networkFee <= 0n || networkFee > payout.networkFeeMax || signed.length > REPLACEMENTS_MAX) return null
  return { networkFee, txid: found.txid }
}

/** A coin and the key below its account that spends it. */
type KeyedCoin = {
  readonly txid: string
  readonly outputIndex: number
  readonly amount: bigint
  /** 0: receiving, 1: change. */
  readonly chain: 0 | 1
  readonly index: number
}

type BuiltTransaction = { readonly txid: string; readonly raw: Buffer }

/**
 * Signs a transaction of P2WPKH coins (BIP143): output 0 pays the destination, output 1, if there is change, comes back to
 * `account/1/index`. The amounts of the coins are signed too, so that a wrong one makes the transaction worth nothing. By this
 * form `mayPayCoins` knows what was lost.
 */
function buildTransaction(
  account: HDKey,
  payment: {
    readonly coins: readonly KeyedCoin[]
    readonly script: Uint8Array
    readonly amount: bigint
    readonly change: { readonly amount: bigint; readonly index: number } | null
  },
): BuiltTransaction {
  const transaction = new Transaction(ANY_OUTPUT)
  const keys = payment.coins.map((coin) => privateKeyAt(account, coin.chain, coin.index))
  try {
    for (const [position, coin] of payment.coins.entries()) {
      const key = keys[position]
      if (key === undefined) throw new Error('a coin has no key')
      transaction.addInput({
        txid: coin.txid,
        index: coin.outputIndex,
        sequence: SEQUENCE_REPLACEABLE,
        witnessUtxo: { script: p2wpkh(key.publicKey).script, amount: coin.amount },
      })
    }
    transaction.addOutput({ script: payment.script, amount: payment.amount })
    if (payment.change !== null) {
      const publicKey = publicKeyAt(account, 1, payment.change.index)
      transaction.addOutput({ script: p2wpkh(publicKey).script, amount: payment.change.amount })
    }
    for (const [position, key] of keys.entries()) transaction.signIdx(key.privateKey, position)
    transaction.finalize()
    return { txid: transaction.id, raw: Buffer.from(transaction.extract()) }
  } finally {
    for (const key of keys) key.privateKey.fill(0)
  }
}

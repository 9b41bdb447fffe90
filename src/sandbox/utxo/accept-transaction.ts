import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { Transaction } from '@scure/btc-signer'
import { isUnspendable } from './block.ts'
import { type ChainTransaction, outpointOf } from './chain-transaction.ts'
import type { Coin, Coins } from './coins.ts'
import type { Mempool } from './mempool.ts'

/** Bitcoin Core's policy: transactions that wait, unconfirmed ancestors, weight of one transaction. */
const MAX_MEMPOOL_TRANSACTIONS = 20_000
const MAX_ANCESTORS = 25
const MAX_REPLACED = 100
const MAX_TRANSACTION_WEIGHT = 400_000
/** Base units for a virtual byte, to be relayed and again to replace another transaction. */
const MIN_FEE_RATE = 1n
const LOCK_TIME_IS_TIME_FROM = 500_000_000
const SEQUENCE_FINAL = 0xffffffff
const SEQUENCE_NO_RELATIVE_LOCK = 0x80000000
const SEQUENCE_LOCK_MASK = 0xffff

/** A wrong transaction, reported as Bitcoin Core does: its RPC error code and the reason of `testmempoolaccept`. */
type Refusal = {
  readonly kind: 'refused'
  readonly code: typeof RPC_MISSING_INPUTS | typeof RPC_REJECTED | typeof RPC_ALREADY_IN_CHAIN
  readonly reason: string
}
const RPC_MISSING_INPUTS = -25
export const RPC_REJECTED = -26
export const RPC_ALREADY_IN_CHAIN = -27

export type Acceptance =
  | { readonly kind: 'accepted'; readonly fee: bigint; readonly replaces: readonly string[] }
  | { readonly kind: 'already_in_mempool' }
  | Refusal

type AcceptanceContext = {
  readonly coins: Coins
  readonly mempool: Mempool
  readonly maxMoney: bigint
  readonly tipHeight: number
  /** Median time of the tip and the ten blocks before it (BIP113). */
  readonly medianTimeS: number
}

const rejected = (reason: string): Refusal => ({ kind: 'refused', code: RPC_REJECTED, reason })

/**
 * Whether a transaction may wait for a block: its inputs exist and are unspent, its signatures hold, it spends
 * no more than it has, pays a fee, and conflicts with nothing but what it may replace (BIP125). Unlike Bitcoin
 * Core's policy, outputs below the dust limit pass: dust is a case to be tried out.
 */
export function acceptTransaction(transaction: ChainTransaction, context: AcceptanceContext): Acceptance {
  const { coins, mempool } = context
  const wrong = checkAlone(transaction, context)
  if (wrong !== null) return wrong
  if (mempool.has(transaction.txid)) return { kind: 'already_in_mempool' }
  if (transaction.outputs.some((_, index) => coins.get(outpointOf(transaction.txid, index)) !== undefined)) {
    return { kind: 'refused', code: RPC_ALREADY_IN_CHAIN, reason: 'txn-already-known' }
  }
  const spent: Coin[] = []
  const conflicts = new Set<string>()
  for (const input of transaction.inputs) {
    const outpoint = outpointOf(input.txid, input.index)
    const coin = coins.get(outpoint) ?? unconfirmedCoin(mempool, input.txid, input.index, context.tipHeight)
    if (coin === null) {
      return { kind: 'refused', code: RPC_MISSING_INPUTS, reason: 'bad-txns-inputs-missingorspent' }
    }
    if (!coins.isMature(coin, context.tipHeight + 1)) return rejected('bad-txns-premature-spend-of-coinbase')
    spent.push(coin)
    const spender = mempool.spenderOf(outpoint)
    if (spender !== undefined) conflicts.add(spender)
  }
  const fee = sumOf(spent) - sumOf(transaction.outputs)
  if (fee < 0n) return rejected('bad-txns-in-belowout')
  if (fee < MIN_FEE_RATE * BigInt(transaction.vsize)) return rejected('min relay fee not met')
  const replacement = checkConflicts(transaction, fee, conflicts, mempool)
  if (replacement.kind === 'refused') return replacement
  for (const [index, coin] of spent.entries()) {
    const fault = verifyInput(transaction, index, coin)
    if (fault !== null) return rejected(fault)
  }
  return { kind: 'accepted', fee, replaces: replacement.replaces }
}

/** What is wrong with a transaction whatever it spends. */
function checkAlone(transaction: ChainTransaction, context: AcceptanceContext): Refusal | null {
  const { inputs, outputs } = transaction
  if (inputs.some((input) => input.txid === NO_TXID)) return rejected('coinbase')
  if (transaction.version < 1 || transaction.version > 3) return rejected('version')
  if (transaction.weight > MAX_TRANSACTION_WEIGHT) return rejected('tx-size')
  if (new Set(inputs.map((input) => outpointOf(input.txid, input.index))).size < inputs.length) {
    return rejected('bad-txns-inputs-duplicate')
  }
  if (sumOf(outputs) > context.maxMoney || outputs.some((output) => output.amount > context.maxMoney)) {
    return rejected('bad-txns-txouttotal-toolarge')
  }
  if (outputs.some((output) => isUnspendable(output.script) && output.amount > 0n))
    return rejected('scriptpubkey')
  if (!isFinal(transaction, context)) return rejected('non-final')
  if (hasRelativeLock(transaction)) return rejected('non-BIP68-final')
  return null
}

const NO_TXID = '0'.repeat(64)

function isFinal(transaction: ChainTransaction, context: AcceptanceContext): boolean {
  const { lockTime } = transaction
  const passed = lockTime < LOCK_TIME_IS_TIME_FROM ? context.tipHeight + 1 : context.medianTimeS
  return lockTime < passed || transaction.inputs.every((input) => input.sequence === SEQUENCE_FINAL)
}

/** Relative locks (BIP68) are refused, not weighed: no transaction of ours carries one. */
function hasRelativeLock(transaction: ChainTransaction): boolean {
  if (transaction.version < 2) return false
  return transaction.inputs.some(
    ({ sequence }) => sequence < SEQUENCE_NO_RELATIVE_LOCK && (sequence & SEQUENCE_LOCK_MASK) !== 0,
  )
}

function unconfirmedCoin(mempool: Mempool, txid: string, index: number, tipHeight: number): Coin | null {
  const output = mempool.get(txid)?.transaction.outputs[index]
  return output === undefined ? null : { ...output, height: tipHeight + 1, coinbase: false }
}

/** The rules of replacement (BIP125), and how long a line of unconfirmed transactions may become. */
function checkConflicts(
  transaction: ChainTransaction,
  fee: bigint,
  conflicts: ReadonlySet<string>,
  mempool: Mempool,
): { readonly kind: 'fine'; readonly replaces: readonly string[] } | Refusal {
  const replaced = new Set([...conflicts].flatMap((txid) => mempool.descendantsOf(txid)))
  const parents = new Set(transaction.inputs.map((input) => input.txid).filter((txid) => mempool.has(txid)))
  const ancestors = new Set([...parents].flatMap((txid) => mempool.ancestorsOf(txid)))
  if (ancestors.size >= MAX_ANCESTORS) return rejected('too-long-mempool-chain')
  if (conflicts.size === 0) {
    return mempool.size >= MAX_MEMPOOL_TRANSACTIONS
      ? rejected('mempool full')
      : { kind: 'fine', replaces: [] }
  }
  for (const txid of conflicts) {
    const signals = mempool.ancestorsOf(txid).some((one) => mempool.get(one)?.transaction.signalsReplacement)
    if (!signals) return rejected('txn-mempool-conflict')
  }
  if ([...ancestors].some((txid) => replaced.has(txid))) return rejected('bad-txns-spends-conflicting-tx')
  if (replaced.size > MAX_REPLACED) return rejected('too many potential replacements')
  const paidBefore = [...replaced].reduce((sum, txid) => sum + (mempool.get(txid)?.fee ?? 0n), 0n)
  const rateBefore = [...conflicts].some((txid) => {
    const entry = mempool.get(txid)
    return (
      entry !== undefined && fee * BigInt(entry.transaction.vsize) <= entry.fee * BigInt(transaction.vsize)
    )
  })
  if (rateBefore || fee < paidBefore + MIN_FEE_RATE * BigInt(transaction.vsize))
    return rejected('insufficient fee')
  return { kind: 'fine', replaces: [...conflicts] }
}

const sumOf = (values: readonly { readonly amount: bigint }[]): bigint =>
  values.reduce((sum, { amount }) => sum + amount, 0n)

const WITNESS_PUBKEY_HASH_BYTES = 22
const COMPRESSED_PUBKEY_BYTES = 33
const SIGHASH_ALL = 1

/**
 * Why an input may not spend its coin, or null where it may. The sandbox spends pay-to-witness-pubkey-hash
 * coins (BIP141) signed over everything (BIP143), which is what its wallet and our own signer make; any other
 * coin can be paid to and not spent.
 */
function verifyInput(transaction: ChainTransaction, index: number, coin: Coin): string | null {
  const { script } = coin
  if (script.length !== WITNESS_PUBKEY_HASH_BYTES || script[0] !== 0 || script[1] !== 20) {
    return 'non-mandatory-script-verify-flag (the sandbox spends only P2WPKH coins)'
  }
  if ((transaction.inputs[index]?.scriptSig.length ?? 0) > 0) {
    return 'mandatory-script-verify-flag-failed (Witness requires empty scriptSig)'
  }
  const [signature, publicKey, ...rest] = transaction.witnesses[index] ?? []
  if (signature === undefined || publicKey === undefined || rest.length > 0) {
    return 'mandatory-script-verify-flag-failed (Witness program was passed an empty witness)'
  }
  const keyHash = script.subarray(2)
  if (publicKey.length !== COMPRESSED_PUBKEY_BYTES || !hash160(publicKey).equals(keyHash)) {
    return 'mandatory-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation)'
  }
  if (signature.at(-1) !== SIGHASH_ALL) {
    return 'non-mandatory-script-verify-flag (Signature hash type missing or not understood)'
  }
  const digest = signedDigest(transaction, index, { keyHash, amount: coin.amount })
  return isSignature(signature.subarray(0, -1), digest, publicKey)
    ? null
    : 'mandatory-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)'
}

function hash160(bytes: Uint8Array): Buffer {
  return createHash('ripemd160').update(createHash('sha256').update(bytes).digest()).digest()
}

/** The digest of BIP143, with the script of pay-to-pubkey-hash standing for the witness program. */
function signedDigest(
  transaction: ChainTransaction,
  index: number,
  spent: { keyHash: Uint8Array; amount: bigint },
): Uint8Array {
  const scriptCode = Buffer.concat([Buffer.from('76a914', 'hex'), spent.keyHash, Buffer.from('88ac', 'hex')])
  const parsed = Transaction.fromRaw(transaction.bytes, {
    allowUnknownOutputs: true,
    allowUnknownInputs: true,
    allowUnknownVersion: true,
    disableScriptCheck: true,
  })
  return parsed.preimageWitnessV0(index, scriptCode, SIGHASH_ALL, spent.amount)
}

function isSignature(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
  let compact: Uint8Array
  try {
    // DER in its one strict form (BIP66).
    compact = secp256k1.Signature.fromBytes(signature, 'der').toBytes('compact')
    secp256k1.Point.fromBytes(publicKey)
  } catch {
    // Malformed signatures and keys do not verify: that is an answer, not a fault.
    return false
  }
  return secp256k1.verify(compact, digest, publicKey, { prehash: false, lowS: true })
}

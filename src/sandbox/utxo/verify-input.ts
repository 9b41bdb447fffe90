import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { Transaction } from '@scure/btc-signer'
import type { ChainTransaction } from './chain-transaction.ts'
import type { Coin } from './coins.ts'

const WITNESS_PUBKEY_HASH_BYTES = 22
const COMPRESSED_PUBKEY_BYTES = 33
const SIGHASH_ALL = 1

/**
 * Why an input may not spend its coin, or null where it may. The sandbox spends pay-to-witness-pubkey-hash
 * coins (BIP141) signed over everything (BIP143), which is what its wallet and our own signer make; any other
 * coin can be paid to and not spent.
 */
export function verifyInput(transaction: ChainTransaction, index: number, coin: Coin): string | null {
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

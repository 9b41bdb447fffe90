import type { HDKey } from '@scure/bip32'
import { p2wpkh, Transaction } from '@scure/btc-signer'

/** Signals that the transaction may be replaced by one with a higher fee (BIP125), without a relative lock (BIP68). */
const SEQUENCE_REPLACEABLE = 0xfffffffd

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
 * `account/1/index`. The amounts of the coins are signed too, so that a wrong one makes the transaction worth nothing.
 */
export function buildTransaction(
  account: HDKey,
  payment: {
    readonly coins: readonly KeyedCoin[]
    readonly script: Uint8Array
    readonly amount: bigint
    readonly change: { readonly amount: bigint; readonly index: number } | null
  },
): BuiltTransaction {
  const transaction = new Transaction({ allowUnknownOutputs: true })
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
      const { publicKey } = publicKeyAt(account, payment.change.index)
      transaction.addOutput({ script: p2wpkh(publicKey).script, amount: payment.change.amount })
    }
    for (const [position, key] of keys.entries()) transaction.signIdx(key.privateKey, position)
    transaction.finalize()
    return { txid: transaction.id, raw: Buffer.from(transaction.extract()) }
  } finally {
    for (const key of keys) key.privateKey.fill(0)
  }
}

function privateKeyAt(
  account: HDKey,
  chain: 0 | 1,
  index: number,
): { readonly privateKey: Uint8Array; readonly publicKey: Uint8Array } {
  const { privateKey, publicKey } = account.deriveChild(chain).deriveChild(index)
  if (privateKey === null || publicKey === null) throw new Error('an account has no private key')
  return { privateKey, publicKey }
}

function publicKeyAt(account: HDKey, index: number): { readonly publicKey: Uint8Array } {
  const { publicKey } = account.deriveChild(1).deriveChild(index)
  if (publicKey === null) throw new Error('an account has no public key')
  return { publicKey }
}

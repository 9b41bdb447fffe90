import { Address, OutScript, Transaction } from '@scure/btc-signer'
import type { SignedPayment, SignedTransaction } from '../controls.ts'
import type { ChainState } from './chain-state.ts'
import { outpointOf } from './chain-transaction.ts'

/** Base units. Well above the relay minimum for one input and two outputs; the second outbids the first. */
const PAYMENT_FEE = 1_000n
const REPLACEMENT_FEE = 5_000n
/** Signals that the transaction may be replaced (BIP125), without a relative lock (BIP68). */
const SEQUENCE_REPLACEABLE = 0xfffffffd
/** A payment that was signed and not sent gives its coin back after this long. */
const RESERVED_MS = 10 * 60 * 1000
/** Unconfirmed change is spent only this deep, so that no line of transactions reaches the mempool's limit. */
const MAX_UNCONFIRMED_ANCESTORS = 20

type SpendableCoin = { readonly txid: string; readonly index: number; readonly amount: bigint }

/** The sandbox's play money: one key, many coins. */
export class Wallet {
  private readonly state: ChainState
  private readonly script: Uint8Array
  /** Outpoints of coins in payments that are signed and not yet sent, with the time when that ends. */
  private readonly reserved = new Map<string, number>()

  constructor(state: ChainState) {
    this.state = state
    this.script = state.walletScript
  }

  /** Signs a payment and its replacement out of one coin, and sends neither. Null where no coin is large enough. */
  signPayment(
    payment: { readonly script: Uint8Array; readonly amount: bigint },
    nowMs: number,
  ): SignedPayment | null {
    const coin = this.findCoin(payment.amount + REPLACEMENT_FEE, nowMs)
    if (coin === null) return null
    this.reserved.set(outpointOf(coin.txid, coin.index), nowMs + RESERVED_MS)
    const change = { script: this.script, amount: coin.amount - payment.amount - PAYMENT_FEE }
    const signed = this.sign(coin, change.amount > 0n ? [payment, change] : [payment])
    const replacement = this.sign(coin, [{ script: this.script, amount: coin.amount - REPLACEMENT_FEE }])
    return { ...signed, replacement }
  }

  /** Confirmed coins first, then change that waits in the mempool and that nothing is about to take away. */
  private findCoin(atLeast: bigint, nowMs: number): SpendableCoin | null {
    this.forgetReservations(nowMs)
    const { coins, mempool } = this.state
    for (const outpoint of coins.walletOutpoints()) {
      const coin = coins.get(outpoint)
      if (coin === undefined || coin.amount < atLeast || !this.isFree(outpoint)) continue
      if (!coins.isMature(coin, this.state.index.tipHeight + 1)) continue
      const [txid = '', index] = outpoint.split(':')
      return { txid, index: Number(index), amount: coin.amount }
    }
    for (const { transaction } of mempool.all()) {
      const index = transaction.outputs.findIndex((output) => Buffer.from(this.script).equals(output.script))
      const amount = transaction.outputs[index]?.amount ?? 0n
      if (amount < atLeast || !this.isFree(outpointOf(transaction.txid, index))) continue
      const ancestors = mempool.ancestorsOf(transaction.txid)
      if (ancestors.length > MAX_UNCONFIRMED_ANCESTORS) continue
      if (ancestors.some((txid) => mempool.isHeld(txid))) continue
      return { txid: transaction.txid, index, amount }
    }
    return null
  }

  private forgetReservations(nowMs: number): void {
    // They stand in the order in which they end.
    for (const [outpoint, until] of this.reserved) {
      if (until > nowMs) return
      this.reserved.delete(outpoint)
    }
  }

  private isFree(outpoint: string): boolean {
    return !this.reserved.has(outpoint) && this.state.mempool.spenderOf(outpoint) === undefined
  }

  private sign(
    coin: SpendableCoin,
    outputs: readonly { script: Uint8Array; amount: bigint }[],
  ): SignedTransaction {
    const transaction = new Transaction({ allowUnknownOutputs: true })
    transaction.addInput({
      txid: coin.txid,
      index: coin.index,
      sequence: SEQUENCE_REPLACEABLE,
      witnessUtxo: { script: this.script, amount: coin.amount },
    })
    for (const output of outputs) transaction.addOutput(output)
    transaction.sign(this.state.walletKey)
    transaction.finalize()
    return { txid: transaction.id, hex: transaction.hex }
  }
}

/** The script of a segwit address of a chain with this human-readable part, or null where the text is none. */
export function scriptOfAddress(address: string, hrp: string): Uint8Array | null {
  try {
    // The other three describe base58 addresses, which the sandbox does not pay.
    const decoded = Address({ bech32: hrp, pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef }).decode(address)
    const script = OutScript.encode(decoded)
    return script[0] === 0 || (script[0] ?? 0) >= 0x51 ? script : null
  } catch {
    // The decoder throws on a wrong address; to the caller that is a result.
    return null
  }
}

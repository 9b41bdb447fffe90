import { isUnspendable } from './block.ts'
import { COINBASE_MATURITY } from './chain-parameters.ts'
import { type ChainTransaction, outpointOf } from './chain-transaction.ts'

/** An unspent output. */
export type Coin = {
  readonly amount: bigint
  readonly script: Uint8Array
  /** Height of the block that made it. */
  readonly height: number
  readonly coinbase: boolean
}

/** What a block did to the coins, so that it can be undone. */
export type BlockUndo = {
  readonly spent: readonly (readonly [outpoint: string, coin: Coin])[]
  readonly created: readonly string[]
}

/** The unspent outputs of the best chain, and which of them the sandbox wallet holds. */
export class Coins {
  private readonly coins = new Map<string, Coin>()
  private readonly walletScript: Buffer
  private readonly wallet = new Set<string>()

  constructor(walletScript: Uint8Array) {
    this.walletScript = Buffer.from(walletScript)
  }

  get size(): number {
    return this.coins.size
  }

  get(outpoint: string): Coin | undefined {
    return this.coins.get(outpoint)
  }

  /** Outpoints of the wallet's coins, oldest first. */
  walletOutpoints(): Iterable<string> {
    return this.wallet
  }

  /** Spends and makes what a block's transactions say. They are valid: a missing coin is a bug. */
  connect(transactions: readonly ChainTransaction[], height: number): BlockUndo {
    const spent: [string, Coin][] = []
    const created: string[] = []
    for (const [position, transaction] of transactions.entries()) {
      const coinbase = position === 0
      if (!coinbase)
        for (const input of transaction.inputs) spent.push(this.spend(outpointOf(input.txid, input.index)))
      for (const [index, output] of transaction.outputs.entries()) {
        if (isUnspendable(output.script)) continue
        const outpoint = outpointOf(transaction.txid, index)
        // The script is copied, so that a coin does not keep its whole block in memory.
        this.add(outpoint, {
          amount: output.amount,
          script: Uint8Array.from(output.script),
          height,
          coinbase,
        })
        created.push(outpoint)
      }
    }
    return { spent, created }
  }

  disconnect(undo: BlockUndo): void {
    // What the block both made and spent comes back first and goes last.
    for (const [outpoint, coin] of undo.spent) this.add(outpoint, coin)
    for (const outpoint of undo.created) {
      this.coins.delete(outpoint)
      this.wallet.delete(outpoint)
    }
  }

  /** Whether consensus lets a coin be spent in a block at `height`. */
  isMature(coin: Coin, height: number): boolean {
    return !coin.coinbase || height - coin.height >= COINBASE_MATURITY
  }

  private add(outpoint: string, coin: Coin): void {
    this.coins.set(outpoint, coin)
    if (this.walletScript.equals(coin.script)) this.wallet.add(outpoint)
  }

  private spend(outpoint: string): [string, Coin] {
    const coin = this.coins.get(outpoint)
    if (coin === undefined) throw new Error(`a block spends ${outpoint}, which is no coin`)
    this.coins.delete(outpoint)
    this.wallet.delete(outpoint)
    return [outpoint, coin]
  }
}

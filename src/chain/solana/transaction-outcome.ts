import { LRUCache } from 'lru-cache'
import type { SolanaRpc } from './solana-rpc.ts'

/** A signature has 64 bytes, a block's name 32: base58 has no more digits for those. */
const BLOCK_NAME_DIGITS_MAX = 44
/** A blockhash is good for so many blocks; some more for the lag between nodes. */
const LIFETIME_BLOCKS = 150 + 32
const REMEMBERED_MAX = 10_000

/**
 * The outcome of transactions whose block left the chain. Solana has no mempool to look into: one may come back
 * as long as its blockhash is good. It is dead once so many blocks are final that no blockhash of its time is, and
 * the node knows it in none. A durable nonce has no such end: what it brings back later is found in its block.
 */
export class TransactionOutcome {
  readonly #rpc: SolanaRpc
  /** Height of the final blocks when each was asked about first. */
  readonly #since = new LRUCache<string, number>({ max: REMEMBERED_MAX })

  constructor(rpc: SolanaRpc) {
    this.#rpc = rpc
  }

  async of(names: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
    const isBlock = (name: string) => name.length <= BLOCK_NAME_DIGITS_MAX
    // What a block gave outside of its transactions is gone with it.
    const outcomes = new Map<string, 'alive' | 'dead'>(names.filter(isBlock).map((name) => [name, 'dead']))
    const txids = names.filter((name) => !isBlock(name))
    if (txids.length === 0) return outcomes
    const height = await this.#rpc.blockHeight('finalized')
    const known = await this.#rpc.statuses(txids)
    for (const txid of txids) {
      const since = this.#since.get(txid) ?? height
      this.#since.set(txid, since)
      const isDead = !known.has(txid) && height - since > LIFETIME_BLOCKS
      outcomes.set(txid, isDead ? 'dead' : 'alive')
    }
    return outcomes
  }
}

import type { SolanaRpc } from './solana-rpc.ts'

/** A blockhash is good for so many blocks; some more for the lag between nodes. */
const LIFETIME_BLOCKS = 150 + 32
const REMEMBERED_MAX = 10_000

/**
 * What has become of transactions whose block left the chain. Solana has no mempool to look into: one may come back
 * as long as its blockhash is good. It is dead once so many blocks are final that no blockhash of its time is, and
 * the node knows it in none. A durable nonce has no such end: what it brings back later is found in its block.
 */
export class TransactionOutcome {
  readonly #rpc: SolanaRpc
  /** Height of the final blocks when each was asked about first. */
  readonly #since = new Map<string, number>()

  constructor(rpc: SolanaRpc) {
    this.#rpc = rpc
  }

  async of(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
    const fates = new Map<string, 'alive' | 'dead'>()
    if (txids.length === 0) return fates
    const height = await this.#rpc.blockHeight('finalized')
    const known = await this.#rpc.known(txids)
    for (const txid of txids) {
      const since = this.#since.get(txid) ?? height
      this.#since.set(txid, since)
      const isDead = !known.has(txid) && height - since > LIFETIME_BLOCKS
      fates.set(txid, isDead ? 'dead' : 'alive')
    }
    while (this.#since.size > REMEMBERED_MAX) {
      for (const oldest of this.#since.keys()) {
        this.#since.delete(oldest)
        break
      }
    }
    return fates
  }
}

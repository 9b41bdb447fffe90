import { z } from 'zod'
import { REORG_DEPTH_MAX } from '../../core/chain/utxo-parameters.ts'
import { ChainUnavailable } from '../adapter.ts'
import { chainTipsSchema, hashSchema, parseHex } from './node-answers.ts'
import { isPruned, type RpcClient, RpcError } from './rpc-client.ts'
import { type ReadTransaction, readTransaction } from './spent-outputs.ts'

const blockSchema = z.object({ tx: z.array(hashSchema), previousblockhash: hashSchema.optional() })

/** Branches looked into for one transaction, the highest first; a node on a public network has a few in a year. */
const BRANCHES_MAX = 20
/** Transactions of one branch that spend one another, looked at for one of them. */
const ANCESTORS_MAX = 200

/** A transaction of a branch that the node has left. */
export type StaleTransaction = ReadTransaction & { readonly raw: Buffer; readonly forkHeight: number }

/**
 * The blocks that a node was on and has left. It keeps them, and they alone show, without an index of all transactions, what a
 * transaction spends that a reorganisation took off the chain. A branch with a block that the node finds invalid proves
 * nothing: what such a block spends need never have existed.
 */
export class StaleBranches {
  readonly #rpc: RpcClient

  constructor(rpc: RpcClient) {
    this.#rpc = rpc
  }

  /**
   * A transaction of such a block, the last of the list, and before it those of the same branch whose outputs it spends:
   * whatever else these spend was made at or below the fork. Null where no branch that reaches `fromHeight` has it.
   */
  async find(txid: string, fromHeight: number): Promise<readonly StaleTransaction[] | null> {
    const tips = (await this.#rpc.call('getchaintips', [], chainTipsSchema))
      .filter(({ status }) => status === 'valid-fork')
      .filter(({ height, branchlen }) => height >= fromHeight && branchlen <= REORG_DEPTH_MAX)
      .sort((a, b) => b.height - a.height)
    for (const { hash, height, branchlen } of tips.slice(0, BRANCHES_MAX)) {
      const blockOf = await this.#branch(hash, branchlen)
      if (blockOf?.has(txid)) return this.#withAncestors(txid, blockOf, height - branchlen)
    }
    return null
  }

  /** In which block of a branch each of its transactions is; null where the node has thrown one away. */
  async #branch(tip: string, length: number): Promise<ReadonlyMap<string, string> | null> {
    const blockOf = new Map<string, string>()
    let hash: string | undefined = tip
    for (let count = 0; count < length && hash !== undefined; count++) {
      const block: z.infer<typeof blockSchema> | null = await this.#block(hash)
      if (block === null) return null
      for (const txid of block.tx) blockOf.set(txid, hash)
      hash = block.previousblockhash
    }
    return blockOf
  }

  async #block(hash: string) {
    try {
      return await this.#rpc.call('getblock', [hash, 1], blockSchema)
    } catch (error) {
      if (error instanceof RpcError && isPruned(error)) return null
      throw error
    }
  }

  async #withAncestors(
    txid: string,
    blockOf: ReadonlyMap<string, string>,
    forkHeight: number,
  ): Promise<readonly StaleTransaction[] | null> {
    const read = new Map<string, StaleTransaction>()
    const open = [txid]
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const block = blockOf.get(next)
      if (block === undefined || read.has(next)) continue
      if (read.size === ANCESTORS_MAX) return null
      const transaction = { ...(await this.#transaction(next, block)), forkHeight }
      read.set(next, transaction)
      // What is of its block alone is lost with it, whatever it spends.
      if (!transaction.isOfItsBlock) open.push(...transaction.spends.map((spent) => spent.txid))
    }
    return inOrder(txid, read)
  }

  async #transaction(txid: string, block: string): Promise<ReadTransaction & { readonly raw: Buffer }> {
    const raw = parseHex(await this.#rpc.callRaw('getrawtransaction', [txid, false, block]))
    const read = raw === null ? null : readTransaction(raw)
    if (raw === null || read?.txid !== txid)
      throw new ChainUnavailable(`asked for transaction ${txid}, the node gave another`)
    return { ...read, raw }
  }
}

/** What is spent comes before what spends it. */
function inOrder(last: string, read: ReadonlyMap<string, StaleTransaction>): readonly StaleTransaction[] {
  const ordered = new Set<StaleTransaction>()
  const place = (txid: string): void => {
    const transaction = read.get(txid)
    if (transaction === undefined || ordered.has(transaction)) return
    if (!transaction.isOfItsBlock) for (const spent of transaction.spends) place(spent.txid)
    ordered.add(transaction)
  }
  place(last)
  return [...ordered]
}

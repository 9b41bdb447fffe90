import { LRUCache } from 'lru-cache'
import { ChainUnavailable } from '../adapter.ts'
import type { EvmHeader, EvmReceipt } from './evm-answers.ts'
import { areReceiptsOf, type EvmNode, type WithTransactions } from './evm-node.ts'
import { receiptsRootOf } from './receipts-root.ts'

/** Blocks whose receipts are kept until they are proved: what is final soon is asked for once. */
const BLOCKS_KEPT = 8
/** Characters of all of them, about; the receipts of a block that has more are asked for again. */
const CHARS_KEPT = 16_000_000
const RECEIPT_CHARS = 1_000
/** Without its data, which may be of any length. */
const LOG_CHARS = 500

/** A node's receipts of whole blocks. */
export class BlockReceipts {
  readonly #node: EvmNode
  /** By the block's hash. */
  readonly #kept = new LRUCache<string, readonly EvmReceipt[]>({
    max: BLOCKS_KEPT,
    maxSize: CHARS_KEPT,
    sizeCalculation: charsOf,
  })

  constructor(node: EvmNode) {
    this.#node = node
  }

  /** One for each transaction, in order, as the node reports them: not proved. */
  async of(block: WithTransactions): Promise<readonly EvmReceipt[]> {
    // An empty block costs no call.
    if (block.transactions.length === 0) return []
    const kept = this.#kept.get(block.hash)
    if (kept !== undefined && areReceiptsOf(block, kept)) return kept
    const receipts = await this.#node.receiptsOf(block)
    this.#kept.set(block.hash, receipts)
    return receipts
  }

  /** The same, proved by the root in the block's header: all of them and unchanged, whoever handed them over. */
  async proven(header: EvmHeader): Promise<readonly EvmReceipt[]> {
    const receipts = await this.of(header)
    // Whether they are proved or not, nobody needs them again.
    this.#kept.delete(header.hash)
    if (receiptsRootOf(receipts) === header.receiptsRoot) return receipts
    throw new ChainUnavailable(
      `the node at ${this.#node.rpc.where} gave receipts of block ${header.number} that do not have the root in its header`,
    )
  }
}

function charsOf(receipts: readonly EvmReceipt[]): number {
  let chars = 0
  for (const { logs } of receipts) {
    chars += RECEIPT_CHARS
    for (const { data } of logs) chars += LOG_CHARS + data.length
  }
  return chars
}

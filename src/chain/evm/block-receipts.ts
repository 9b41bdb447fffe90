import { LRUCache } from 'lru-cache'
import { ChainUnavailable } from '../adapter.ts'
import type { EvmHeader, EvmReceipt } from './evm-answers.ts'
import { areReceiptsOf, type EvmNode, type WithTransactions } from './evm-node.ts'
import { receiptsRootOf } from './receipts-root.ts'

/** Blocks whose receipts are kept until they are proved: what is final soon is asked for once. */
const BLOCKS_KEPT = 8
/** Letters of all of them, about; the receipts of a block that is longer are asked for again. */
const LETTERS_KEPT = 16_000_000
const RECEIPT_LETTERS = 1_000
/** Its data left out, which may be of any length. */
const LOG_LETTERS = 500

/** A node's receipts of whole blocks. */
export class BlockReceipts {
  readonly #node: EvmNode
  /** By the block's hash. */
  readonly #kept = new LRUCache<string, readonly EvmReceipt[]>({
    max: BLOCKS_KEPT,
    maxSize: LETTERS_KEPT,
    sizeCalculation: lettersOf,
  })

  constructor(node: EvmNode) {
    this.#node = node
  }

  /** One for each transaction, in order, by the node's word. */
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

function lettersOf(receipts: readonly EvmReceipt[]): number {
  let letters = 0
  for (const { logs } of receipts) {
    letters += RECEIPT_LETTERS
    for (const { data } of logs) letters += LOG_LETTERS + data.length
  }
  return letters
}

import type { ChainUnavailable } from '../adapter.ts'
import type { EvmHeader, EvmTraces } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'
import { isTooMuch } from './evm-rpc.ts'

/** A node that is slow for one block is slow for its neighbours: each try costs the whole wait. */
const REST_MS = 60_000

/** A node's traces of whole blocks, left alone for a while after one was too much for it. */
export class BlockTraces {
  readonly #node: EvmNode
  readonly #others: BlockTraces | null
  #rest: { readonly untilMs: number; readonly notice: string } | null = null

  /** `others`: traces of the same node's, whose rests count here too, and never the other way. */
  constructor(node: EvmNode, others: BlockTraces | null = null) {
    this.#node = node
    this.#others = others
  }

  /** What is read meanwhile, and what may be missed; null while blocks are traced. */
  get notice(): string | null {
    return this.#rest?.notice ?? null
  }

  /** One for each transaction, in order; null where the block must be read without them. */
  async of(header: EvmHeader): Promise<EvmTraces | null> {
    // An empty block costs no call.
    if (header.transactions.length === 0) return []
    if (this.isResting) return null
    try {
      const traces = await this.#node.tracesOf(header)
      this.#rest = null
      return traces
    } catch (error) {
      if (!isTooMuch(error)) throw error
      this.#leave(header, error)
      return null
    }
  }

  get isResting(): boolean {
    const isOwn = this.#rest !== null && performance.now() < this.#rest.untilMs
    return isOwn || this.#others?.isResting === true
  }

  #leave({ number }: EvmHeader, error: ChainUnavailable): void {
    const notice = `block ${number} was too much to trace (${error.message}): coin is found by the balances of open checkouts instead, and what contracts paid to closed ones by paylink rescan`
    this.#rest = { untilMs: performance.now() + REST_MS, notice }
  }
}

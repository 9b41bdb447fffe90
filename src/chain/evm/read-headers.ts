import { LRUCache } from 'lru-cache'
import type { EvmBlock, EvmHeader } from './evm-answers.ts'

/** Transactions of all of them, about: some megabytes. */
const TRANSACTIONS_KEPT = 100_000
/** What a header has beside the ids of its transactions, counted as so many of them. */
const HEADER_SIZE = 20

/** The headers that a walk read last: who reads the same blocks a second time need not ask for them again. */
export class ReadHeaders {
  readonly #byParent = new LRUCache<string, EvmHeader>({
    maxSize: TRANSACTIONS_KEPT,
    sizeCalculation: ({ transactions }) => HEADER_SIZE + transactions.length,
  })

  keep(headers: readonly (EvmHeader | EvmBlock)[]): void {
    for (const header of headers) this.#byParent.set(header.parentHash, withoutSent(header))
  }

  /** Those that follow this block up to a height, in order: fewer where they are not kept. */
  above({ height, hash }: { readonly height: number; readonly hash: string }, toHeight: number): EvmHeader[] {
    const headers: EvmHeader[] = []
    let next = this.#byParent.get(hash)
    while (next !== undefined && next.number <= toHeight && next.number === height + headers.length + 1) {
      headers.push(next)
      next = this.#byParent.get(next.hash)
    }
    return headers
  }
}

function withoutSent(header: EvmHeader | EvmBlock): EvmHeader {
  if (!('sent' in header)) return header
  const { sent: _sent, ...rest } = header
  return rest
}

import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ChainUnavailable, type MempoolReading, type MempoolTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { withAsset } from './block-source.ts'
import { type EsploraInput, esploraTransactionsSchema } from './esplora-answers.ts'
import type { EsploraChain } from './esplora-chain.ts'
import type { EsploraClient } from './esplora-client.ts'
import { toDisplayHex } from './hashes.ts'
import { RAW_CHARACTERS_MAX } from './mempool.ts'
import { type ScannedOutput, scanTransaction } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** Addresses asked about at a time. */
const ADDRESSES_IN_FLIGHT = 4
/** Matched transactions whose inputs we keep, to ask for their outcome later. */
const MATCHED_MAX = 50_000

type MatchedTransaction = {
  readonly inputs: readonly EsploraInput[]
  readonly outputs: readonly ScannedOutput[]
  readonly firstSeenMs: number
}

/**
 * The mempool of an Esplora server, as far as it concerns open checkouts: one call for each of their addresses,
 * and one more for each transaction that is new. The server's whole mempool is never read.
 */
export class EsploraMempool {
  readonly #client: EsploraClient
  readonly #chain: EsploraChain
  readonly #watched: AddressSet
  readonly #asset: 'BTC' | 'LTC'
  readonly #clock: Clock
  readonly #openAddresses: (() => Promise<readonly Uint8Array[]>) | null
  readonly #matched = new LRUCache<string, MatchedTransaction>(entriesUpTo(MATCHED_MAX))
  readonly #raws = new LRUCache<string, string>({
    maxSize: RAW_CHARACTERS_MAX,
    sizeCalculation: (raw) => raw.length,
  })

  constructor(parts: {
    client: EsploraClient
    chain: EsploraChain
    watched: AddressSet
    asset: 'BTC' | 'LTC'
    clock: Clock
    /** Addresses that somebody may pay now; null: payments are first seen in blocks. */
    openAddresses: (() => Promise<readonly Uint8Array[]>) | null
  }) {
    this.#client = parts.client
    this.#chain = parts.chain
    this.#watched = parts.watched
    this.#asset = parts.asset
    this.#clock = parts.clock
    this.#openAddresses = parts.openAddresses
  }

  /** See `ChainAdapter.readMempool`. */
  async read(): Promise<MempoolReading | null> {
    const readAtMs = this.#clock().getTime()
    const before = await this.#chain.bestHash()
    const addresses = this.#openAddresses === null ? [] : await this.#openAddresses()
    const found = new Map<string, readonly MempoolTransfer[]>()
    await concurrently(addresses, ADDRESSES_IN_FLIGHT, async (addressBytes) => {
      for (const txid of await this.#unconfirmedOf(addressBytes)) found.set(txid, this.#transfersOf(txid))
    })
    const tip = await this.#chain.reference(before)
    if ((await this.#chain.bestHash()) !== before) return null
    return { tip, readAtMs, transfers: [...found.values()].flat() }
  }

  /** What we kept of a transaction that paid us from the mempool; null where we have nothing. */
  matched(txid: string): { readonly raw: string; readonly inputs: readonly EsploraInput[] } | null {
    const raw = this.#raws.get(txid)
    const inputs = this.#matched.get(txid)?.inputs
    return raw === undefined || inputs === undefined ? null : { raw, inputs }
  }

  /** Ids of the unconfirmed transactions that pay an address; those that are new are fetched and scanned. */
  async #unconfirmedOf(addressBytes: Uint8Array): Promise<string[]> {
    // The server lists 50 at most; more unconfirmed payments at one address are seen in blocks.
    const path = `/scripthash/${scriptHashOf(addressBytes)}/txs/mempool`
    const listed = await this.#client.json(path, esploraTransactionsSchema)
    if (listed === null) throw this.#client.missing(path)
    const paying: string[] = []
    for (const { txid, vin } of listed) {
      if (this.#matched.has(txid) || (await this.#fetch(txid, vin))) paying.push(txid)
    }
    return paying
  }

  /** True where the transaction is there and pays us; it may have left, or only spend from us. */
  async #fetch(txid: string, inputs: readonly EsploraInput[]): Promise<boolean> {
    const raw = await this.#client.bytes(`/tx/${txid}/raw`)
    if (raw === null) return false
    const outputs = this.#scan(txid, raw)
    if (outputs === null) return false
    this.#matched.set(txid, { inputs, outputs, firstSeenMs: this.#clock().getTime() })
    this.#raws.set(txid, raw.toString('hex'))
    return true
  }

  #scan(txid: string, raw: Buffer): readonly ScannedOutput[] | null {
    try {
      const scanned = scanTransaction(raw, this.#watched)
      if (scanned === null || scanned.txid === txid) return scanned?.outputs ?? null
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      throw new ChainUnavailable(`the Esplora server sent transaction ${txid} damaged: ${error.message}`, {
        cause: error,
      })
    }
    throw new ChainUnavailable(`asked for transaction ${txid}, the Esplora server gave another`)
  }

  #transfersOf(txid: string): MempoolTransfer[] {
    const match = this.#matched.get(txid)
    if (match === undefined) return []
    const { outputs, firstSeenMs } = match
    return outputs.map((output) => ({ ...withAsset(output, this.#asset), firstSeenMs }))
  }
}

/** SHA-256 of the output script of a witness program of version 0, shown as Electrum and Esplora show it: reversed. */
function scriptHashOf(addressBytes: Uint8Array): string {
  const script = Buffer.concat([Buffer.from([0x00, addressBytes.length]), addressBytes])
  return toDisplayHex(hash('sha256', script, 'buffer'))
}

import { LRUCache } from 'lru-cache'
import type { BlockRef } from '../../core/invoice/types.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ChainSyncing, ChainUnavailable, type MempoolReading, type MempoolTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { withAsset } from './block-source.ts'
import { mempoolEntrySchema, mempoolSchema, parseHex, parseTxids } from './node-answers.ts'
import { type NodeChain, syncingReason } from './node-chain.ts'
import { RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'
import { type ScannedOutput, scanTransaction } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** Raw transactions asked for at a time. */
const TRANSACTIONS_IN_FLIGHT = 8
/** Matched transactions that are remembered. */
const MATCHED_MAX = 50_000
/** Their bytes, in hex, by which the node can be asked for their outcome: one alone can have 200,000 characters. */
export const RAW_CHARACTERS_MAX = 64 * 1024 * 1024
/** Forgotten ids are thrown out when this many more are remembered than the mempool holds. */
const SEEN_SLACK = 20_000

type MatchedTransaction = {
  readonly outputs: readonly ScannedOutput[]
  readonly firstSeenMs: number
}

/**
 * The node's mempool, matched. Each transaction is fetched once, when it first appears, and only its id is
 * remembered unless it pays us. An address is watched before it is handed out, so a transaction that did not
 * pay us when it was first read never will.
 */
export class MempoolReader {
  readonly #rpc: RpcClient
  readonly #node: NodeChain
  readonly #watched: AddressSet
  readonly #asset: 'BTC' | 'LTC'
  readonly #clock: Clock
  #seen = new Set<string>()
  /** When the last reading began of those on which `#seen` rests; null before the first. */
  #seenAtMs: number | null = null
  readonly #matched = new LRUCache<string, MatchedTransaction>({
    ...entriesUpTo(MATCHED_MAX),
    // Fetched again should it still be there.
    dispose: (_match, txid, reason) => {
      if (reason === 'evict') this.#seen.delete(txid)
    },
  })
  readonly #raws = new LRUCache<string, string>({
    maxSize: RAW_CHARACTERS_MAX,
    sizeCalculation: (raw) => raw.length,
  })

  constructor(parts: {
    rpc: RpcClient
    node: NodeChain
    watched: AddressSet
    asset: 'BTC' | 'LTC'
    clock: Clock
  }) {
    this.#rpc = parts.rpc
    this.#node = parts.node
    this.#watched = parts.watched
    this.#asset = parts.asset
    this.#clock = parts.clock
  }

  /** See `ChainAdapter.readMempool`. A node that is still loading or syncing proves nothing: `ChainSyncing`. */
  async read(isolated: boolean): Promise<MempoolReading | null> {
    const readAtMs = this.#clock().getTime()
    const before = await this.#node.state()
    const syncing = syncingReason(before, isolated)
    if (syncing !== null) throw new ChainSyncing(syncing)
    const { loaded } = await this.#rpc.call('getmempoolinfo', [], mempoolSchema)
    if (loaded === false) throw new ChainSyncing('the node is loading its mempool')

    const txids = parseTxids(await this.#rpc.callRaw('getrawmempool', [false]))
    if (txids === null) throw new ChainUnavailable('the node lists its mempool in a form that is not known')
    await this.#fetchNew(txids)
    this.#seenAtMs = readAtMs
    const transfers = this.#transfersOf(txids)

    const tip: BlockRef = await this.#node.reference(before.bestblockhash)
    const tipMoved = (await this.#node.bestHash()) !== before.bestblockhash
    return tipMoved ? null : { tip, readAtMs, transfers }
  }

  /** The bytes, in hex, of a transaction that paid us from the mempool; null where we have none. */
  rawOf(txid: string): string | null {
    return this.#raws.get(txid) ?? null
  }

  /** Called when another node answers, or the same one after a reconnect: earlier observations prove nothing. */
  forgetSeen(): void {
    this.#seen = new Set()
    this.#seenAtMs = null
  }

  async #fetchNew(txids: readonly string[]): Promise<void> {
    const fresh = txids.filter((txid) => !this.#seen.has(txid))
    if (this.#seen.size > txids.length + SEEN_SLACK) {
      const current = new Set(txids)
      this.#seen = new Set([...this.#seen].filter((txid) => current.has(txid)))
    }
    await concurrently(fresh, TRANSACTIONS_IN_FLIGHT, (txid) => this.#fetch(txid))
  }

  async #fetch(txid: string): Promise<void> {
    const raw = await this.#rawTransaction(txid)
    // It has left the mempool meanwhile: into a block, or for good. The walk over the chain shows which.
    if (raw === null) return
    const match = this.#scan(txid, raw)
    if (match !== null) {
      const firstSeenMs = await this.#firstSeenMs(txid)
      this.#matched.set(txid, { outputs: match, firstSeenMs })
      this.#raws.set(txid, raw.toString('hex'))
    }
    this.#seen.add(txid)
  }

  #scan(txid: string, raw: Buffer): readonly ScannedOutput[] | null {
    try {
      const scanned = scanTransaction(raw, this.#watched)
      if (scanned === null) return null
      if (scanned.txid === txid) return scanned.outputs
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      throw new ChainUnavailable(`the node sent transaction ${txid} damaged: ${error.message}`, {
        cause: error,
      })
    }
    throw new ChainUnavailable(`asked for transaction ${txid}, the node gave another`)
  }

  async #rawTransaction(txid: string): Promise<Buffer | null> {
    try {
      const raw = parseHex(await this.#rpc.callRaw('getrawtransaction', [txid, false]))
      if (raw === null)
        throw new ChainUnavailable(`the node sent transaction ${txid} in a form that is not known`)
      return raw
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.notFound) return null
      throw error
    }
  }

  /**
   * The earlier of the node's sighting and ours. The node did not have it at our last reading, so that it cannot have seen it
   * before, whatever its clock says.
   */
  async #firstSeenMs(txid: string): Promise<number> {
    const nowMs = this.#clock().getTime()
    try {
      const entry = await this.#rpc.call('getmempoolentry', [txid], mempoolEntrySchema)
      return Math.min(nowMs, Math.max(entry.time * 1000, this.#seenAtMs ?? 0))
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.notFound) return nowMs
      throw error
    }
  }

  #transfersOf(txids: readonly string[]): MempoolTransfer[] {
    if (this.#matched.size === 0) return []
    return txids.flatMap((txid) => {
      const match = this.#matched.get(txid)
      if (match === undefined) return []
      return match.outputs.map((output) => ({
        ...withAsset(output, this.#asset),
        firstSeenMs: match.firstSeenMs,
      }))
    })
  }
}

import { ASSETS, type Network, nativeAssetOf } from '../../core/assets.ts'
import { type EvmChain, evmNetworkOf } from '../../core/chain/evm-networks.ts'
import {
  type EvmParameters,
  type EvmToken,
  evmParametersOf,
  evmTokensOf,
  expectedChain,
  type TokenContracts,
} from '../../core/chain/evm-parameters.ts'
import { type PrivateChain, realmOf } from '../../core/chain/realm.ts'
import type { BlockTags } from '../../core/finality.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  type BlockHistory,
  ChainHalted,
  type ChainProvider,
  ChainUnavailable,
  type ChainUpdate,
  type CreditCheck,
  type MempoolReading,
  type NetworkHealth,
  type ScannedBlock,
  type TokenReader,
} from '../adapter.ts'
import { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { requireFreshHead } from '../require-fresh-head.ts'
import { BlockReader, type NativeMode, type OpenAddresses } from './block-reader.ts'
import { BlockTraces } from './block-traces.ts'
import type { EvmHeader } from './evm-answers.ts'
import { EvmCreditCheck } from './evm-credit-check.ts'
import { EvmNode, referenceOf } from './evm-node.ts'
import { EvmWalk } from './evm-walk.ts'
import { EvmTokenReader } from './token-reader.ts'

/** Block tags move once in minutes, and what waits for them has waited that long. */
const TAGS_AGE_MS = 6_000
/** The first block after genesis distinguishes private chains. */
const FIRST_HEIGHT = 1
const HEADERS_IN_FLIGHT = 8

export type EvmAdapterOptions = {
  readonly chain: EvmChain
  readonly livemode: boolean
  /** Present where the network is on a private chain in the place of live money's. */
  readonly privateChain?: PrivateChain | null
  readonly url: string
  /** The name under which the operator configured `url`, for messages that name the fix. */
  readonly setting: string
  readonly clock: Clock
  /** Shared with the chain's other providers; absent: the adapter's own. */
  readonly watched?: AddressSet
  /** Addresses of open checkouts, for nodes that do not trace; absent: none. */
  readonly openAddresses?: OpenAddresses
  /** A private or test network's own contracts in the place of the issuers'. */
  readonly tokenContracts?: TokenContracts
  /** Overrides what the node turns out to be able to do. */
  readonly nativeMode?: NativeMode
  readonly probeIntervalMs?: number
  /** How long one answer may take. */
  readonly answerMsMax?: number
}

/**
 * Ethereum and chains like it, through one node's JSON-RPC. Calls used: eth_chainId, eth_syncing, eth_blockNumber,
 * eth_getBlockByNumber, eth_getBlockByHash, eth_getLogs, eth_getBlockReceipts, eth_call, and debug_traceBlockByHash where
 * the node has it. Payments are seen in blocks and not before: hardly any node lists its whole mempool.
 */
export class EvmAdapter implements ChainProvider, BlockHistory {
  readonly network: Network
  readonly watched: AddressSet
  readonly tokens: TokenReader
  readonly credits: CreditCheck
  readonly #options: EvmAdapterOptions
  readonly #tokens: readonly EvmToken[]
  readonly #node: EvmNode
  readonly #traces: BlockTraces
  readonly #reader: BlockReader
  readonly #walk: EvmWalk
  #parameters: EvmParameters | null = null
  #mode: NativeMode | null
  /** Blocks in one step: halved while a provider refuses so many calls at once. */
  #stepBlocks = Number.POSITIVE_INFINITY
  /** The latest tip on our chain. */
  #tip: BlockRef | null = null
  /** As read last, while no block of ours has left the chain since. */
  #blockTags: { readonly heights: BlockTags; readonly readAtMs: number } | null = null

  constructor(options: EvmAdapterOptions) {
    const { chain, livemode, url, setting, tokenContracts = {}, openAddresses = async () => [] } = options
    this.#options = options
    this.network = `${chain}-${livemode ? 'live' : 'test'}`
    this.watched = options.watched ?? new AddressSet()
    this.#tokens = evmTokensOf(this.network, realmOf(options), tokenContracts)
    this.#node = new EvmNode(url, setting, options.answerMsMax)
    this.#traces = new BlockTraces(this.#node)
    this.#mode = options.nativeMode ?? null
    const asset = nativeAssetOf(chain)
    const parts = { node: this.#node, traces: this.#traces, watched: this.watched }
    this.#reader = new BlockReader({ ...parts, tokens: this.#tokens, asset, openAddresses })
    const { reorgDepthMax } = evmNetworkOf(chain)
    this.#walk = new EvmWalk(this.#node, reorgDepthMax, {
      readsWhole: (count) => this.#reader.readsWhole(count, this.#requireMode()),
      leavesWhole: (error) => this.#reader.leavesWhole(error, this.#requireMode()),
      read: (headers) => this.#reader.read(headers, this.#requireMode()),
    })
    const modeOf = (header: EvmHeader) => this.#modeAt(header)
    // What an old block is refused must not leave new ones untraced.
    const traces = new BlockTraces(this.#node, this.#traces)
    const reader = new BlockReader({ ...parts, traces, tokens: [], asset, openAddresses })
    this.credits = new EvmCreditCheck({ node: this.#node, traces, asset, modeOf, reader })
    this.tokens = new EvmTokenReader({
      ...parts,
      tokens: this.#tokens,
      reader: this.#reader,
      headers: this.#walk.headers,
    })
  }

  /** How native coin is found on this node; null before that was determined. */
  get nativeMode(): NativeMode | null {
    return this.#mode
  }

  get notice(): string | null {
    return this.#traces.notice
  }

  async connect(): Promise<{ parameters: string; health: NetworkHealth }> {
    const parameters = await this.#readParameters()
    if (!(await this.#node.isSynced())) {
      const reason = `the node at ${this.#node.rpc.where} is syncing: wait until it has come to the tip`
      return { parameters: parameters.name, health: { status: 'syncing', reason } }
    }
    // A private chain has no issuer's contract, and need not have another.
    const own = this.#options.tokenContracts ?? {}
    const isThere = ({ asset }: EvmToken) => !parameters.isolated || own[ASSETS[asset].symbol] !== undefined
    for (const token of this.#tokens.filter(isThere)) await this.#requireToken(token)
    const tip = await this.#walk.tip()
    await this.#modeAt(tip)
    this.#parameters = parameters
    this.#blockTags = null
    return { parameters: parameters.name, health: { status: 'ok' } }
  }

  async parameters(): Promise<string> {
    return (await this.#readParameters()).name
  }

  async identity(): Promise<string | null> {
    const parameters = this.#parameters
    if (parameters === null)
      throw new Error('the chain was asked for its identity before the node was connected')
    return parameters.isolated ? this.hashAt(FIRST_HEIGHT) : parameters.name
  }

  async tip(): Promise<BlockRef> {
    return referenceOf(await this.#walk.tip())
  }

  async hashAt(height: number): Promise<string | null> {
    return (await this.#node.headerAt(height))?.hash ?? null
  }

  rememberedAt(checkpoint: BlockRef, height: number): string | null {
    return this.#walk.rememberedAt(checkpoint, height)
  }

  async isOnChain({ height, hash }: { readonly height: number; readonly hash: string }): Promise<boolean> {
    return (await this.hashAt(height)) === hash
  }

  /** Tokens by proven receipts: a rescan looks for what an answer left out. */
  async readFrom(height: number, count: number): Promise<ScannedBlock[]> {
    const heights = Array.from({ length: count }, (_, index) => height + index)
    const reported = await concurrently(heights, HEADERS_IN_FLIGHT, (at) => this.#node.headerAt(at))
    const headers = reported.flatMap((header) => header ?? [])
    if (headers.length < count)
      throw new ChainUnavailable(`${this.#node.rpc.where} does not have block ${height + count - 1}`)
    return this.#reader.readProven(headers, this.#requireMode())
  }

  async knows({ hash }: { readonly hash: string }): Promise<boolean> {
    return (await this.#node.headerOf(hash)) !== null
  }

  async nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    this.#stepBlocks = Math.min(maxBlocks, this.#stepBlocks)
    let update: ChainUpdate | null
    try {
      update = await this.#walk.next(checkpoint, this.#stepBlocks)
    } catch (error) {
      if (error instanceof ChainUnavailable) this.#stepBlocks = Math.max(1, this.#stepBlocks >>> 1)
      throw error
    }
    this.#stepBlocks = Math.min(maxBlocks, this.#stepBlocks * 2)
    this.#tip = update === null ? checkpoint : update.tip
    if (update !== null && update.ancestor.hash !== checkpoint.hash) this.#blockTags = null
    return update
  }

  /** Pending transactions are not reported: a payment counts from its block. */
  async readMempool(): Promise<MempoolReading | null> {
    const tip = this.#tip ?? (await this.tip())
    const readAtMs = this.#options.clock().getTime()
    const headAgeMsMax = this.#parameters?.headAgeMsMax ?? null
    requireFreshHead(tip, headAgeMsMax, { nowMs: readAtMs, setting: this.#options.setting })
    return { tip, readAtMs, transfers: [] }
  }

  /**
   * What left the chain and waits for another block is alive; of the rest nobody can say that it comes back. What stands in a
   * block above those that were read, or in another one in the place of one of them, is read with that block.
   */
  async outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'> | null> {
    const outcomes = new Map<string, 'alive' | 'dead'>()
    for (const txid of txids) {
      const place = await this.#node.placeOf(txid)
      const isUnread = place !== null && place !== 'waiting' && !this.#wasRead(place)
      if (isUnread && (await this.isOnChain(place))) return null
      outcomes.set(txid, place === 'waiting' ? 'alive' : 'dead')
    }
    return outcomes
  }

  /** A block that is not above the tip and not known to have another one in its place. */
  #wasRead({ height, hash }: { readonly height: number; readonly hash: string }): boolean {
    const tip = this.#tip
    if (tip === null || height > tip.height) return false
    return (this.#walk.rememberedAt(tip, height) ?? hash) === hash
  }

  readonly readBlockTags = async (checkpoint: BlockRef): Promise<BlockTags | null> => {
    const nowMs = this.#options.clock().getTime()
    const ageMs = this.#parameters?.isolated === true ? 0 : TAGS_AGE_MS
    if (this.#blockTags !== null && Math.abs(nowMs - this.#blockTags.readAtMs) < ageMs)
      return this.#blockTags.heights
    const heights = await this.#requestBlockTags(checkpoint)
    this.#blockTags = heights === null ? null : { heights, readAtMs: nowMs }
    return heights
  }

  async #requestBlockTags(checkpoint: BlockRef): Promise<BlockTags | null> {
    const [finalized, safe] = await Promise.all([
      this.#node.headerAt('finalized'),
      this.#node.headerAt(evmNetworkOf(this.#options.chain).safeTag),
    ])
    // Asked last: our block being on the node's chain now, what was tagged before is below it or beside nothing of ours.
    const ours = await this.#node.headerAt(checkpoint.height)
    if (ours?.hash !== checkpoint.hash || safe === null || finalized === null) return null
    const safeHeight = Math.min(safe.number, checkpoint.height)
    return { safe: safeHeight, finalized: Math.min(finalized.number, safeHeight) }
  }

  subscribe(wake: () => void): () => void {
    const { probeIntervalMs = this.#parameters?.probeIntervalMs } = this.#options
    if (probeIntervalMs === undefined) throw new Error('nobody can subscribe before the node was connected')
    return probeHeight(this.#node, probeIntervalMs, wake)
  }

  close(): Promise<void> {
    return this.#node.rpc.close()
  }

  async #modeAt(header: EvmHeader): Promise<NativeMode> {
    this.#mode ??= (await this.#node.canTrace(header)) ? 'traces' : 'balances'
    return this.#mode
  }

  #requireMode(): NativeMode {
    if (this.#mode === null) throw new Error('a block was asked for before the node was connected')
    return this.#mode
  }

  async #readParameters(): Promise<EvmParameters> {
    const parameters = this.#recognize(await this.#node.chainId())
    await this.#requireGenesis()
    return parameters
  }

  #recognize(chainId: number): EvmParameters {
    const { chain, setting, privateChain = null } = this.#options
    const realm = realmOf(this.#options)
    const parameters = evmParametersOf(chain, realm, chainId)
    if (parameters !== null && (privateChain === null || privateChain.chainId === chainId)) return parameters
    const expected = privateChain === null ? expectedChain(chain, realm) : `chain ${privateChain.chainId}`
    throw new ChainHalted(
      `the node at ${this.#node.rpc.where} is on chain ${chainId}, and ${this.network} is ${expected}: correct ${setting}`,
    )
  }

  async #requireGenesis(): Promise<void> {
    const { setting, privateChain = null } = this.#options
    if (privateChain === null) return
    const genesis = await this.hashAt(0)
    if (genesis === privateChain.genesis) return
    throw new ChainHalted(
      `the first block of the node at ${this.#node.rpc.where} is ${genesis}, and not the one named for staging: correct ${setting}`,
    )
  }

  /** A missing contract, or one with other decimals, would make every amount wrong. */
  async #requireToken({ contract, decimals, asset }: EvmToken): Promise<void> {
    const reported = await this.#node.decimalsOf(contract)
    if (reported === decimals) return
    const what = reported === null ? 'no contract there' : `${reported} decimals`
    throw new ChainHalted(
      `${asset} is the contract ${contract} with ${decimals} decimals, and the node at ${this.#node.rpc.where} has ${what}`,
    )
  }
}

/**
 * Asks the node for its height in short intervals and calls `wake` when it has changed. What replaces a block at the
 * same height is noticed by the watcher's own rounds. Returns how to stop.
 */
function probeHeight(node: Pick<EvmNode, 'height'>, intervalMs: number, wake: () => void): () => void {
  let last: number | null = null
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const probe = async (): Promise<void> => {
    try {
      const height = await node.height()
      if (last !== null && height !== last) wake()
      last = height
    } catch (error) {
      // The watcher's own round meets the same fault and reports it.
      if (!(error instanceof ChainUnavailable)) throw error
    }
    if (!isStopped) timer = setTimeout(() => void probe(), intervalMs)
  }
  timer = setTimeout(() => void probe(), intervalMs)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

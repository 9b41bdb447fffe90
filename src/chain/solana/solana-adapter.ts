import type { Network } from '../../core/assets.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import { SOLANA_PROBE_MS } from '../../core/chain/probe-pauses.ts'
import type { PrivateChain } from '../../core/chain/realm.ts'
import type { BlockTags } from '../../core/finality.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  AnswerTooLarge,
  type BlockHistory,
  type ChainProvider,
  ChainUnavailable,
  type ChainUpdate,
  type MempoolReading,
  type NetworkHealth,
  type ScannedBlock,
} from '../adapter.ts'
import { requireFreshHead } from '../require-fresh-head.ts'
import { ForkLeft, TipLeft, TooManySignatures, Unexplained } from './account-histories.ts'
import { clusterOf, OWN_CLUSTER, publicClusterOf } from './clusters.ts'
import { LateLooks } from './late-looks.ts'
import { OpenOwners, type OpenOwnersOptions } from './open-owners.ts'
import { AccountPolling } from './poll-accounts.ts'
import type { Open } from './read-balances.ts'
import { type ReadParts, readBlocks, readSlots } from './read-blocks.ts'
import { SlotChain } from './slot-chain.ts'
import { SOLANA_CODES, SolanaCallFailed, SolanaRpc } from './solana-rpc.ts'
import { TokenAccounts } from './token-accounts.ts'
import { TransactionOutcome } from './transaction-outcome.ts'
import { WatchedOwners } from './watched-owners.ts'

/**
 * Open checkouts up to which their accounts are asked for: at a fifth of the bytes of all blocks, and with about as many
 * calls a second as a provider's middle plan allows. Measured, see docs/figures.md.
 */
const POLL_ACCOUNTS_UP_TO = 2_000
/** A public cluster makes a block every 400 ms: one whose newest is older than this has left the node behind, or stands. */
const STALE_MS = 120_000
/** A provider that is further behind than these has nothing to say of what is final. */
const PLACES_MAX = 500
/** Readings in a row whose tip the chain left before their end. */
const READINGS_MAX = 5
/** So long blocks are read in the place of accounts whose balances the node's lists do not explain. */
const BLOCKS_MS = 60_000
/** A fork may have taken the newest. */
const PLACES_TRIED_MAX = 3

export type WayOfWatching = 'blocks' | 'accounts'

type SolanaAdapterOptions = OpenOwnersOptions & {
  readonly livemode: boolean
  /** Present where the network is on a private chain in the place of live money's. */
  readonly privateChain?: PrivateChain | null
  /** A node's RPC, with credentials. */
  readonly rpcUrl: string
  /** Mints in the place of the issuers'. */
  readonly tokenContracts?: TokenContracts
  /** The name under which the operator configured `rpcUrl`, for messages that name the fix. */
  readonly rpcSetting: string
  readonly clock: Clock
  /** The installation's own fee payer; null while the signer has published none. Absent: there is none. */
  readonly feePayer?: () => Promise<string | null>
  /** Absent: chosen by the number of open checkouts. */
  readonly way?: WayOfWatching
  readonly probeIntervalMs?: number
  readonly blocksMs?: number
  /** Shared with the chain's other providers; absent: the adapter's own. */
  readonly watched?: WatchedOwners
  /** Reads blocks of any length, however long it takes, as who catches up on what was passed over. */
  readonly isPatient?: boolean
}

/**
 * Solana through one node's RPC. A block's height is its slot. Reads at `confirmed`; `finalized` is the mark that
 * decides. Two ways of watching, each from the same checkpoints: every block, or the accounts of open checkouts.
 */
export class SolanaAdapter implements ChainProvider, BlockHistory {
  readonly network: Network
  readonly watched: WatchedOwners
  readonly rpc: SolanaRpc
  readonly #options: SolanaAdapterOptions
  readonly #chain: SlotChain
  readonly #parts: ReadParts
  readonly #polling: AccountPolling
  readonly #late: LateLooks
  readonly #outcomes: TransactionOutcome
  #cluster: string | null = null
  /** Where somebody stood who asked what is final, oldest first. */
  #places: readonly BlockRef[] = []
  /** Where the last reading came to. */
  #position: BlockRef | null = null
  /** Blocks are read, whatever the way, until then by `performance.now()`. */
  #blocks: { readonly untilMs: number; readonly notice: string } | null = null
  /** That a block was passed over, said until then by `performance.now()`. */
  #passedOver: { readonly untilMs: number; readonly notice: string } | null = null
  readonly #open: OpenOwners

  constructor(options: SolanaAdapterOptions) {
    this.network = `solana-${options.livemode ? 'live' : 'test'}`
    this.#options = options
    this.watched = options.watched ?? new WatchedOwners()
    this.rpc = new SolanaRpc(options.rpcUrl, options.rpcSetting, options.isPatient)
    this.#chain = new SlotChain(this.rpc)
    const tokens = TokenAccounts.on(this.network, options)
    this.#parts = { rpc: this.rpc, chain: this.#chain, watched: this.watched, tokens }
    this.#polling = new AccountPolling(this.#parts)
    this.#late = new LateLooks(this.#parts)
    this.#outcomes = new TransactionOutcome(this.rpc)
    this.#open = new OpenOwners(options, this.watched)
  }

  get notice(): string | null {
    if (this.#passedOver !== null && performance.now() > this.#passedOver.untilMs) this.#passedOver = null
    return this.#blocks?.notice ?? this.#passedOver?.notice ?? this.#polling.notice ?? this.#late.notice
  }

  async connect(): Promise<{ parameters: string; health: NetworkHealth }> {
    this.#polling.startAgain()
    this.#late.startAgain()
    const parameters = await this.parameters()
    this.#cluster = parameters
    try {
      await this.rpc.health()
    } catch (error) {
      if (!(error instanceof SolanaCallFailed) || error.code !== SOLANA_CODES.nodeUnhealthy) throw error
      return {
        parameters,
        health: { status: 'syncing', reason: `the node is behind its cluster: ${error.message}` },
      }
    }
    return { parameters, health: { status: 'ok' } }
  }

  async parameters(): Promise<string> {
    return clusterOf(await this.rpc.genesisHash(), this.#options)
  }

  async identity(): Promise<string> {
    const genesis = await this.rpc.genesisHash()
    return publicClusterOf(genesis) ?? genesis
  }

  async knows({ height, hash }: { readonly height: number; readonly hash: string }): Promise<boolean> {
    return (await this.#chain.hashAt(height)) === hash
  }

  hashAt(slot: number): Promise<string | null> {
    return this.#chain.hashAt(slot)
  }

  firstKept(): Promise<number> {
    return this.rpc.firstAvailableBlock()
  }

  isOnChain(block: { readonly height: number; readonly hash: string }): Promise<boolean> {
    return this.knows(block)
  }

  /** The blocks in so many slots from this one on; slots without a block have none. */
  async readFrom(slot: number, count: number): Promise<ScannedBlock[]> {
    await this.#knowFeePayer()
    return readSlots(this.#parts, slot, count)
  }

  async tip(): Promise<BlockRef> {
    return (await this.#chain.reference(await this.rpc.slot('confirmed'))).block
  }

  /** What an address must be left with to exist; falls in steps, so it is asked for. */
  minimumAmount(): Promise<bigint> {
    return this.rpc.rentExemptMinimum()
  }

  async nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    const update = await this.#next(checkpoint, maxBlocks)
    this.#position = update === null ? checkpoint : (update.blocks.at(-1)?.block ?? update.ancestor)
    if (update === null) this.#chain.remember(checkpoint, [])
    else
      this.#chain.remember(
        update.ancestor,
        update.blocks.map(({ block }) => block),
      )
    this.#requireFresh(update?.tip ?? checkpoint)
    return update
  }

  /** Solana has no mempool: what is sent is in a block, or nowhere. */
  async readMempool(): Promise<MempoolReading | null> {
    if (this.#position === null) return null
    return { tip: this.#position, readAtMs: this.#options.clock().getTime(), transfers: [] }
  }

  outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
    return this.#outcomes.of(txids)
  }

  /**
   * Final is what lies at or below the node's finalized slot, as far as our place is on the node's chain: the newest that
   * it has come to, for a second provider is often some slots behind the first.
   */
  async readBlockTags(checkpoint: BlockRef): Promise<BlockTags | null> {
    const finalized = await this.rpc.slot('finalized')
    const tip = await this.rpc.slot('confirmed')
    if (this.#places.at(-1)?.hash !== checkpoint.hash)
      this.#places = [...this.#places, checkpoint].slice(-PLACES_MAX)
    const reached = this.#places.filter(({ height }) => height <= Math.min(tip, checkpoint.height))
    for (const place of reached.slice(-PLACES_TRIED_MAX).reverse()) {
      // Asked last: our place being on the node's chain now, what was final before is below it or beside nothing of ours.
      if (!(await this.knows(place))) continue
      const height = Math.min(finalized, place.height)
      return { safe: height, finalized: height }
    }
    return null
  }

  subscribe(wake: () => void): () => void {
    let last = 0
    let isRequesting = false
    const timer = setInterval(() => {
      if (isRequesting) return
      isRequesting = true
      this.rpc
        .slot('confirmed')
        .then(
          (slot) => {
            if (slot !== last) wake()
            last = slot
          },
          // The walk asks in its own time, and reports what is wrong.
          () => {},
        )
        .finally(() => {
          isRequesting = false
        })
    }, this.#options.probeIntervalMs ?? SOLANA_PROBE_MS)
    timer.unref()
    return () => clearInterval(timer)
  }

  close(): Promise<void> {
    return this.rpc.close()
  }

  async #next(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    for (let attempt = 1; attempt <= READINGS_MAX; attempt++) {
      try {
        return await this.#read(checkpoint, maxBlocks)
      } catch (error) {
        if (!(error instanceof TipLeft)) throw error
      }
    }
    throw new ChainUnavailable('the node reports another tip on each request')
  }

  async #read(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    const open = await this.#open.at(checkpoint.timeMs)
    if (this.#blocks !== null && performance.now() > this.#blocks.untilMs) this.#blocks = null
    const way =
      this.#blocks === null
        ? (this.#options.way ?? (open.owners.length <= POLL_ACCOUNTS_UP_TO ? 'accounts' : 'blocks'))
        : 'blocks'
    const tipSlot = await this.rpc.slot('confirmed')
    await this.#knowFeePayer()
    const isAhead = await this.#chain.isAhead(tipSlot, checkpoint)
    // A chain at rest makes no block from which to notice what was paid before its checkout was seen to be open.
    const isUnseen =
      tipSlot === checkpoint.height && way === 'accounts' && this.#polling.hasUnseen(open.owners, checkpoint)
    if (!isAhead && !isUnseen) return null
    const range = { tipSlot, maxBlocks }
    if (way === 'accounts') {
      const read = await this.#readAccounts(checkpoint, open, range)
      if (read !== 'blocks') return read
      if (!isAhead) return null
    }
    this.#polling.forget()
    try {
      const read = () => readBlocks(this.#parts, checkpoint, tipSlot, maxBlocks)
      return await this.#late.beside(checkpoint, range, read)
    } catch (error) {
      // Some hundreds of transactions that name as many accounts as they can make a block too long for anybody.
      if (!(error instanceof AnswerTooLarge)) throw error
      const wereRead = way === 'accounts' || this.#blocks !== null
      const first = wereRead ? 'blocks' : await this.#readAccounts(checkpoint, open, range)
      // Neither way is left: whose list cannot be read either must not keep all others from being read.
      const read =
        first === 'blocks'
          ? await this.#readAccounts(checkpoint, open, { ...range, passesOver: true })
          : first
      if (read === 'blocks') throw error
      this.#passOver(checkpoint, error)
      return read
    }
  }

  /** 'blocks' where they must be read instead. */
  async #readAccounts(
    checkpoint: BlockRef,
    open: Open,
    range: Parameters<AccountPolling['read']>[2],
  ): Promise<ChainUpdate | null | 'blocks'> {
    try {
      const read = await this.#polling.read(checkpoint, open, range)
      this.#late.startAgain()
      return read
    } catch (error) {
      // One of several nodes behind this address is behind the others, and will come.
      if (error instanceof SolanaCallFailed && error.code === SOLANA_CODES.minContextSlot) return null
      // Somebody names one address in thousands of transactions: blocks cost the same whatever is in them.
      if (error instanceof Unexplained || error instanceof TooManySignatures) this.#leaveAccounts(error)
      else if (!(error instanceof ForkLeft)) throw error
      return 'blocks'
    }
  }

  /** A block lists everything, validators' revenue too; each attempt to explain all balances takes time and calls. */
  #leaveAccounts({ message }: Unexplained | TooManySignatures): void {
    const untilMs = performance.now() + (this.#options.blocksMs ?? BLOCKS_MS)
    this.#blocks = { untilMs, notice: `${message}: blocks are read instead` }
  }

  #passOver({ height }: BlockRef, { message }: AnswerTooLarge): void {
    const notice = `a block above slot ${height} was too much to read (${message}): the accounts of open checkouts were read instead, and what came to others there is found by paylink rescan`
    this.#passedOver = { untilMs: performance.now() + BLOCKS_MS, notice }
  }

  /** It never changes, and is published before it pays for anything. */
  async #knowFeePayer(): Promise<void> {
    this.watched.feePayer ??= (await this.#options.feePayer?.()) ?? null
  }

  #requireFresh(tip: BlockRef): void {
    const { clock, rpcSetting } = this.#options
    const isOwn = this.#cluster === null || this.#cluster === OWN_CLUSTER
    requireFreshHead(tip, isOwn ? null : STALE_MS, { nowMs: clock().getTime(), setting: rpcSetting })
  }
}

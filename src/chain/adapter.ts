import type { Network, PaymentAsset } from '../core/assets.ts'
import type { Credit } from '../core/chain/unfound.ts'
import type { MarkHeights } from '../core/finality.ts'

export type BlockRef = { readonly height: number; readonly hash: string; readonly timeMs: number }

/** Where a network stands, in words an operator can act on. `reason` names the fix. */
export type NetworkHealth =
  | { readonly status: 'ok' }
  | { readonly status: 'unavailable' | 'syncing' | 'halted'; readonly reason: string }

/** A transfer to a watched program, as it stands in a block or in the mempool. */
export type FoundTransfer = {
  /** Hex of the witness program, 20-byte EVM address or Solana owner that received it. */
  readonly program: string
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  /** Base units. */
  readonly amount: bigint
  /** Confirmations that consensus demands before the value can move (1, or 100 for a coinbase, 6 for a peg-out). */
  readonly minimumConfirmations: number
  /** The same coin in a form that is not the asset itself, as wrapped SOL in a token account: money for a person to look at. */
  readonly isForeign?: true
}

export type ScannedBlock = {
  readonly block: BlockRef
  readonly parentHash: string
  readonly transfers: readonly FoundTransfer[]
}

/**
 * One step along the node's best chain: what lies above `ancestor` on our side is disconnected, then `blocks`
 * are connected in order. Where nothing was reorganised `ancestor` is the checkpoint itself.
 */
export type ChainUpdate = {
  readonly ancestor: BlockRef
  readonly blocks: readonly ScannedBlock[]
  /** The node's tip when the update was read; above the last block while we catch up. */
  readonly tip: BlockRef
}

export type MempoolTransfer = FoundTransfer & {
  /** When the node or we first saw it, whichever is earlier. */
  readonly firstSeenMs: number
}

/** The mempool as it was while the node's tip was `tip`. */
export type MempoolReading = {
  readonly tip: BlockRef
  readonly readAtMs: number
  /** Every transfer to a watched program that the mempool holds. */
  readonly transfers: readonly MempoolTransfer[]
}

/** The programs an adapter matches against. Holding them costs memory; matching costs nothing per program. */
export type WatchedPrograms = {
  readonly size: number
  /** Adds programs (20 or 32 bytes each). */
  add(programs: Iterable<Uint8Array>): void
}

/** Token transfers of some blocks, up to `end`; blocks that hold none of ours are left out. */
export type TokenReading = {
  readonly end: BlockRef
  readonly blocks: readonly ScannedBlock[]
  /** By the blocks' own headers: what is not in it was never there. Else it is a source's word. */
  readonly isProven: boolean
}

/**
 * Tokens are read from logs, which a node can leave out of its answers unnoticed: they are read twice, and only the
 * second reading lets a transfer become final. Null where the source does not have these blocks above `from`.
 */
export interface TokenReader {
  /** What is read twice. */
  readonly assets: readonly PaymentAsset[]
  /** By the blocks' receipts, proved by the root in their headers. */
  prove(from: BlockRef, toHeight: number): Promise<TokenReading | null>
  /** By this source's word, to be compared with another's. */
  tell(from: BlockRef, toHeight: number): Promise<TokenReading | null>
}

/**
 * Credits that no block's hash proves to be in it are looked at once more before they become final: by whoever is
 * followed, since the books may hold what another provider told, and by another provider where there is one.
 */
export interface CreditCheck {
  readonly assets: readonly PaymentAsset[]
  /** Those of the claims, all of one block, that this provider does not find there; null where it cannot tell. */
  unfound<Claim extends Credit>(
    block: { readonly height: number; readonly hash: string },
    claims: readonly Claim[],
  ): Promise<readonly Claim[] | null>
}

/**
 * A chain, as the watcher sees it. Everything is pulled: a wake-up says only "look again". Errors of the
 * outside world are `ChainUnavailable` (try again) or `ChainHalted` (a human must look).
 */
export interface ChainAdapter {
  readonly network: Network
  /** Name of the chain's parameters, learnt from the node: `main`, `test`, `regtest`, … */
  connect(): Promise<{ readonly parameters: string; readonly health: NetworkHealth }>
  readonly watched: WatchedPrograms
  /**
   * Which chain of these parameters it is: the hash of its first block after genesis on a private chain,
   * of which there are many; the parameters' name on a public one. Null where there is no such block yet.
   */
  identity(): Promise<string | null>
  /** Whether the node has this block at all, on its best chain or beside it. */
  knows(block: { readonly height: number; readonly hash: string }): Promise<boolean>
  /** The node's tip. */
  tip(): Promise<BlockRef>
  /** The next step from `checkpoint`, of at most `maxBlocks` blocks; null when we stand at the tip. */
  nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null>
  /** The whole mempool, matched; null while the tip moved underneath and the reading proves nothing. */
  readMempool(): Promise<MempoolReading | null>
  /**
   * What has become of transactions that we saw unconfirmed and that neither the mempool nor a block holds:
   * still acceptable to the node (it is offered again), or conflicting and dead.
   */
  fateOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>>
  /**
   * How far the chain's own consensus has come, as long as `checkpoint` is on the node's best chain; null where it is
   * not, and nothing is proved. Absent on chains whose blocks are counted.
   */
  readonly readMarks?: ((checkpoint: BlockRef) => Promise<MarkHeights | null>) | undefined
  /** Absent on chains without tokens of ours. */
  readonly tokens?: Pick<TokenReader, 'assets' | 'prove'> | undefined
  /** Absent on chains whose blocks' hashes prove all that is in them. */
  readonly credits?: CreditCheck | undefined
  /** The smallest amount, in base units, that the chain lets a new address receive; absent or undefined where it sets none. */
  minimumAmount?(): Promise<bigint | undefined>
  /** Calls `wake` when something may have changed; returns how to stop. Missing a wake-up loses nothing. */
  subscribe(wake: () => void): () => void
  close(): Promise<void>
}

/** Blocks that were read before, told once more. Who reads them sees to it that they stand on one another. */
export interface BlockHistory {
  /** Hash of the block at this height on the source's best chain; null where that chain ends below. */
  hashAt(height: number): Promise<string | null>
  /** Whether this block is on the source's best chain. */
  isOnChain(block: { readonly height: number; readonly hash: string }): Promise<boolean>
  /** So many blocks from this height on; of a chain whose heights have gaps, the blocks at so many heights. */
  readFrom(height: number, count: number): Promise<ScannedBlock[]>
}

/** A chain as one provider tells it: it can be followed, or only asked whether another one told the truth. */
export interface ChainProvider extends ChainAdapter {
  readonly tokens?: TokenReader
  /** Hash of the block at this height on the provider's best chain; null where that chain ends below. */
  hashAt(height: number): Promise<string | null>
}

/** What several providers of one chain must settle between them before value may become final. */
export interface ProviderAgreement {
  /**
   * Hashes of those blocks that another provider than the followed one has too, at the same height and on a chain that
   * comes up to `reached`. What is missing may be asked for again: no other provider answers, or none has come that
   * far. Throws `ChainHalted` where one has another block there.
   */
  agreedBlocks(
    blocks: readonly { readonly height: number; readonly hash: string; readonly reached: number }[],
  ): Promise<ReadonlySet<string>>
  /**
   * Those of the claims, all of one block, that the first other provider which knows the block does not find there; null
   * where none can tell. Absent on chains whose blocks' hashes prove all that is in them.
   */
  readonly unfoundElsewhere?: CreditCheck['unfound'] | undefined
  /** What an operator should fix, although the network is followed; null where nothing. */
  readonly notice: string | null
}

/** The outside failed in a way that passes: try again after a pause. */
export class ChainUnavailable extends Error {
  override name = 'ChainUnavailable'
}

/** The node is on its way to the chain's tip; what it says until then proves nothing. It recovers by itself. */
export class ChainSyncing extends ChainUnavailable {
  override name = 'ChainSyncing'
}

/** The outside contradicts itself or us: stop crediting on this network and say so. */
export class ChainHalted extends Error {
  override name = 'ChainHalted'
}

import type { Network, PaymentAsset } from '../core/assets.ts'
import type { Credit } from '../core/chain/verify-credits.ts'
import type { BlockTags } from '../core/finality.ts'
import type { BlockRef } from '../core/invoice/types.ts'

/** A network's health, in words an operator can act on. `reason` names the fix. */
export type NetworkHealth =
  | { readonly status: 'ok' }
  | { readonly status: 'unavailable' | 'syncing' | 'halted'; readonly reason: string }

/** A transfer to a watched address, as it stands in a block or in the mempool. */
export type FoundTransfer = {
  /** Hex of the witness program, 20-byte EVM address or Solana owner that received it. */
  readonly addressBytes: string
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  /** Base units. */
  readonly amount: bigint
  /** Confirmations that consensus demands before the value can move (1; 100 for a coinbase, 6 for a peg-out). */
  readonly minimumConfirmations: number
}

export type ScannedBlock = {
  readonly block: BlockRef
  readonly parentHash: string
  readonly transfers: readonly FoundTransfer[]
}

/**
 * One step along the node's best chain: our blocks above `ancestor` are disconnected, then `blocks` are connected in
 * order. Without a reorganisation `ancestor` is the checkpoint itself.
 */
export type ChainUpdate = {
  readonly ancestor: BlockRef
  /**
   * The node does not know our chain, nor do we remember it: the ancestor lies as deep as any reorganisation went. It is ours only
   * if what was recorded there or below stands on the node's chain.
   */
  readonly isAncestorAssumed?: true
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
  /** Every transfer to a watched address that the mempool holds. */
  readonly transfers: readonly MempoolTransfer[]
}

/** The addresses an adapter matches against. Holding them costs memory; matching costs nothing per address. */
export type WatchedAddresses = {
  readonly size: number
  /** Adds addresses (20 or 32 bytes each). */
  add(addresses: Iterable<Uint8Array>): void
}

/** Token transfers of some blocks, up to `end`; blocks that hold none of ours are left out. */
export type TokenReading = { readonly end: BlockRef; readonly blocks: readonly ScannedBlock[] }

/**
 * Tokens are read from logs, which a node can omit from its answers unnoticed. So they are read twice, and only the
 * second reading lets a transfer become final. Null where the source does not have these blocks above `from`.
 */
export interface TokenReader {
  /** The assets that are read twice. */
  readonly assets: readonly PaymentAsset[]
  /** Reads the blocks' receipts, proved by the root in their headers: what is missing was never there. */
  prove(from: BlockRef, toHeight: number): Promise<TokenReading | null>
  /** Reads by this source's word, to be compared with another's. */
  read(from: BlockRef, toHeight: number): Promise<TokenReading | null>
}

/**
 * Credits that no block hash proves are checked once more before they become final: by the followed provider, since
 * another may have reported them, and by another provider if there is one.
 */
export interface CreditCheck {
  readonly assets: readonly PaymentAsset[]
  /** Which of these claims, all about one block, this provider does not find there; null if it cannot tell. */
  unverified<Claim extends Credit>(
    block: { readonly height: number; readonly hash: string },
    claims: readonly Claim[],
  ): Promise<readonly Claim[] | null>
  /**
   * These assets in the block and its parent, as this provider tells it now; none if it does not have it. A wrong balance
   * after the parent shows in both.
   */
  read(block: { readonly hash: string }): Promise<readonly ScannedBlock[]>
}

/**
 * A chain as the watcher sees it. Everything is pulled: a wake-up only means "look again". Failures of the outside
 * world are `ChainUnavailable` (try again) or `ChainHalted` (a person must look).
 */
export interface ChainAdapter {
  readonly network: Network
  /** Name of the chain's parameters, learnt from the node: `main`, `test`, `regtest`, … */
  connect(): Promise<{ readonly parameters: string; readonly health: NetworkHealth }>
  readonly watched: WatchedAddresses
  /**
   * Asks the node once more which chain it is on; the name of its parameters. Throws `ChainHalted` where the network may not be
   * on that chain, as `connect` does.
   */
  parameters(): Promise<string>
  /**
   * Which chain with these parameters it is. A private chain, of which there are many, is identified by the hash of
   * its first block after genesis; a public one by its parameters' name. Null while there is no such block.
   */
  identity(): Promise<string | null>
  /** Whether the node has this block, on its best chain or beside it. */
  knows(block: { readonly height: number; readonly hash: string }): Promise<boolean>
  /** Hash of the block at this height on the node's best chain; null where that chain ends below. */
  hashAt(height: number): Promise<string | null>
  /** The lowest height whose block the node still has; absent where it never puts the hashes of blocks away. */
  firstKept?(): Promise<number>
  /**
   * Hash of the block at this height on the chain that was read up to `checkpoint`, asking nobody; absent or null where it
   * is not remembered.
   */
  rememberedAt?(checkpoint: BlockRef, height: number): string | null
  /** The node's tip. */
  tip(): Promise<BlockRef>
  /** The next step from `checkpoint`, of at most `maxBlocks` blocks; null at the tip. */
  nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null>
  /** The whole mempool, matched; null if the tip moved during the reading, which then proves nothing. */
  readMempool(): Promise<MempoolReading | null>
  /**
   * The outcome of transactions that we saw unconfirmed and that are now in neither the mempool nor a block: still
   * acceptable to the node (it is offered them again), or conflicting and dead. Null where one of them stands in a block that
   * came after the last step, so that there is nothing to judge before the next.
   */
  outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'> | null>
  /**
   * The chain's own block tags, provided `checkpoint` is on the node's best chain; null where it is not, and
   * nothing is proved. Absent on chains where confirmations are counted.
   */
  readonly readBlockTags?: ((checkpoint: BlockRef) => Promise<BlockTags | null>) | undefined
  /** Absent on chains where we accept no tokens. */
  readonly tokens?: Pick<TokenReader, 'assets' | 'prove'> | undefined
  /** Absent on chains whose block hashes prove everything in the block. */
  readonly credits?: CreditCheck | undefined
  /**
   * The smallest amount, in base units, that the chain lets a new address receive; absent or undefined if it sets
   * none.
   */
  minimumAmount?(): Promise<bigint | undefined>
  /** What an operator should know although the chain is read; absent or null where nothing. */
  readonly notice?: string | null
  /**
   * Calls `wake` when something may have changed; returns a function that stops it. Missing a wake-up loses nothing.
   */
  subscribe(wake: () => void): () => void
  /** Why the node's own notifications are not heard although they are configured; absent or null where all is well. */
  readonly notificationsSilent?: string | null
  close(): Promise<void>
}

/** Access to blocks that were read before. The reader checks that they build on one another. */
export interface BlockHistory {
  /** Hash of the block at this height on the source's best chain; null where that chain ends below. */
  hashAt(height: number): Promise<string | null>
  /** Whether this block is on the source's best chain. */
  isOnChain(block: { readonly height: number; readonly hash: string }): Promise<boolean>
  /** `count` blocks from this height on; on a chain whose heights have gaps, the blocks at `count` heights. */
  readFrom(height: number, count: number): Promise<ScannedBlock[]>
}

/** A chain as seen by one provider: it can be followed, or only asked whether another one is right. */
export interface ChainProvider extends ChainAdapter {
  readonly tokens?: TokenReader
  /** Hash of the block at this height on the provider's best chain; null where that chain ends below. */
  hashAt(height: number): Promise<string | null>
}

/** What several providers of one chain must agree on before value may become final. */
export interface ProviderAgreement {
  /**
   * Hashes of those blocks that another provider has too, at the same height and on a chain that reaches `reached`. A
   * missing block may be asked for again: no other provider answers, or none has come that far. Throws `ChainHalted`
   * if one has a different block there.
   */
  agreedBlocks(
    blocks: readonly { readonly height: number; readonly hash: string; readonly reached: number }[],
  ): Promise<ReadonlySet<string>>
  /**
   * Which of these claims, all about one block, are not found there, by each of the first other providers that can tell,
   * so many at most. Absent on chains whose block hashes prove everything in the block.
   */
  readonly unverifiedElsewhere?:
    | (<Claim extends Credit>(
        block: Parameters<CreditCheck['unverified']>[0],
        claims: readonly Claim[],
        answersMax: number,
      ) => Promise<readonly (readonly Claim[])[]>)
    | undefined
  /**
   * Token transfers by the word, or the receipts, of two providers that have the same block at the end; fewer where not so
   * many can say, and null where nobody was asked, since not two are to be asked now. A provider alone could forge the
   * root that proves its receipts, since only a block's hash is compared. Absent on chains where we accept no tokens.
   */
  readonly readTokensTwice?:
    | ((how: 'read' | 'prove', from: BlockRef, toHeight: number) => Promise<TokenReading[] | null>)
    | undefined
  /** What an operator should fix, although the network is followed; null where nothing. */
  readonly notice: string | null
}

/** A fault of the outside world. It often repeats a node's own words, and its message is stored as the network's state. */
class ChainFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(storableText(message), options)
  }
}

/** The outside world failed temporarily: try again after a pause. */
export class ChainUnavailable extends ChainFault {
  override name = 'ChainUnavailable'
}

/** One answer takes too long, or is too large: a smaller request may succeed. */
export class AnswerTooLarge extends ChainUnavailable {
  override name = 'AnswerTooLarge'
}

/** The node knows the block and not, or no longer, what is asked of it: another node may. */
export class BlockDataMissing extends ChainUnavailable {
  override name = 'BlockDataMissing'
}

/** The node is still syncing; what it says until then proves nothing. No action is needed. */
export class ChainSyncing extends ChainUnavailable {
  override name = 'ChainSyncing'
}

/** The outside world contradicts itself or us: stop crediting on this network and raise an alarm. */
export class ChainHalted extends ChainFault {
  override name = 'ChainHalted'
}

/** The node has thrown the block away, and has all that are newer. */
export class BlockPruned extends ChainHalted {}

/** A fork deeper than any reorganisation: following it would keep, or take, money by somebody's mistake. */
export const forkTooDeep = ({ height }: { readonly height: number }, depth: number): ChainHalted =>
  new ChainHalted(
    `the node left the chain more than ${depth} blocks below ${height}: find out which chain is right, and configure a node that is on it`,
  )

/** Maximum length of text from outside: enough to act on, and a node cannot fill a table or log. */
const LENGTH_MAX = 2_000

/** Text from outside as PostgreSQL can hold it: cut to a length, and without NUL. Its driver replaces lone surrogates itself. */
const storableText = (text: string): string => text.slice(0, LENGTH_MAX).replaceAll('\0', '\ufffd')

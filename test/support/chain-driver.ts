import type { ChainAdapter } from '../../src/chain/adapter.ts'
import type { AssetId, Network } from '../../src/core/assets.ts'
import type { RpcProxy } from './rpc-proxy.ts'

/** What the conformance suite needs to know of a chain: a node that it may drive, and the adapter under test. */
export type ChainDriver<Driven extends DrivenChain = DrivenChain> = {
  /** Who is tested, for the suite's title. */
  readonly title: string
  readonly network: Network
  readonly asset: AssetId
  /** What an invoice asks for, in base units. */
  readonly amount: bigint
  /** Whether payments are seen before they are in a block, and may be replaced there. */
  readonly seesWaiting: boolean
  /** Whether a payment becomes final in a look of its own, after the checkpoint has passed its block. */
  readonly settlesLater: boolean
  /** Whether a payment whose block left is awaited though nobody sees it wait. Absent: it is not. */
  readonly waitsForDropped?: boolean
  /** Whether updates hold every block, and not only those that matter. Absent: they do. */
  readonly readsEveryBlock?: boolean
  start(): Promise<Driven>
}

export type DrivenChain = {
  /** Where an adapter finds the node. A proxy may stand in its place. */
  readonly url: string
  adapter(url?: string): ChainAdapter
  /** How another process makes the same adapter: a module of `dist/`, its export, and its one argument but the clock. */
  readonly recipe: { readonly module: string; readonly name: string; readonly options: object }
  /** The hash of the node's tip. */
  tipHash(): Promise<string>
  /** An address of the payer's own, and what an adapter watches for it. */
  newAddress(): Promise<{ readonly address: string; readonly addressBytes: Buffer }>
  /** Sends base units in a transaction that may be replaced; its id. */
  pay(address: string, amount: bigint): Promise<string>
  /** Replaces a waiting payment by a transaction that pays none of ours. */
  replace(txid: string): Promise<void>
  /** Mines so many blocks; whatever waits is in the first. */
  mine(blocks: number): Promise<void>
  /**
   * Puts a branch in the place of the newest blocks that is one block longer. The transaction named waits for the
   * next `mine`; all else is in the branch.
   */
  reorganise(depth: number, waiting?: string): Promise<void>
  /** Stops the node and starts it again on the same data. */
  stop(): Promise<void>
  startAgain(): Promise<void>
  remove(): Promise<void>
  /** Ways in which a node of this chain can be wrong. */
  readonly lies: readonly ChainLie[]
}

/** A way to be wrong, told while a payment and three blocks wait to be read. */
export type ChainLie = {
  readonly name: string
  /** Whether it is about how this kind of asset is read, and not about the chain. Absent: about the chain. */
  readonly isOfAsset?: boolean
  tell(proxy: RpcProxy): Promise<void> | void
  /**
   * What becomes of the network: `told` where it must leave `ok` with a reason that matches; `unseen` where the lie
   * cannot be told from a quiet chain, and nothing may be credited; `harmless` where the payment is credited all the same.
   */
  readonly outcome: { readonly told: RegExp } | 'unseen' | 'harmless'
}

/** Words that no table can hold, and many of them. */
export const unstorableWords = (method: string): ChainLie => ({
  name: 'refuses in words that cannot be stored',
  outcome: { told: /not now/ },
  tell: (proxy) =>
    proxy.lie(method, () => {
      throw new Error(`not now: \0\ud800${'x'.repeat(100_000)}`)
    }),
})

import type { Network } from '../../core/assets.ts'
import { UTXO_PROBE_MS } from '../../core/chain/probe-pauses.ts'
import { type PrivateChain, realmOf } from '../../core/chain/realm.ts'
import { type UtxoChain, type UtxoParameters, utxoParametersOf } from '../../core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  ChainHalted,
  type ChainProvider,
  ChainSyncing,
  ChainUnavailable,
  type ChainUpdate,
  type MempoolReading,
  type NetworkHealth,
} from '../adapter.ts'
import { AddressSet } from '../address-set.ts'
import { requireFreshHead } from '../require-fresh-head.ts'
import { identityOf } from './chain-identity.ts'
import { ChainWalk } from './chain-walk.ts'
import { MempoolReader } from './mempool.ts'
import { acceptanceSchema, type ChainAnswer, hashSchema } from './node-answers.ts'
import { NodeChain, syncingReason } from './node-chain.ts'
import { NodeListener } from './notifications.ts'
import { requireRealm } from './require-realm.ts'
import { RPC_CODES, RpcClient, RpcError } from './rpc-client.ts'
import {
  type TransactionJudge,
  TransactionOutcome,
  type Verdict,
  verdictByReason,
} from './transaction-outcome.ts'

type UtxoAdapterOptions = {
  readonly chain: UtxoChain
  readonly livemode: boolean
  /** Present where the network is on a private chain in the place of live money's. */
  readonly privateChain?: PrivateChain | null
  /** A node's RPC, with credentials. */
  readonly rpcUrl: string
  /** The name under which the operator configured `rpcUrl`, for messages that name the fix. */
  readonly rpcSetting: string
  /** The node's ZeroMQ notifications; null where it has none. It is asked in short intervals besides. */
  readonly zmqUrl: string | null
  readonly clock: Clock
  /** Pause between two looks at the node. */
  readonly probeIntervalMs?: number
  /** Shared with the chain's other providers; absent: the adapter's own. */
  readonly watched?: AddressSet
}

/**
 * Bitcoin, Litecoin and similar chains, through one node's RPC. Calls used: getblockchaininfo,
 * getbestblockhash, getblockhash, getblockheader, getblock (raw), getchaintips, getmempoolinfo, getrawmempool,
 * getrawtransaction (raw), getmempoolentry, testmempoolaccept, sendrawtransaction, getzmqnotifications.
 */
export class UtxoAdapter implements ChainProvider {
  readonly network: Network
  readonly watched: AddressSet
  readonly #options: UtxoAdapterOptions
  readonly #rpc: RpcClient
  readonly #node: NodeChain
  readonly #walk: ChainWalk
  readonly #mempool: MempoolReader
  readonly #outcomes: TransactionOutcome
  #parameters: UtxoParameters | null = null
  #pruneHeight = 0
  #listener: NodeListener | null = null

  constructor(options: UtxoAdapterOptions) {
    const { chain, livemode, rpcUrl, rpcSetting, clock } = options
    const asset = chain === 'bitcoin' ? 'BTC' : 'LTC'
    this.network = `${chain}-${livemode ? 'live' : 'test'}`
    this.#options = options
    this.watched = options.watched ?? new AddressSet()
    this.#rpc = new RpcClient(rpcUrl, rpcSetting)
    this.#node = new NodeChain(this.#rpc, this.watched)
    this.#walk = new ChainWalk(this.#node, asset)
    this.#mempool = new MempoolReader({
      rpc: this.#rpc,
      node: this.#node,
      watched: this.watched,
      asset,
      clock,
    })
    this.#outcomes = new TransactionOutcome(new NodeJudge(this.#rpc, this.#mempool), clock)
  }

  async connect(): Promise<{ parameters: string; health: NetworkHealth }> {
    const state = await this.#node.state()
    const parameters = await this.#requireGenesis(this.#recognize(state))
    this.#parameters = parameters
    this.#pruneHeight = state.pruned === true ? (state.pruneheight ?? 0) : 0
    this.#mempool.forgetSeen()
    this.#outcomes.forget()
    const reason = syncingReason(state, parameters.isolated)
    return {
      parameters: parameters.name,
      health: reason === null ? { status: 'ok' } : { status: 'syncing', reason },
    }
  }

  async parameters(): Promise<string> {
    const { name } = await this.#requireGenesis(this.#recognize(await this.#node.state()))
    return name
  }

  identity(): Promise<string | null> {
    if (this.#parameters === null) throw new Error('an identity was asked for before the node was connected')
    return identityOf(this.#parameters, this)
  }

  async tip(): Promise<BlockRef> {
    return this.#node.reference(await this.#node.bestHash())
  }

  async hashAt(height: number): Promise<string | null> {
    try {
      return await this.#node.hashAt(height)
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.outOfRange) return null
      throw error
    }
  }

  async knows({ hash }: { readonly hash: string }): Promise<boolean> {
    return (await this.#node.header(hash)) !== null
  }

  async nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    if (checkpoint.height + 1 < this.#pruneHeight) {
      throw new ChainHalted(
        `the node has pruned its blocks below ${this.#pruneHeight}, and those from ${checkpoint.height + 1} on were not read yet: use a node that still has them, or raise prune= and sync again`,
      )
    }
    const update = await this.#walk.next(checkpoint, maxBlocks)
    if (update !== null) this.#outcomes.forget()
    return update
  }

  async readMempool(): Promise<MempoolReading | null> {
    const { isolated, headAgeMsMax } = this.#parameters ?? {}
    if (isolated === undefined || headAgeMsMax === undefined)
      throw new Error('the mempool was asked for before the node was connected')
    const reading = await this.#mempool.read(isolated)
    if (reading === null) return null
    const { clock, rpcSetting } = this.#options
    requireFreshHead(reading.tip, headAgeMsMax, { nowMs: clock().getTime(), setting: rpcSetting })
    if (!isolated && (await this.#node.connections()) === 0) {
      throw new ChainSyncing('the node has no connection to any other: it learns of no block and no payment')
    }
    return reading
  }

  outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
    return this.#outcomes.of(txids)
  }

  get notificationsSilent(): string | null {
    return this.#listener?.silence ?? null
  }

  subscribe(wake: () => void): () => void {
    const { zmqUrl, rpcSetting } = this.#options
    const intervalMs = this.#options.probeIntervalMs ?? UTXO_PROBE_MS[zmqUrl === null ? 'alone' : 'besideZmq']
    const zmqSetting = rpcSetting.replace('RPC', 'ZMQ')
    const parts = { rpc: this.#rpc, node: this.#node, watched: this.watched, zmqUrl, zmqSetting, intervalMs }
    const listener = new NodeListener(parts, wake)
    this.#listener = listener
    return () => listener.stop()
  }

  close(): Promise<void> {
    return this.#rpc.close()
  }

  async #requireGenesis(parameters: UtxoParameters): Promise<UtxoParameters> {
    const { chain, rpcSetting, privateChain } = this.#options
    const genesisHash = await this.#node.hashAt(0)
    if (genesisHash === (privateChain?.genesis ?? parameters.genesisHash)) return parameters
    throw new ChainHalted(
      `the node's chain is no ${chain}: its genesis block is ${genesisHash}; correct ${rpcSetting}`,
    )
  }

  #recognize(state: ChainAnswer): UtxoParameters {
    const { chain, rpcSetting } = this.#options
    const known = utxoParametersOf(chain, state.chain)
    if (known === null) {
      throw new ChainHalted(
        `the node is on a chain "${state.chain}" that is not known; correct ${rpcSetting}`,
      )
    }
    return requireRealm(known, { realm: realmOf(this.#options), setting: rpcSetting, who: 'node' })
  }
}

/** Any fee rate: it is the payer's money and was accepted once. */
const FEE_RATE_UNLIMITED = 0

/** A node that says whether it would take a transaction, and is offered it if so. */
class NodeJudge implements TransactionJudge {
  readonly #rpc: RpcClient
  readonly #mempool: MempoolReader

  constructor(rpc: RpcClient, mempool: MempoolReader) {
    this.#rpc = rpc
    this.#mempool = mempool
  }

  rawOf(txid: string): string | null {
    return this.#mempool.rawOf(txid)
  }

  async judge(txid: string): Promise<Verdict> {
    const raw = this.#mempool.rawOf(txid)
    if (raw === null) return (await this.#knows(txid)) ? 'taken' : 'dead'
    const [verdict] = await this.#rpc.call('testmempoolaccept', [[raw], FEE_RATE_UNLIMITED], acceptanceSchema)
    if (verdict === undefined) throw new ChainUnavailable('the node gave no verdict on a transaction')
    if (verdict.allowed !== true) return verdictByReason(verdict['reject-reason'] ?? '')
    return this.#offer(raw)
  }

  async #offer(raw: string): Promise<Verdict> {
    try {
      await this.#rpc.call('sendrawtransaction', [raw, FEE_RATE_UNLIMITED], hashSchema)
      return 'taken'
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return error.code === RPC_CODES.alreadyInChain ? 'taken' : verdictByReason(error.message)
    }
  }

  /** Whether the node has the transaction at all: in its mempool, or by an index of all transactions. */
  async #knows(txid: string): Promise<boolean> {
    try {
      await this.#rpc.callRaw('getrawtransaction', [txid, false])
      return true
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.notFound) return false
      throw error
    }
  }
}

import type { Network } from '../../core/assets.ts'
import type { PrivateChain } from '../../core/chain/realm.ts'
import type { UtxoChain } from '../../core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ChainProvider, ChainUpdate, MempoolReading, NetworkHealth } from '../adapter.ts'
import { AddressSet } from '../address-set.ts'
import { requireFreshHead } from '../require-fresh-head.ts'
import { identityOf } from './chain-identity.ts'
import { ChainWalk } from './chain-walk.ts'
import { type EsploraInput, esploraTransactionSchema, outspendSchema } from './esplora-answers.ts'
import { EsploraChain } from './esplora-chain.ts'
import { EsploraClient, EsploraRefusal } from './esplora-client.ts'
import { EsploraMempool } from './esplora-mempool.ts'
import { recognizeGenesis } from './require-realm.ts'
import {
  type TransactionJudge,
  TransactionOutcome,
  type Verdict,
  verdictByReason,
} from './transaction-outcome.ts'

/** A tip that is older than a day is no tip: Bitcoin Core takes itself to be syncing then (`-maxtipage`). */
const TIP_AGE_MS_MAX = 24 * 3_600_000

type EsploraAdapterOptions = {
  readonly chain: UtxoChain
  readonly livemode: boolean
  /** Present where the network is on a private chain in the place of live money's. */
  readonly privateChain?: PrivateChain | null
  /** The API's address, `esplora+https://host/api`; credentials for HTTP Basic may stand in it. */
  readonly url: string
  /** The name under which the operator configured `url`, for messages that name the fix. */
  readonly setting: string
  readonly clock: Clock
  /**
   * Addresses of the checkouts that somebody may pay now: only they are looked for in the mempool. Absent: payments
   * are first seen in blocks.
   */
  readonly openAddresses?: () => Promise<readonly Uint8Array[]>
  /** Shared with the chain's other providers; absent: the adapter's own. */
  readonly watched?: AddressSet
}

/**
 * Bitcoin, Litecoin and similar chains, through an Esplora server, for operators without a full node. Blocks
 * are read whole and proved, with the proof of work that a node would have checked; the mempool is read for open checkouts only.
 */
export class EsploraAdapter implements ChainProvider {
  readonly network: Network
  readonly watched: AddressSet
  readonly #options: EsploraAdapterOptions
  readonly #client: EsploraClient
  readonly #chain: EsploraChain
  readonly #walk: ChainWalk
  readonly #mempool: EsploraMempool
  readonly #outcomes: TransactionOutcome
  /** Known once it was connected. */
  #headAgeMsMax: number | null = null

  constructor(options: EsploraAdapterOptions) {
    const { chain, livemode, url, setting, clock, openAddresses = null } = options
    const asset = chain === 'bitcoin' ? 'BTC' : 'LTC'
    this.network = `${chain}-${livemode ? 'live' : 'test'}`
    this.watched = options.watched ?? new AddressSet()
    this.#options = options
    this.#client = new EsploraClient(url, setting)
    this.#chain = new EsploraChain(this.#client, this.watched, (genesisHash) =>
      recognizeGenesis(options, genesisHash),
    )
    this.#walk = new ChainWalk(this.#chain, asset)
    this.#mempool = new EsploraMempool({
      client: this.#client,
      chain: this.#chain,
      watched: this.watched,
      asset,
      clock,
      openAddresses,
    })
    this.#outcomes = new TransactionOutcome(new EsploraJudge(this.#client, this.#mempool), clock)
  }

  async connect(): Promise<{ parameters: string; health: NetworkHealth }> {
    const parameters = await this.#chain.parameters()
    this.#headAgeMsMax = parameters.headAgeMsMax
    this.#outcomes.forget()
    const tip = await this.tip()
    const ageMs = this.#options.clock().getTime() - tip.timeMs
    if (ageMs <= TIP_AGE_MS_MAX || parameters.isolated) {
      return { parameters: parameters.name, health: { status: 'ok' } }
    }
    const reason = `the Esplora server stands at block ${tip.height} of ${new Date(tip.timeMs).toISOString()}: it is syncing, or its node is`
    return { parameters: parameters.name, health: { status: 'syncing', reason } }
  }

  async parameters(): Promise<string> {
    return (await this.#chain.parameters()).name
  }

  async identity(): Promise<string | null> {
    return identityOf(await this.#chain.parameters(), this)
  }

  async tip(): Promise<BlockRef> {
    return this.#chain.reference(await this.#chain.bestHash())
  }

  hashAt(height: number): Promise<string | null> {
    return this.#chain.provedHashAt(height)
  }

  async knows({ hash }: { readonly hash: string }): Promise<boolean> {
    return (await this.#chain.header(hash)) !== null
  }

  async nextUpdate(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    const update = await this.#walk.next(checkpoint, maxBlocks)
    if (update !== null) this.#outcomes.forget()
    return update
  }

  async readMempool(): Promise<MempoolReading | null> {
    const reading = await this.#mempool.read()
    if (reading === null) return null
    const { clock, setting } = this.#options
    requireFreshHead(reading.tip, this.#headAgeMsMax, { nowMs: clock().getTime(), setting })
    return reading
  }

  outcomesOf(txids: readonly string[]): Promise<ReadonlyMap<string, 'alive' | 'dead'>> {
    return this.#outcomes.of(txids)
  }

  /** The API has no notifications; the watcher polls at its own interval. */
  subscribe(): () => void {
    return () => {}
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** A wallet's payment has a few inputs; of a larger one the offer of the whole decides alone. */
const INPUTS_ASKED_MAX = 100

/** An Esplora server that says who spends a transaction's inputs, and is offered it where nobody does. */
class EsploraJudge implements TransactionJudge {
  readonly #client: EsploraClient
  readonly #mempool: EsploraMempool

  constructor(client: EsploraClient, mempool: EsploraMempool) {
    this.#client = client
    this.#mempool = mempool
  }

  rawOf(txid: string): string | null {
    return this.#mempool.matched(txid)?.raw ?? null
  }

  async judge(txid: string): Promise<Verdict> {
    const kept = this.#mempool.matched(txid)
    const reported = await this.#client.json(`/tx/${txid}`, esploraTransactionSchema)
    if (reported?.status.confirmed === true) return 'taken'
    const inputs = kept?.inputs ?? reported?.vin
    if (inputs === undefined) return 'dead'
    // A coinbase that left the chain cannot come back without its block.
    if (inputs.some(({ is_coinbase }) => is_coinbase === true)) return 'dead'
    const spender = await this.#spenderOf(inputs)
    if (spender !== null) return spender === txid ? 'taken' : 'dead'
    const raw = kept?.raw ?? (await this.#client.bytes(`/tx/${txid}/raw`))?.toString('hex')
    return raw === undefined ? 'dead' : this.#offer(raw)
  }

  /** The transaction that spends the first spent input, in a block or in the mempool; null if none is spent. */
  async #spenderOf(inputs: readonly EsploraInput[]): Promise<string | null> {
    for (const { txid, vout } of inputs.slice(0, INPUTS_ASKED_MAX)) {
      const spend = await this.#client.json(`/tx/${txid}/outspend/${vout}`, outspendSchema)
      if (spend?.spent === true && spend.txid != null) return spend.txid
    }
    return null
  }

  async #offer(raw: string): Promise<Verdict> {
    try {
      await this.#client.broadcast(raw)
      return 'taken'
    } catch (error) {
      if (!(error instanceof EsploraRefusal)) throw error
      return verdictByReason(error.reason)
    }
  }
}

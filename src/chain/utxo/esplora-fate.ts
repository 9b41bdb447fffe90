import type { Clock } from '../../clock.ts'
import { type EsploraInput, esploraTransactionSchema, outspendSchema } from './esplora-answers.ts'
import { type EsploraClient, EsploraRefusal } from './esplora-client.ts'
import type { EsploraMempool } from './esplora-mempool.ts'
import { verdictByReason } from './transaction-fate.ts'

/** A transaction that lives on is asked about again after this time. */
const ASK_AGAIN_AFTER_MS = 30_000
/** A wallet's payment has a few inputs; of a larger one the offer of the whole decides alone. */
const INPUTS_ASKED_MAX = 100

/**
 * Asks an Esplora server what has become of transactions that were seen unconfirmed and that it no longer lists:
 * who spends their inputs, and, where nobody does, whether the network still takes them. The same rules as
 * `TransactionFate`'s.
 */
export class EsploraFate {
  readonly #client: EsploraClient
  readonly #mempool: EsploraMempool
  readonly #clock: Clock
  /** When each living one is asked about again; holds only what the last question was about. */
  #alive = new Map<string, number>()

  constructor(client: EsploraClient, mempool: EsploraMempool, clock: Clock) {
    this.#client = client
    this.#mempool = mempool
    this.#clock = clock
  }

  async of(txids: readonly string[]): Promise<Map<string, 'alive' | 'dead'>> {
    const nowMs = this.#clock().getTime()
    const fates = new Map<string, 'alive' | 'dead'>()
    const alive = new Map<string, number>()
    for (const txid of txids) {
      const known = this.#alive.get(txid) ?? 0
      const fate = known > nowMs ? 'alive' : await this.#ask(txid)
      fates.set(txid, fate)
      if (fate === 'alive') alive.set(txid, known > nowMs ? known : nowMs + ASK_AGAIN_AFTER_MS)
    }
    this.#alive = alive
    return fates
  }

  /** A new block may have decided for another transaction. */
  forget(): void {
    this.#alive.clear()
  }

  async #ask(txid: string): Promise<'alive' | 'dead'> {
    const kept = this.#mempool.matched(txid)
    const told = await this.#client.json(`/tx/${txid}`, esploraTransactionSchema)
    if (told?.status.confirmed === true) return 'alive'
    const inputs = kept?.inputs ?? told?.vin
    // After a restart of ours its bytes are unknown; where the server does not know it either, nobody does.
    if (inputs === undefined) return 'dead'
    // A coinbase that fell out of the chain cannot come back by itself.
    if (inputs.some(({ is_coinbase }) => is_coinbase === true)) return 'dead'
    const spender = await this.#spenderOf(inputs)
    if (spender !== null) return spender === txid ? 'alive' : 'dead'
    const raw = kept?.raw ?? (await this.#client.bytes(`/tx/${txid}/raw`))?.toString('hex')
    return raw === undefined ? 'dead' : this.#offer(raw)
  }

  /** Whoever spends the first input that is spent, in a block or in the mempool; null where nobody does. */
  async #spenderOf(inputs: readonly EsploraInput[]): Promise<string | null> {
    for (const { txid, vout } of inputs.slice(0, INPUTS_ASKED_MAX)) {
      const spend = await this.#client.json(`/tx/${txid}/outspend/${vout}`, outspendSchema)
      if (spend?.spent === true && spend.txid != null) return spend.txid
    }
    return null
  }

  async #offer(raw: string): Promise<'alive' | 'dead'> {
    try {
      await this.#client.broadcast(raw)
      return 'alive'
    } catch (error) {
      if (!(error instanceof EsploraRefusal)) throw error
      const verdict = verdictByReason(error.reason)
      return verdict === 'taken' || verdict === 'waits' ? 'alive' : 'dead'
    }
  }
}

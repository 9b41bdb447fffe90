import { type EsploraInput, esploraTransactionSchema, outspendSchema } from './esplora-answers.ts'
import { type EsploraClient, EsploraRefusal } from './esplora-client.ts'
import type { EsploraMempool } from './esplora-mempool.ts'
import { type TransactionJudge, type Verdict, verdictByReason } from './transaction-outcome.ts'

/** A wallet's payment has a few inputs; of a larger one the offer of the whole decides alone. */
const INPUTS_ASKED_MAX = 100

/** An Esplora server that says who spends a transaction's inputs, and is offered it where nobody does. */
export class EsploraJudge implements TransactionJudge {
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
    const told = await this.#client.json(`/tx/${txid}`, esploraTransactionSchema)
    if (told?.status.confirmed === true) return 'taken'
    const inputs = kept?.inputs ?? told?.vin
    if (inputs === undefined) return 'dead'
    // A coinbase that fell out of the chain cannot come back by itself.
    if (inputs.some(({ is_coinbase }) => is_coinbase === true)) return 'dead'
    const spender = await this.#spenderOf(inputs)
    if (spender !== null) return spender === txid ? 'taken' : 'dead'
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

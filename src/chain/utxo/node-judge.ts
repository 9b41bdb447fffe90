import { ChainUnavailable } from '../adapter.ts'
import type { MempoolReader } from './mempool.ts'
import { acceptanceSchema, hashSchema } from './node-answers.ts'
import { RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'
import { type TransactionJudge, type Verdict, verdictByReason } from './transaction-outcome.ts'

/** Any fee rate: it is the payer's money and was accepted once. */
const FEE_RATE_UNLIMITED = 0

/** A node that says whether it would take a transaction, and is offered it if so. */
export class NodeJudge implements TransactionJudge {
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

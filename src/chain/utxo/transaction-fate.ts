import type { Clock } from '../../clock.ts'
import { ChainUnavailable } from '../adapter.ts'
import type { MempoolReader } from './mempool.ts'
import { acceptanceSchema, hashSchema } from './node-answers.ts'
import { RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'

/** A transaction that lives on outside the mempool is asked about again after this time. */
const ASK_AGAIN_AFTER_MS = 30_000
/** Any fee rate: it is the payer's money and was accepted once. */
const FEE_RATE_UNLIMITED = 0

/**
 * Reasons, of `testmempoolaccept` and `sendrawtransaction`, that say another transaction took the inputs: it is
 * in a block, or in the mempool with a better fee (BIP125).
 */
const CONFLICTS = [
  'missing-inputs',
  'missingorspent',
  'txn-mempool-conflict',
  'insufficient fee',
  'bip125-replacement-disallowed',
  'replacement-adds-unconfirmed',
  'replacement-failed',
  'too many potential replacements',
  'spends-conflicting-tx',
]
/** A coinbase that fell out of the chain cannot come back by itself. */
const NEVER_VALID_AGAIN = ['coinbase', 'mandatory-script-verify-flag-failed', 'bad-txns-in-belowout']
const PASSING = ['premature-spend-of-coinbase']

/**
 * Asks the node what has become of transactions that were seen unconfirmed and that neither its mempool nor its
 * chain holds. A node that has dropped one for its low fee, or lost its mempool, is offered the same bytes again.
 *
 * After a restart of Paylink the bytes are unknown. Such a transaction, which the node does not have either, is
 * given up for dead: no one we can ask knows it. That is never the last word: found again, in the mempool or in
 * a block, it counts again.
 */
export class TransactionFate {
  readonly #rpc: RpcClient
  readonly #mempool: MempoolReader
  readonly #clock: Clock
  /** When each living one is asked about again; holds only what the last question was about. */
  #alive = new Map<string, number>()

  constructor(rpc: RpcClient, mempool: MempoolReader, clock: Clock) {
    this.#rpc = rpc
    this.#mempool = mempool
    this.#clock = clock
  }

  async of(txids: readonly string[]): Promise<Map<string, 'alive' | 'dead'>> {
    const nowMs = this.#clock().getTime()
    const fates = new Map<string, 'alive' | 'dead'>()
    const alive = new Map<string, number>()
    for (const txid of txids) {
      const askAgainAtMs = this.#alive.get(txid)
      if (askAgainAtMs !== undefined && askAgainAtMs > nowMs) {
        alive.set(txid, askAgainAtMs)
        fates.set(txid, 'alive')
        continue
      }
      const fate = await this.#ask(txid)
      fates.set(txid, fate)
      if (fate === 'alive') alive.set(txid, nowMs + ASK_AGAIN_AFTER_MS)
    }
    this.#alive = alive
    return fates
  }

  /** A new block may have decided for another transaction. */
  forget(): void {
    this.#alive.clear()
  }

  async #ask(txid: string): Promise<'alive' | 'dead'> {
    const raw = this.#mempool.rawOf(txid)
    if (raw === null) return (await this.#knows(txid)) ? 'alive' : 'dead'
    const [verdict] = await this.#rpc.call('testmempoolaccept', [[raw], FEE_RATE_UNLIMITED], acceptanceSchema)
    if (verdict === undefined) throw new ChainUnavailable('the node gave no verdict on a transaction')
    if (verdict.allowed !== true) return fateByReason(verdict['reject-reason'] ?? '')
    return this.#offer(raw)
  }

  async #offer(raw: string): Promise<'alive' | 'dead'> {
    try {
      await this.#rpc.call('sendrawtransaction', [raw, FEE_RATE_UNLIMITED], hashSchema)
      return 'alive'
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return error.code === RPC_CODES.alreadyInChain ? 'alive' : fateByReason(error.message)
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

/** What a refusal says. Refusals for fees, lock times or limits of the mempool leave a transaction alive. */
export function fateByReason(reason: string): 'alive' | 'dead' {
  if (PASSING.some((part) => reason.includes(part))) return 'alive'
  return [...CONFLICTS, ...NEVER_VALID_AGAIN].some((part) => reason.includes(part)) ? 'dead' : 'alive'
}

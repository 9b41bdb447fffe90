import type { Clock } from '../../runtime/clock.ts'

/** A transaction that lives on outside the mempool is asked about again after this time. */
const ASK_AGAIN_AFTER_MS = 30_000
/** Transactions asked about in one go: each costs the node a look at its scripts, and a flood of them may vanish at once. */
export const REQUESTS_MAX = 200
/** The longest line of unconfirmed transactions that a mempool takes (Bitcoin Core's DEFAULT_ANCESTOR_LIMIT). */
const ANCESTORS_MAX = 25

/**
 * Reasons, of `testmempoolaccept` and `sendrawtransaction`, that say another transaction took the inputs: it is
 * in a block, or in the mempool with a better fee (BIP125).
 */
const LACKS_INPUTS = ['missing-inputs', 'missingorspent']
const CONFLICTS = [
  'txn-mempool-conflict',
  'insufficient fee',
  'bip125-replacement-disallowed',
  'replacement-adds-unconfirmed',
  'replacement-failed',
  'too many potential replacements',
  'spends-conflicting-tx',
]
/** A coinbase that left the chain cannot come back without its block. */
const NEVER_VALID_AGAIN = ['coinbase', 'mandatory-script-verify-flag-failed', 'bad-txns-in-belowout']
const PASSING = ['premature-spend-of-coinbase']
/** `txn-already-in-mempool`, `txn-already-known`, `Transaction already in block chain`. */
const TAKEN = ['already']

/**
 * What a node makes of one transaction: it has it now, refuses it for a reason that passes, knows nothing of what
 * it spends or saw it spent, or has another one in its place.
 */
export type Verdict = 'taken' | 'waits' | 'lacks_inputs' | 'dead'

/** A source that can be asked about one transaction. */
export interface TransactionJudge {
  /** Offers the transaction again where it is in no block and in no mempool. */
  judge(txid: string): Promise<Verdict>
  /** The bytes, in hex, of a transaction that paid us from the mempool; null where we have none. */
  rawOf(txid: string): string | null
}

/**
 * Asks for the outcome of transactions that were seen unconfirmed and that neither a mempool nor the chain holds.
 * A node that has dropped one for its low fee, or lost its mempool, is offered the same bytes again.
 *
 * After a restart of Paylink the bytes are unknown. Such a transaction, which the node does not have either, is
 * given up for dead: no one we can ask knows it. That is never the last word: found again, in the mempool or in
 * a block, it counts again.
 */
export class TransactionOutcome {
  readonly #judge: TransactionJudge
  readonly #clock: Clock
  /** When each living one is asked about again; holds only what the last question was about. */
  #alive = new Map<string, number>()

  constructor(judge: TransactionJudge, clock: Clock) {
    this.#judge = judge
    this.#clock = clock
  }

  async of(txids: readonly string[]): Promise<Map<string, 'alive' | 'dead'>> {
    const nowMs = this.#clock().getTime()
    const outcomes = new Map<string, 'alive' | 'dead'>()
    const alive = new Map<string, number>()
    const unknown: string[] = []
    for (const txid of txids) {
      const recheckAtMs = this.#alive.get(txid)
      if (recheckAtMs !== undefined && recheckAtMs > nowMs) {
        alive.set(txid, recheckAtMs)
        outcomes.set(txid, 'alive')
        continue
      }
      unknown.push(txid)
    }
    const requested = unknown.slice(0, REQUESTS_MAX)
    const later = unknown.slice(REQUESTS_MAX)
    for (const [txid, outcome] of await this.#requestAll(requested, later.length > 0)) {
      outcomes.set(txid, outcome)
      if (outcome === 'alive') alive.set(txid, nowMs + ASK_AGAIN_AFTER_MS)
    }
    // They have their turn in the next readings, while those of this one are not asked about again.
    for (const txid of later) outcomes.set(txid, 'alive')
    this.#alive = alive
    return outcomes
  }

  /**
   * A transaction that spends another one's output lacks its inputs until that other is back. So those that do are
   * asked about once more as long as any was taken; and one whose parent waits outside the mempool (for its
   * lock time, or a coinbase, to be ripe again) waits with it. A node forgets whole lines of transactions when it restarts,
   * and when more than ten blocks are disconnected. While some are not asked about, whose inputs are lacking may wait
   * for one of them.
   */
  async #requestAll(txids: readonly string[], isPart: boolean): Promise<Map<string, 'alive' | 'dead'>> {
    const verdicts = new Map<string, Verdict>()
    let open = txids
    for (let round = 0; round < ANCESTORS_MAX && open.length > 0; round++) {
      for (const txid of open) verdicts.set(txid, await this.#judge.judge(txid))
      const isAnyTaken = open.some((txid) => verdicts.get(txid) === 'taken')
      open = open.filter((txid) => verdicts.get(txid) === 'lacks_inputs')
      if (!isAnyTaken) break
    }
    for (let round = 0; round < ANCESTORS_MAX && open.length > 0; round++) {
      const waiting = [...verdicts].flatMap(([txid, verdict]) => (verdict === 'waits' ? [txid] : []))
      const orphans = open.filter((txid) => this.#spendsAnyOf(txid, waiting))
      if (orphans.length === 0) break
      for (const txid of orphans) verdicts.set(txid, 'waits')
      open = open.filter((txid) => !orphans.includes(txid))
    }
    if (isPart) for (const txid of open) verdicts.set(txid, 'waits')
    return new Map([...verdicts].map(([txid, verdict]) => [txid, outcomeOfVerdict(verdict)]))
  }

  /** Whether the bytes name one of these ids, as an input does. Nothing else has its 32 bytes. */
  #spendsAnyOf(txid: string, parents: readonly string[]): boolean {
    const raw = this.#judge.rawOf(txid) ?? ''
    return parents.some((parent) => raw.includes(Buffer.from(parent, 'hex').reverse().toString('hex')))
  }

  /** A new block may have decided for another transaction. */
  forget(): void {
    this.#alive.clear()
  }
}

/** What a refusal says. Refusals for fees, lock times or limits of the mempool leave a transaction alive. */
export function verdictByReason(reason: string): Verdict {
  const says = (parts: readonly string[]) => parts.some((part) => reason.includes(part))
  if (says(PASSING)) return 'waits'
  if (says(LACKS_INPUTS)) return 'lacks_inputs'
  if (says([...CONFLICTS, ...NEVER_VALID_AGAIN])) return 'dead'
  return says(TAKEN) ? 'taken' : 'waits'
}

function outcomeOfVerdict(verdict: Verdict): 'alive' | 'dead' {
  return verdict === 'taken' || verdict === 'waits' ? 'alive' : 'dead'
}

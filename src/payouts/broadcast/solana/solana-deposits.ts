import type { TransactionAlone } from '../../../chain/solana/solana-answers.ts'
import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { keyspaceOfNetwork, type Network } from '../../../core/assets.ts'
import type { Pool } from '../../../postgres/pool.ts'
import { type Tenant, withSystemTransaction } from '../../../postgres/transaction.ts'
import { type Clock, isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import type { Log } from '../../../runtime/log.ts'
import type { SolanaSignerAccounts } from '../../store/solana-accounts.ts'
import type { SweepSource } from '../../store/solana-maintenance.ts'
import { bookFoundSweep, type FoundSweep, listSweepCandidates } from '../../store/vault-sweeps.ts'
import type { OutcomeSealer } from '../outcome-sealer.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { unlessRefused } from '../unless-refused.ts'

/** Deposit addresses looked at in one turn: one call's worth. */
const CANDIDATES_MAX = 100
/** Transactions of an address that are looked through for a sweep, newest first, and how often at most. */
const SOUGHT_MAX = 50
const SEEK_INTERVAL_MS = 60_000
/** How long an address of which a sweep was not taken keeps what makes it exist. */
const MISSED_MS = 3_600_000

/** A deposit address that holds less than the books say; lamports. */
type OwnAccounts = Pick<SolanaSignerAccounts, 'vault' | 'feePayer'>

type ShortAddress = OwnAccounts & {
  readonly owner: string
  readonly index: number
  readonly expected: bigint
  readonly lamports: bigint
}

/** What of a merchant's can be swept, what the addresses are worth that hold less than the books say, and what stays for now. */
type Sweepable = {
  readonly sources: readonly SweepSource[]
  readonly short: bigint
  readonly waiting: bigint
}

type Parts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly providers: PayoutProviders<SolanaRpc>
  readonly sealer: OutcomeSealer
}

/** What the chain has at deposit addresses, against the books. */
export class SolanaDeposits {
  readonly #parts: Parts
  /** Addresses that hold less than the books say, and when the chain was last asked why. */
  readonly #soughtAtMs = new Map<string, number>()
  readonly #alerts = new DeduplicatedLog()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * What can be swept of addresses that hold as much as the books say, or more. More is a payment that was not recorded yet:
   * what was recorded is swept, and the address keeps what makes it exist, since one that was emptied would no longer report
   * the payment, and no block takes what leaves less. The same after a sweep that no block took, since more may have come
   * meanwhile. So nobody delays a sweep by sending a little. Less was swept already, or is an alarm. `rentExempt`: lamports with which an address exists.
   */
  async ready(tenant: Tenant, own: OwnAccounts, rentExempt: bigint): Promise<Sweepable> {
    const { pool, network, providers, clock } = this.#parts
    const missedSince = new Date(clock().getTime() - MISSED_MS)
    const at = { network, keyspace: keyspaceOfNetwork(network), asset: 'SOL' } as const
    const place = { ...at, limit: CANDIDATES_MAX, missedSince }
    const candidates = await listSweepCandidates(pool, tenant, place)
    if (candidates.length === 0) return { sources: [], short: 0n, waiting: 0n }
    const owners = candidates.map(({ addressBytes }) => ownerOf(addressBytes))
    const accounts = await providers.current.finalizedAccounts(owners)
    const sources: SweepSource[] = []
    let [short, waiting] = [0n, 0n]
    for (const [at, { index, expected, funded, wasMissed }] of candidates.entries()) {
      const [lamports, owner] = [accounts[at]?.lamports ?? 0n, owners[at] ?? '']
      if (lamports < expected) {
        const found = { index, expected, lamports, owner, ...own }
        const explain = () => this.#explain(found)
        await unlessRefused(this.#parts, { about: owner, alerts: this.#alerts }, explain)
        short += expected
        continue
      }
      const beyond = lamports - expected
      const isWhole = beyond >= rentExempt || (!wasMissed && (beyond === 0n || beyond === funded))
      const left = isWhole ? 0n : rentExempt - beyond
      if (expected > left) sources.push({ index, lamports: expected - left })
      waiting += expected > left ? left : expected
    }
    // There may be more addresses than were looked at.
    return { sources, short: candidates.length < CANDIDATES_MAX ? short : 0n, waiting }
  }

  /**
   * Why an address holds less than the books say: a sweep that the database does not know of, because it was restored or
   * a node did not know of it when it was asked. The chain reports it, and it is booked. Anything else is an alarm.
   */
  async #explain(short: ShortAddress): Promise<void> {
    const { pool, network, clock, log } = this.#parts
    const { owner, index, expected, lamports } = short
    const now = clock()
    const soughtAtMs = this.#soughtAtMs.get(owner)
    if (soughtAtMs !== undefined && !isDue(soughtAtMs, SEEK_INTERVAL_MS, now.getTime())) return
    this.#soughtAtMs.set(owner, now.getTime())
    let isExplained = false
    for (const sweep of await this.#findSweeps(short)) {
      await this.#parts.sealer.landed(sweep.txid)
      const booked = await withSystemTransaction(pool, (tx) =>
        bookFoundSweep(tx, network, { ...sweep, index }, now),
      )
      if (!booked) continue
      isExplained = true
      log.warn({ network, owner, txid: sweep.txid }, 'a sweep that the database did not know of is booked')
    }
    // What is booked may not be all that is missing.
    if (isExplained) this.#soughtAtMs.delete(owner)
    if (isExplained || soughtAtMs !== undefined) return
    log.error(
      { network, owner, lamports: lamports.toString(), expected: expected.toString() },
      'a deposit address holds less than was paid to it',
    )
  }

  /** Final transactions that moved lamports of the address into the vault, newest first. */
  async #findSweeps({ owner, vault }: ShortAddress): Promise<Omit<FoundSweep, 'index'>[]> {
    const rpc = this.#parts.providers.current
    const found: Omit<FoundSweep, 'index'>[] = []
    for (const { signature } of (await rpc.signaturesFor(owner, null, 0)).slice(0, SOUGHT_MAX)) {
      const transaction = await rpc.transaction(signature, 'finalized')
      if (transaction === null || transaction.failed) continue
      const lamports = -gainOf(transaction, owner)
      if (lamports > 0n && gainOf(transaction, vault) >= lamports) found.push({ txid: signature, lamports })
    }
    return found
  }
}

/** What a transaction brought to an account, lamports; below zero where it took some. */
function gainOf({ accounts, pre, post }: TransactionAlone, owner: string): bigint {
  const at = accounts.indexOf(owner)
  return (post[at] ?? 0n) - (pre[at] ?? 0n)
}

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
import {
  bookFoundSweep,
  type FoundSweep,
  listSweepCandidates,
  type SweepSource,
} from '../../store/solana-maintenance.ts'
import type { OutcomeSealer } from '../outcome-sealer.ts'
import type { PayoutProviders } from '../payout-providers.ts'
import { unlessRefused } from '../unless-refused.ts'

/** Deposit addresses looked at in one turn: one call's worth. */
const CANDIDATES_MAX = 100
/** Transactions of an address that are looked through for a sweep, newest first, and how often at most. */
const SOUGHT_MAX = 50
const SEEK_INTERVAL_MS = 60_000
/**
 * Addresses whose history is read in one turn for what the fee payer put there, and how often again: anybody can send a
 * little to addresses and give them long histories, and payouts must not wait while these are read.
 */
const GIVEN_SOUGHT_PER_TURN = 1
const GIVEN_INTERVAL_MS = 600_000

/** A deposit address that holds less than the books say; lamports. */
type OwnAccounts = Pick<SolanaSignerAccounts, 'vault' | 'feePayer'>

type ShortAddress = OwnAccounts & {
  readonly owner: string
  readonly index: number
  readonly expected: bigint
  readonly lamports: bigint
}

/** What of a merchant's can be swept, and what the addresses are worth that hold less than the books say, or more for now. */
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
  /** Addresses that hold more than the books say, with what the fee payer put there by the chain's own account. */
  readonly #given = new Map<string, { readonly atMs: number; readonly lamports: bigint }>()
  #givenSought = 0
  readonly #alerts = new DeduplicatedLog()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** From now on a turn's worth of histories may be read again. */
  beginTurn(): void {
    this.#givenSought = 0
  }

  /**
   * Addresses that hold exactly what the books say, with what the fee payer put there. More is a payment that was not
   * recorded yet, and is left alone until it is: an address that was emptied would no longer report it. Less was swept
   * already, or is an alarm.
   */
  async ready(tenant: Tenant, own: OwnAccounts): Promise<Sweepable> {
    const { pool, network, providers } = this.#parts
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: CANDIDATES_MAX }
    const candidates = await listSweepCandidates(pool, tenant, place)
    if (candidates.length === 0) return { sources: [], short: 0n, waiting: 0n }
    const owners = candidates.map(({ addressBytes }) => ownerOf(addressBytes))
    const accounts = await providers.current.finalizedAccounts(owners)
    const sources: SweepSource[] = []
    let [short, waiting] = [0n, 0n]
    for (const [at, { index, expected, funded }] of candidates.entries()) {
      const [lamports, owner] = [accounts[at]?.lamports ?? 0n, owners[at] ?? '']
      const found = { index, expected, lamports, owner, funded, ...own }
      const isReady = () => this.#isReady(found)
      if (await unlessRefused(this.#parts, { about: owner, alerts: this.#alerts }, isReady))
        sources.push({ index, lamports: expected })
      else if (lamports < expected) short += expected
      else waiting += expected
    }
    // There may be more addresses than were looked at.
    return { sources, short: candidates.length < CANDIDATES_MAX ? short : 0n, waiting }
  }

  async #isReady(found: ShortAddress & { readonly funded: bigint }): Promise<boolean> {
    const { owner, expected, lamports, funded } = found
    const beyond = lamports - expected
    if (beyond < 0n) await this.#explain(found)
    return (
      beyond === 0n || (beyond > 0n && (beyond === funded || beyond === (await this.#givenTo(owner, found))))
    )
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

  /** What the fee payer put on an address by the chain's own account, for a database that was set back does not know. */
  async #givenTo(owner: string, { feePayer, vault }: OwnAccounts): Promise<bigint | null> {
    const nowMs = this.#parts.clock().getTime()
    const known = this.#given.get(owner)
    if (known !== undefined && !isDue(known.atMs, GIVEN_INTERVAL_MS, nowMs)) return known.lamports
    if (this.#givenSought === GIVEN_SOUGHT_PER_TURN) return null
    this.#givenSought++
    // Others have their turn next, whatever the outcome.
    this.#given.set(owner, { atMs: nowMs, lamports: 0n })
    const rpc = this.#parts.providers.current
    let given = 0n
    for (const { signature } of (await rpc.signaturesFor(owner, null, 0)).slice(0, SOUGHT_MAX)) {
      const transaction = await rpc.transaction(signature, 'finalized')
      if (transaction === null || transaction.failed || transaction.accounts[0] !== feePayer) continue
      if (!transaction.accounts.includes(vault)) given += gainOf(transaction, owner)
    }
    this.#given.set(owner, { atMs: nowMs, lamports: given })
    return given
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

import { ChainUnavailable } from '../../chain/adapter.ts'
import type { Network } from '../../core/assets.ts'
import type { Outpoint } from '../../core/chain/outpoint.ts'
import { type Payout, PayoutContradicted } from '../../core/payout/payout.ts'
import { tenantOf } from '../../core/tenant.ts'
import { isConstraintViolation } from '../../postgres/constraint-violation.ts'
import { isDatabaseAway } from '../../postgres/database-away.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Pause } from '../../runtime/activity.ts'
import { type Clock, isDue } from '../../runtime/clock.ts'
import { DeduplicatedLog, withoutNumbers } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'
import { pauseUnless } from '../../runtime/repeat.ts'
import { type PayoutFact, recordPayout } from '../advance-payout.ts'
import { askJournal } from '../store/journal-questions.ts'
import { readLongWaits } from '../store/long-waits.ts'
import {
  listPayoutTransactions,
  loadPayoutRefusal,
  loadTransactionsOf,
} from '../store/payout-transactions.ts'
import {
  listLatelyConfirmed,
  listPayoutsUnderWay,
  listUnsealedPayouts,
  type StoredPayout,
} from '../store/payouts.ts'
import type { Broadcaster, ChainStatus, TrackedPayout } from './broadcaster.ts'
import { type OutcomeSealer, UnsealedPages } from './outcome-sealer.ts'
import { unlessRefused } from './unless-refused.ts'

type TrackedNetwork = {
  readonly network: Network
  readonly broadcaster: Broadcaster
  readonly sealer: OutcomeSealer
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly notifier: { deliveriesWaiting(): void; activity(): void }
  readonly pause?: Pause
}

/** Payouts of one network looked at in one pass. */
const PASS_MAX = 2_000
/** What waits for long is looked for this often. */
const WAITS_EVERY_MS = 60_000
/** A confirmed payout is offered again to a chain that lost its block for so long. */
const LOOKED_AFTER_MS = 24 * 3_600_000

const BOOKED_OTHERWISE =
  'a reorganisation beyond finality put another transaction of a confirmed payout into the chain: it is paid once, and the books have the fee and the change of the one that was confirmed; correct them'
const PAID_AFTER_ALL =
  'a payout that the books call failed is in a block: somebody wrote to the database, or a node lied; nothing more is paid for it, and its amount must not count as the merchant’s'
const TAKEN_BACK =
  'a reorganisation beyond finality took a confirmed payout back, and no node takes it again: see what spent its coins, and correct the books'

/**
 * Broadcasts signed payouts and follows them on their chain, without any key: sends the same bytes until a node has
 * them, and again after a reorganisation; confirms what lies deep enough; ends what can never happen. Everything it writes
 * is a fact that may be reported twice, so that any number of processes may do it.
 */
export class PayoutTracker {
  readonly #parts: TrackedNetwork
  readonly #alerts = new DeduplicatedLog()
  #waitsReadAtMs = Number.NEGATIVE_INFINITY
  readonly #unsealedPages: UnsealedPages<StoredPayout>
  /** Payouts that are called failed, without a seal, until the chain was asked about them. */
  #unsealed: readonly StoredPayout[] = []
  /** Payouts about which no provider gave an answer when they were last looked at. */
  readonly #unanswered = new Set<string>()
  #isActive = false

  constructor(parts: TrackedNetwork) {
    this.#parts = parts
    const { pool, network } = parts
    this.#unsealedPages = new UnsealedPages(
      (page) => listUnsealedPayouts(pool, network, page),
      ({ payout }) => payout.id,
    )
  }

  /** Whether anything was under way at the last look. */
  get isBusy(): boolean {
    return this.#isActive || this.#parts.broadcaster.isBusy === true
  }

  /** One look at everything that is under way. Throws `ChainUnavailable` where no provider can be asked. */
  async pass(): Promise<void> {
    await this.#reportLongWaits()
    await this.#parts.broadcaster.providers.through(() => this.#look())
  }

  /** Called even if no provider answers and nothing could be checked. */
  async #reportLongWaits(): Promise<void> {
    const { pool, network, clock, log } = this.#parts
    const now = clock()
    if (!isDue(this.#waitsReadAtMs, WAITS_EVERY_MS, now.getTime())) return
    this.#waitsReadAtMs = now.getTime()
    for (const wait of await readLongWaits(pool, now)) {
      const message = 'payouts or sweeps wait longer than is usual'
      if (wait.network === network && this.#alerts.isNew(wait.oldestId, wait.state))
        log.error({ ...wait }, message)
    }
  }

  async #look(): Promise<void> {
    const { broadcaster, log } = this.#parts
    await broadcaster.refreshNetwork()
    const { signed, unsigned } = await this.#load()
    this.#isActive = unsigned.length > 0 || signed.some(({ payout }) => !isEnded(payout))
    await broadcaster.prepare?.(unsigned)
    if (signed.length === 0) return
    const statuses = await broadcaster.look(signed)
    const tracked = new Set(signed.map(({ payout }) => payout.id))
    for (const id of this.#unanswered) if (!tracked.has(id)) this.#unanswered.delete(id)
    const isLast = ({ payout: { id } }: TrackedPayout) => this.#unanswered.has(id)
    for (const one of [...signed.filter((each) => !isLast(each)), ...signed.filter(isLast)]) {
      const { payout } = one
      const status = statuses.get(payout.id) ?? { kind: 'unread' }
      const alone = { about: payout.id, alerts: this.#alerts }
      const advance = () =>
        unlessRefused({ log, providers: broadcaster.providers }, alone, () => this.#advance(one, status))
      // What ends the pass here comes after all others in the next.
      this.#unanswered.add(payout.id)
      await this.#attempt(payout, advance)
      this.#unanswered.delete(payout.id)
    }
  }

  /** One payout that cannot be tracked must not hold up the others; what its node or the database lacks, all of them lack. */
  async #attempt(payout: Payout, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Error) || error instanceof ChainUnavailable || isDatabaseAway(error)) throw error
      const isContradicted = isConstraintViolation(error) || error instanceof PayoutContradicted
      const message = isContradicted
        ? 'a payout contradicts what the database holds'
        : 'a payout cannot be followed'
      if (this.#alerts.isNew(payout.id, message))
        this.#parts.log.error({ err: error, payoutId: payout.id }, message)
    }
  }

  /** What is signed and not done, and what was confirmed lately. What the signer refused ends here. */
  async #load(): Promise<{ readonly signed: TrackedPayout[]; readonly unsigned: Payout[] }> {
    const { pool, network, clock } = this.#parts
    const since = new Date(clock().getTime() - LOOKED_AFTER_MS)
    const underWay = await listPayoutsUnderWay(pool, network, PASS_MAX)
    // They come after what is under way: reading for them must not hold that up.
    const confirmed = await listLatelyConfirmed(pool, network, since, PASS_MAX)
    const unsealed = await this.#listUnsealed()
    const payouts = [...underWay, ...confirmed, ...unsealed].map(({ payout }) => payout)
    const transactionsOf = await loadTransactionsOf(pool, payouts)
    const signed: TrackedPayout[] = []
    const unsigned: Payout[] = []
    for (const payout of payouts) {
      const transactions = transactionsOf(payout)
      if (transactions.length > 0) signed.push({ payout, transactions })
      else
        await this.#attempt(payout, async () => {
          if (!(await this.#endRefused(payout))) unsigned.push(payout)
        })
    }
    return { signed, unsigned }
  }

  /** Payouts that the books call failed and nobody sealed: the chain is asked again, and it is sealed where that says so too. */
  async #listUnsealed(): Promise<readonly StoredPayout[]> {
    const { clock, sealer } = this.#parts
    if (sealer.isNeeded)
      this.#unsealed = (await this.#unsealedPages.next(clock().getTime())) ?? this.#unsealed
    return this.#unsealed
  }

  /** The journal outweighs a refusal, which may date from before a restore. */
  async #endRefused(payout: Payout): Promise<boolean> {
    const code = await loadPayoutRefusal(this.#parts.pool, tenantOf(payout), payout.id)
    if (code === null) return false
    if (await this.#isAllKnown({ payout, transactions: [] }))
      await this.#record(payout, { kind: 'dead', code, unspent: [] })
    return true
  }

  async #advance(one: TrackedPayout, status: ChainStatus): Promise<void> {
    const { payout, transactions } = one
    const { broadcaster } = this.#parts
    if (status.kind !== 'unread')
      this.#unsealed = this.#unsealed.filter(({ payout: { id } }) => id !== payout.id)
    switch (status.kind) {
      case 'unread':
        return
      case 'in_block':
        if (payout.status === 'failed')
          return this.#alarm(payout, PAID_AFTER_ALL, { mined: status.transaction.txid })
        if (payout.status === 'confirmed' && payout.txid !== status.transaction.txid)
          this.#alarm(payout, BOOKED_OTHERWISE, { mined: status.transaction.txid })
        // Confirmed for good: there is nothing to record.
        if (payout.status === 'confirmed') return
        await this.#record(payout, {
          kind: status.isFinal ? 'final' : 'sent',
          transaction: status.transaction,
        })
        return
      case 'dead':
        await this.#recordDead(one, { code: status.code, unspent: [] })
        return
      case 'absent':
        break
    }
    // The newest pays the most; an older one is offered only where no node takes the newer.
    for (const transaction of [...transactions].reverse()) {
      const verdict = await broadcaster.broadcast(transaction)
      if (verdict.kind === 'known') {
        broadcaster.accepted?.(payout)
        await this.#record(payout, { kind: 'sent', transaction })
        return
      }
      if (verdict.kind === 'refused') this.#alert(payout, verdict.reason)
    }
    if (payout.status === 'confirmed') return this.#alarm(payout, TAKEN_BACK)
    const dead = await broadcaster.judgeRefused(one)
    if (dead !== null && (await this.#isAllKnown(one))) await this.#recordDead(one, dead)
  }

  /** Whether the signer has looked into its journal since, and what was judged is all that it has. */
  async #isAllKnown({ payout, transactions }: TrackedPayout): Promise<boolean> {
    const { pool, network, clock } = this.#parts
    const tenant = tenantOf(payout)
    if (!(await askJournal(pool, { ...tenant, intentId: payout.id, network }, clock()))) return false
    // What a restored database had forgotten came after these were read.
    return (await listPayoutTransactions(pool, tenant, payout.id)).length === transactions.length
  }

  async #recordDead(
    { payout, transactions }: TrackedPayout,
    dead: { readonly code: string; readonly unspent: readonly Outpoint[] },
  ): Promise<void> {
    await this.#parts.sealer.failed(
      payout.id,
      transactions.map(({ txid }) => txid),
    )
    await this.#record(payout, { kind: 'dead', ...dead })
  }

  async #record(payout: Payout, fact: PayoutFact): Promise<void> {
    const { pool, clock, log, notifier } = this.#parts
    const recorded = await recordPayout(
      { pool, clock },
      { tenant: tenantOf(payout), payoutId: payout.id, fact },
    )
    if (fact.kind === 'dead' && recorded.changed)
      log.error({ payoutId: payout.id, code: fact.code }, 'a payout failed')
    if (recorded.deliveries > 0) notifier.deliveriesWaiting()
  }

  #alarm({ id: payoutId, txid }: Payout, message: string, more: { readonly mined?: string } = {}): void {
    if (this.#alerts.isNew(payoutId, message)) this.#parts.log.error({ payoutId, txid, ...more }, message)
  }

  #alert(payout: Payout, reason: string): void {
    if (this.#alerts.isNew(payout.id, withoutNumbers(reason)))
      this.#parts.log.warn(
        { payoutId: payout.id, reason },
        'a node does not take the transaction of a payout',
      )
  }
}

const isEnded = ({ status }: Payout): boolean => status === 'confirmed' || status === 'failed'

const INTERVAL_MS = 1_000
/** After a fault of the node, or of our own, it is asked again this much later. */
const FAULT_PAUSE_MS = 5_000

/** Broadcasts and follows the payouts of some networks until stopped, each network independently. */
export function startPayoutTrackers(
  networks: readonly TrackedNetwork[],
  intervalMs = INTERVAL_MS,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const ended = Promise.all(networks.map((network) => keepTracking(network, intervalMs, stopping.signal)))
  return {
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

async function keepTracking(parts: TrackedNetwork, intervalMs: number, stop: AbortSignal): Promise<void> {
  const tracker = new PayoutTracker(parts)
  const { log, network, notifier, pause = pauseUnless } = parts
  while (!stop.aborted) {
    try {
      await tracker.pass()
      // The signer has its part in what is under way, and may be at rest in a process of its own.
      if (tracker.isBusy) notifier.activity()
      await (tracker.isBusy ? pauseUnless : pause)(stop, intervalMs)
    } catch (error) {
      if (stop.aborted) return
      // The watcher already reports that a node is away.
      if (error instanceof ChainUnavailable) log.debug({ err: error, network }, 'payouts wait for their node')
      else log.error({ err: error, network }, 'payouts cannot be followed')
      await pauseUnless(stop, FAULT_PAUSE_MS)
    }
  }
}

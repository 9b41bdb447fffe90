import {
  type ChainAdapter,
  ChainHalted,
  ChainSyncing,
  ChainUnavailable,
  type ProviderAgreement,
} from '../chain/adapter.ts'
import type { Network } from '../core/assets.ts'
import type { BlockTags } from '../core/finality.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { type NetworkStatus, saveChainMinimum, saveNetworkHealth } from '../db/chain/network-state.ts'
import { isAnyDueBefore } from '../flows/expire-invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Activity } from '../runtime/activity.ts'
import { createAutoResetEvent } from '../runtime/auto-reset-event.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import { applyFinality, type FinalityParts } from './apply-finality.ts'
import { describeFailure, healthKey } from './describe-failure.ts'
import { findCheckpoint, refuseOtherChain, rememberIdentity } from './find-checkpoint.ts'
import { type Leadership, takeLeadership } from './leadership.ts'
import { expireDue, LeadershipLost, type RecordingParts } from './record-facts.ts'
import { recordMempool, recordUpdate } from './record-reading.ts'
import { TokenReadingPace } from './token-reading-pace.ts'
import { AddressWatch } from './watch-addresses.ts'

const BLOCKS_PER_UPDATE = 100
const POLL_INTERVAL_MS = 1_000
/** How often the chain is asked for its smallest amount. */
const MINIMUM_INTERVAL_MS = 600_000
/** The least pause between two passes; besides, at most half of the time is spent looking at the tip. */
const PASS_PAUSE_MS_MIN = 10
const BACKOFF_MS_MIN = 250
const BACKOFF_MS_MAX = 5_000
/** What a person has to fix is tried again this often, in case they have. */
const HALTED_RETRY_MS = 10_000
const UPKEEP_INTERVAL_MS = 1_000
/** Readings in a row of a node whose tip and mempool never match. */
const READINGS_MAX = 10

/** Reports a watcher's progress, for metrics and benchmarks. */
type WatcherObserver = {
  onBlock?(network: Network, height: number): void
  onPass?(network: Network, durationMs: number): void
  onHealth?(network: Network, status: NetworkStatus, reason: string | null): void
}

/** One walk to the tip. */
type Pass = {
  readonly checkpoint: BlockRef
  /** How long reading the tip and its mempool took, after the last block was recorded. */
  readonly tipMs: number
  /** Whether the next pass should begin at once. */
  readonly hasMore: boolean
}

export type FollowOptions = {
  readonly adapter: ChainAdapter
  readonly pool: Pool
  /** Connection string of the same database role: leadership is a lock on a connection of its own. */
  readonly connectionString: string
  readonly clock: Clock
  readonly log: Log
  readonly notifier: RecordingParts['notifier']
  /** What several providers must agree on before value is final; absent where one alone decides. */
  readonly agreement?: ProviderAgreement
  readonly pollIntervalMs?: number
  /** In place of the adapter's own way, where the chain itself reports every change: nothing is asked meanwhile. */
  readonly subscribe?: (wake: () => void) => () => void
  /** Decides when the loops may rest; without it they never do. */
  readonly activity?: Activity
  /** How payment links in events identify private test networks. */
  readonly identityOf?: ChainIdentities
  /** Host names of the providers whose tip and mempool are read at the moment. */
  readonly readFrom?: () => readonly string[]
  /** Pause after a halt, before the outside world is looked at again. */
  readonly haltedRetryMs?: number
  /** Longest pause between attempts to follow a failing chain. */
  readonly backoffMsMax?: number
  /** How often health and deadlines are updated while nothing else happens. */
  readonly upkeepIntervalMs?: number
  readonly observer?: WatcherObserver
}

/**
 * Follows one network until stopped. Of all processes that try, one leads and the others stand by. Resolves
 * once everything has ended.
 */
export async function followNetwork(options: FollowOptions, stop: AbortSignal): Promise<void> {
  const { activity, adapter, connectionString, log } = options
  const onError = (error: unknown) =>
    log.warn({ err: error, network: adapter.network }, 'could not compete for leadership of a network')
  while (!stop.aborted) {
    const leadership = await takeLeadership(connectionString, adapter.network, stop, onError, activity?.pause)
    if (leadership === null) return
    log.info({ network: adapter.network }, 'this process follows the network')
    const session = new LeadershipSession(options, leadership)
    try {
      await session.run(AbortSignal.any([stop, leadership.lost]))
    } finally {
      await release(leadership, log)
    }
  }
}

async function release(leadership: Leadership, log: Log): Promise<void> {
  try {
    await leadership.release()
  } catch (error) {
    // The connection is gone, and with it the lock.
    log.debug({ err: error }, 'the connection that held leadership ended by itself')
  }
}

/** What one process does for a network while it leads. */
class LeadershipSession {
  readonly #options: FollowOptions
  readonly #parts: FinalityParts
  readonly #wake = createAutoResetEvent()
  readonly #addresses: AddressWatch
  #lastUpkeepMs = 0
  #lastHealth = ''
  #lastSilence: string | null = null
  #isHalted = false
  /** Why payments wait for a second look at their block. */
  #waiting: string | null = null
  /** Which invoice cannot be expired, and why. */
  #unexpired: string | null = null
  #minimumReadAt = 0

  constructor(options: FollowOptions, leadership: Leadership) {
    const { adapter, pool, clock, notifier, agreement = null, identityOf } = options
    this.#options = options
    this.#addresses = new AddressWatch(options, leadership)
    const onWaiting = (reason: string | null) => {
      this.#waiting = reason
    }
    const shared = {
      adapter,
      pool,
      clock,
      notifier,
      agreement,
      identityOf,
      leadership,
      failedChecks: new Map(),
      tokenReading: new TokenReadingPace(),
    }
    this.#parts = { ...shared, onWaiting, onShortfall: (missing) => reportShortfall(options, missing) }
  }

  async run(stop: AbortSignal): Promise<void> {
    const { activity, haltedRetryMs = HALTED_RETRY_MS, backoffMsMax = BACKOFF_MS_MAX } = this.#options
    const watching = this.#addresses.keep(stop, activity?.pause ?? pauseUnless)
    let backoffMs = BACKOFF_MS_MIN
    while (!stop.aborted) {
      const before = performance.now()
      try {
        await this.#follow(stop)
      } catch (error) {
        if (stop.aborted) break
        if (error instanceof LeadershipLost) {
          this.#options.log.warn({ err: error }, 'leadership was lost')
          break
        }
        // After a while of success the pauses start short again.
        if (performance.now() - before > backoffMsMax) backoffMs = BACKOFF_MS_MIN
        await this.#report(error)
        await pauseUnless(stop, error instanceof ChainHalted ? haltedRetryMs : backoffMs)
        backoffMs = Math.min(backoffMsMax, backoffMs * 2)
      }
    }
    await watching
  }

  /** Connects and follows until something fails. */
  async #follow(stop: AbortSignal): Promise<void> {
    const { activity, adapter, pollIntervalMs = POLL_INTERVAL_MS, observer, subscribe } = this.#options
    await this.#addresses.load()
    const { parameters, health } = await adapter.connect()
    if (health.status === 'syncing') throw new ChainSyncing(health.reason)
    if (health.status !== 'ok') throw new ChainUnavailable(health.reason)
    let checkpoint = await findCheckpoint(this.#parts, parameters, this.#options.log)
    // At its genesis block a private chain cannot be told from another one yet.
    let isUnnamed = checkpoint.height === 0
    await this.#readMinimum()
    const unsubscribe = (subscribe ?? ((wake) => adapter.subscribe(wake)))(this.#wake.signal)
    const forget = activity?.onStir(this.#wake.signal)
    try {
      while (!stop.aborted) {
        const before = performance.now()
        const pass = await this.#pass(checkpoint, stop)
        checkpoint = pass.checkpoint
        if (isUnnamed && checkpoint.height > 0) isUnnamed = !(await rememberIdentity(this.#parts))
        if (performance.now() - this.#minimumReadAt > MINIMUM_INTERVAL_MS) await this.#readMinimum()
        observer?.onPass?.(adapter.network, performance.now() - before)
        if (pass.hasMore) continue
        await pauseUnless(stop, Math.max(PASS_PAUSE_MS_MIN, pass.tipMs))
        await this.#wake.wait((await this.#restMs()) ?? pollIntervalMs, stop)
      }
    } finally {
      forget?.()
      unsubscribe()
    }
  }

  /** How long nothing is to be looked for unless the chain reports a change; null where no rest is due. */
  async #restMs(): Promise<number | null> {
    const { activity, adapter, clock, pool, subscribe } = this.#options
    if (subscribe === undefined || activity?.isResting !== true) return null
    const wakeAt = new Date(clock().getTime() + activity.restMs)
    return (await isAnyDueBefore(pool, adapter.network, wakeAt)) ? null : activity.restMs
  }

  /**
   * Reads the chain's own smallest amount, which changes rarely; where the chain sets one, nothing is sold before it
   * is known.
   */
  async #readMinimum(): Promise<void> {
    const { adapter, pool } = this.#options
    this.#minimumReadAt = performance.now()
    const minimum = await adapter.minimumAmount?.()
    if (minimum !== undefined) await saveChainMinimum(pool, adapter.network, minimum)
  }

  get #notice(): string | null {
    const chain = this.#parts.agreement?.notice ?? this.#options.adapter.notice ?? null
    return [chain, this.#waiting, this.#unexpired].filter((each) => each !== null).join('; ') || null
  }

  /**
   * Walks to the tip and reads the mempool there. A step that reached the tip of its time ends the walk, though more have
   * come since: where blocks come faster than one is read, no look at the tip ever finds nothing new.
   */
  async #pass(start: BlockRef, stop: AbortSignal): Promise<Pass> {
    const { adapter, clock } = this.#options
    let checkpoint = start
    let readings = 0
    let recordedMs = performance.now()
    while (!stop.aborted) {
      const beganAt = clock()
      const moved = await this.#step(checkpoint)
      if (moved !== null) {
        if (moved.checkpoint.hash !== checkpoint.hash) readings = 0
        checkpoint = moved.checkpoint
        recordedMs = performance.now()
      }
      if (moved === null || moved.isTip) {
        const mempool = await adapter.readMempool()
        if (mempool?.tip.hash === checkpoint.hash) {
          await recordMempool(this.#parts, mempool)
          const tipMs = performance.now() - recordedMs
          const { blockTags, hasMore } = await applyFinality(this.#parts, checkpoint)
          await this.#finishReading(beganAt, checkpoint, blockTags)
          return { checkpoint, tipMs, hasMore }
        }
      }
      readings += 1
      if (readings > READINGS_MAX) throw new ChainUnavailable('the node reports another tip on each request')
    }
    return { checkpoint, tipMs: performance.now() - recordedMs, hasMore: false }
  }

  /** One step along the chain. Null at its tip; the same checkpoint where the chain moved meanwhile. */
  async #step(
    checkpoint: BlockRef,
  ): Promise<{ readonly checkpoint: BlockRef; readonly isTip: boolean } | null> {
    const { adapter, observer } = this.#options
    const update = await adapter.nextUpdate(checkpoint, BLOCKS_PER_UPDATE)
    if (update === null) return null
    if (update.ancestor.hash !== checkpoint.hash) await refuseOtherChain(this.#parts)
    const moved = await recordUpdate(this.#parts, checkpoint, update)
    if (moved === null) return { checkpoint, isTip: false }
    for (const { block } of update.blocks) observer?.onBlock?.(adapter.network, block.height)
    // A halted network stays halted until a whole pass succeeds.
    if (!this.#isHalted) await this.#saveHealth('ok', this.#notice, { tipHeight: update.tip.height })
    return { checkpoint: moved, isTip: moved.hash === update.tip.hash }
  }

  /** The tip and mempool were read in full, beginning at `beganAt`: what was not paid by then may expire. */
  async #finishReading(beganAt: Date, tip: BlockRef, blockTags: BlockTags | null): Promise<void> {
    const { adapter, readFrom, upkeepIntervalMs = UPKEEP_INTERVAL_MS } = this.#options
    const isDue = Math.abs(beganAt.getTime() - this.#lastUpkeepMs) >= upkeepIntervalMs
    if (!isDue && this.#lastHealth === healthKey('ok', this.#notice)) return
    this.#lastUpkeepMs = beganAt.getTime()
    const { height: tipHeight, hash: tipHash } = tip
    const readAtMs = beganAt.getTime()
    const reading = { network: adapter.network, readAtMs, tipHeight, tipHash, providers: readFrom?.() ?? [] }
    this.#unexpired = await expireDue(this.#parts, reading)
    await this.#saveHealth('ok', this.#notice, { tipHeight, readAt: beganAt, blockTags })
  }

  async #report(error: unknown): Promise<void> {
    const { adapter, log } = this.#options
    const { status, reason } = describeFailure(error)
    const known = error instanceof ChainUnavailable || error instanceof ChainHalted
    if (this.#lastHealth !== healthKey(status, reason) || !known) {
      // Temporary failures are warnings; what a person must look at, and what nobody foresaw, is an error.
      const level = error instanceof ChainUnavailable ? 'warn' : 'error'
      log[level]({ err: error, network: adapter.network, status }, 'the network cannot be followed')
    }
    try {
      await this.#saveHealth(status, reason, {})
    } catch (failure) {
      log.error({ err: failure, network: adapter.network }, 'the state of a network could not be written')
    }
  }

  async #saveHealth(
    status: NetworkStatus,
    reason: string | null,
    reading: { tipHeight?: number; readAt?: Date; blockTags?: BlockTags | null },
  ): Promise<void> {
    const { adapter, pool, clock, log, observer } = this.#options
    const { notificationsSilent = null, network } = adapter
    const health = { status, reason, ...reading, notificationsSilent, now: clock() }
    await saveNetworkHealth(pool, network, health)
    if (this.#lastSilence !== notificationsSilent && notificationsSilent !== null)
      log.warn({ network }, notificationsSilent)
    this.#lastSilence = notificationsSilent
    if (this.#lastHealth === healthKey(status, reason)) return
    this.#lastHealth = healthKey(status, reason)
    this.#isHalted = status === 'halted'
    if (status === 'ok' && reason !== null) log.warn({ network: adapter.network }, reason)
    observer?.onHealth?.(adapter.network, status, reason)
  }
}

function reportShortfall(
  { adapter, log }: FollowOptions,
  { tenant, invoiceId, asset, amount }: Parameters<NonNullable<RecordingParts['onShortfall']>>[0],
): void {
  const { merchantId, livemode } = tenant
  log.error(
    { network: adapter.network, merchantId, livemode, invoiceId, asset, amount: amount.toString() },
    'the chain took back a deposit that had been paid out: the merchant owes it, and gets no payout of this asset until it is made up for',
  )
}

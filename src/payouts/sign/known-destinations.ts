import type { Payout } from '../../core/payout/payout.ts'
import { COOL_OFF_MS } from '../../core/payout/payout-limits.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import {
  hasBegunList,
  type ListedDestination,
  listLiveDestinations,
  listLiveFeeDestinations,
  listUnsightedDestinations,
  saveBegunList,
  saveSightings,
} from '../store/destination-sightings.ts'
import type { FirstSeen } from './first-seen.ts'

/** The kind of these lines in the signer's file. */
const KIND = 'live_destination'
const LOOK_EVERY_MS = 10_000
/**
 * New destinations accepted in one look: fewer than delivery warns of in the same time, so that thousands of planted rows
 * neither fill the disk nor keep the warning of another waiting until it can be paid.
 */
const NEW_MAX = 2
const PAGE = 1_000
/** Pages of destinations read when the signer starts. */
const PAGES_MAX = 10_000
/** More than an operator ever lists. */
const FEE_DESTINATIONS_MAX = 1_000

type Deps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly seen: FirstSeen
}

/** What a destination is known by. Its id is new when a removed address is added again, which therefore waits again. */
const keyOf = ({ merchantId, id, asset, address }: Omit<ListedDestination, 'usableAt'>): string =>
  [merchantId ?? 'operator', id, asset, address].join(' ')

/** From when on a live payout may be signed as far as its destination goes; null where the signer has not seen that yet. */
export async function payableFrom(seen: FirstSeen, payout: Payout, now: Date): Promise<Date | null> {
  const { source, destinationId: id, asset, destination: address } = payout
  const merchantId = source === 'fees' ? null : payout.merchantId
  const key = keyOf({ merchantId, id, asset, address })
  // Seen while the clock was ahead: it counts from now on, not from a time that may be years away.
  if ((seen.since(KIND, key) ?? now) > now) await seen.note(KIND, [{ key, seenAt: now }])
  const since = seen.since(KIND, key)
  return since === null ? null : payableAt(since)
}

const payableAt = (since: Date): Date => new Date(since.getTime() + COOL_OFF_MS)

/** The signer's own list of live destinations: when it first saw each, whatever the database says of that. */
export class KnownDestinations {
  readonly #deps: Deps
  #lookedAtMs: number | null = null
  #hasMore = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Whether the last look took as many as it may: others may wait for the next. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  /** Takes up what is new, every ten seconds; the first time all is compared with the signer's file. */
  async look(): Promise<void> {
    const now = this.#deps.clock()
    const isFirst = this.#lookedAtMs === null
    if (!isFirst && Math.abs(now.getTime() - (this.#lookedAtMs ?? 0)) < LOOK_EVERY_MS) return
    if (isFirst) await this.#compareAll(now)
    const unsighted = await listUnsightedDestinations(this.#deps.pool, NEW_MAX)
    await this.#takeUp(unsighted, now)
    this.#hasMore = unsighted.length === NEW_MAX
    await this.#takeUp(await listLiveFeeDestinations(this.#deps.pool, FEE_DESTINATIONS_MAX), now)
    this.#lookedAtMs = now.getTime()
  }

  async #compareAll(now: Date): Promise<void> {
    const { pool, seen } = this.#deps
    // This is the only moment at which the times in the rows are believed.
    if (!seen.hasBegun(KIND)) await this.#begin(!(await hasBegunList(pool, KIND)), now)
    await saveBegunList(pool, KIND, now)
    for await (const page of pagesOf(pool)) {
      // What the signer has never seen waits for its turn, as ever.
      const seenOnce = page.filter((one) => one.isSighted || seen.since(KIND, keyOf(one)) !== null)
      await this.#takeUp(seenOnce, now)
    }
  }

  /** Begins the list: from the database if there never was a list, empty if one was lost. */
  async #begin(isFirstEver: boolean, now: Date): Promise<void> {
    const { pool, seen, log } = this.#deps
    const listed: ListedDestination[] = []
    if (isFirstEver) {
      listed.push(...(await listLiveFeeDestinations(pool, FEE_DESTINATIONS_MAX)))
      for await (const page of pagesOf(pool)) listed.push(...page)
    } else {
      log.error(
        { until: payableAt(now).toISOString() },
        'the signer has lost its list of live destinations (first-seen.jsonl): live payouts wait until it has known their destinations for a day again',
      )
    }
    const known = listed.map((one) => ({
      key: keyOf(one),
      seenAt: new Date(one.usableAt.getTime() - COOL_OFF_MS),
    }))
    await seen.begin(KIND, known, now)
  }

  async #takeUp(listed: readonly ListedDestination[], now: Date): Promise<void> {
    const { pool, seen, log } = this.#deps
    const unknown = listed.filter((one) => seen.since(KIND, keyOf(one)) === null)
    await seen.note(
      KIND,
      listed.map((one) => ({ key: keyOf(one), seenAt: now })),
    )
    for (const { merchantId, id, asset, address } of unknown)
      log.warn(
        { merchantId, id, asset, address },
        'a live payout destination is new; it can be paid in a day',
      )
    const sightings = listed.flatMap((one) => {
      const since = seen.since(KIND, keyOf(one))
      // The operator's list is reported to nobody: writing to it takes a key of the operator's.
      return since === null || one.merchantId === null ? [] : [{ ...one, payableAt: payableAt(since) }]
    })
    if (sightings.length > 0) await saveSightings(pool, sightings, now)
  }
}

async function* pagesOf(pool: Pool): AsyncGenerator<Awaited<ReturnType<typeof listLiveDestinations>>> {
  let after = { merchantId: '', id: '' }
  for (let page = 0; page < PAGES_MAX; page++) {
    const rows = await listLiveDestinations(pool, after, PAGE)
    if (rows.length > 0) yield rows
    const last = rows.at(-1)
    if (rows.length < PAGE || last === undefined) return
    after = { merchantId: last.merchantId, id: last.id }
  }
}

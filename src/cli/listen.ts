import type { Config } from '../config/config.ts'
import { checkEndpointUrl } from '../core/endpoint/endpoint-url.ts'
import { formatId, uuidv7 } from '../core/ids.ts'
import { type FeedEvent, listEventIdsAfter, loadEvents } from '../db/delivery/events.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import { RECEIVER_DEADLINE_MS, signedHeaders } from '../delivery/send.ts'
import { listenFor } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import { type AutoResetEvent, createAutoResetEvent } from '../runtime/auto-reset-event.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { openDataDir } from '../runtime/data-dir.ts'
import { describeError } from '../runtime/log.ts'
import { signingSecretFrom } from '../secrets/signing-secret.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { openCommandKeyring } from './open-seals.ts'
import { readDemoShop } from './seed-sandbox.ts'
import { UsageError } from './usage-error.ts'

/** Notifications make it sooner; most events have one. */
const POLL_MS = 500
const FAULT_PAUSE_MS = 500
const SECRET_PURPOSE = 'listen-secret'

type ListenOptions = { readonly forwardTo: string; readonly merchant?: string }

/**
 * `paylink listen`: forwards a merchant's test events, from now on, to a receiver on the developer's machine,
 * signed as a delivery is. Each is sent once: this is to see a receiver at work, and endpoints are what retries.
 * Runs until it is interrupted; exit code 0.
 */
export async function listenCommand(options: ListenOptions, output: Output): Promise<number> {
  const url = parseTarget(options.forwardTo)
  const stop = new AbortController()
  const wake = createAutoResetEvent()
  const onSignal = (): void => {
    stop.abort()
    wake.signal()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, onSignal)
  try {
    return await withOwnerPool(async (pool, config, ownerUrl) => {
      const merchant = await findMerchant(pool, config, options.merchant)
      const secret = await listenSecret(config, pool, merchant.id)
      const tenant: Tenant = { merchantId: merchant.id, livemode: false }
      const feed = await openEventFeed({ pool, clock: systemClock }, tenant)
      output.line(`Forwarding test events of ${merchant.name} (${merchant.id}) to ${url}`)
      output.line(`Signing secret   ${secret}   (the same every time)`)
      output.line('Stop with Ctrl-C.')
      await forward({ feed, wake, ownerUrl, url, secret, output, stop: stop.signal })
      return 0
    })
  } finally {
    for (const name of signals) process.off(name, onSignal)
  }
}

function parseTarget(text: string): string {
  // Whatever the developer's machine can reach, it may: the events are theirs and of test mode.
  const check = checkEndpointUrl(text, { allowPrivate: true })
  if (check.kind === 'accepted') return text
  throw new UsageError(
    '--forward-to must be a URL such as http://localhost:4000/webhooks, without credentials',
  )
}

async function findMerchant(
  pool: Pool,
  config: Config,
  given: string | undefined,
): Promise<{ id: string; name: string }> {
  const id = given ?? (await readDemoShop(config))?.merchant_id
  const name = id === undefined ? null : await loadMerchantName(pool, id)
  if (id !== undefined && name !== null) return { id, name }
  throw new UsageError(
    given === undefined
      ? 'there is no demo shop here: name a merchant with --merchant, or start the sandbox first'
      : `No such merchant: ${given}. Create one with "paylink merchant create".`,
  )
}

/** Derived, not stored: the same every time for a merchant of this installation, and of use for nothing else. */
async function listenSecret(config: Config, pool: Pool, merchantId: string): Promise<string> {
  await openDataDir(config.dataDir)
  const keyring = await openCommandKeyring(config, pool)
  return signingSecretFrom(keyring.mac(SECRET_PURPOSE, Buffer.from(merchantId, 'utf8')))
}

type Forwarding = {
  readonly feed: EventFeed
  readonly wake: AutoResetEvent
  readonly ownerUrl: string
  readonly url: string
  readonly secret: string
  readonly output: Output
  readonly stop: AbortSignal
}

async function forward(forwarding: Forwarding): Promise<void> {
  const { feed, wake, output, stop } = forwarding
  const listener = listenFor(forwarding.ownerUrl, {
    onInvoiceChanged: wake.signal,
    onDeliveriesWaiting: wake.signal,
    onConnect: wake.signal,
  })
  let isAway = false
  try {
    while (!stop.aborted) {
      try {
        const events = await feed.read()
        if (isAway) output.line('· events can be read again: going on where it stopped')
        isAway = false
        for (const event of events) await forwardOne(forwarding, event)
        if (events.length === 0) await wake.wait(POLL_MS)
      } catch (error) {
        // It is reported once, however long it lasts.
        if (!isAway) output.problem(`events cannot be read, trying again: ${describeError(error)}`)
        isAway = true
        await wake.wait(FAULT_PAUSE_MS)
      }
    }
  } finally {
    await listener.close()
  }
}

async function forwardOne(forwarding: Forwarding, event: FeedEvent): Promise<void> {
  if (forwarding.stop.aborted) return
  const startedAt = performance.now()
  const answer = await post(forwarding, event)
  // Whoever interrupts does not wait for a receiver that hangs, nor asks how it went.
  if (forwarding.stop.aborted) return
  const isTaken = answer.status !== null && answer.status >= 200 && answer.status < 300
  const now = systemClock().toISOString().slice(11, 19)
  const what = `${event.eventType.padEnd(TYPE_COLUMNS)} ${event.resourceId} #${event.sequence}`
  const ms = Math.round(performance.now() - startedAt)
  // `✓ 09:30:00 invoice.paid              inv_01jd… #4  200 in 12 ms`; the time is UTC.
  forwarding.output.line(`${isTaken ? '✓' : '✗'} ${now} ${what}  ${answer.text} in ${ms} ms`)
}

/** The longest type there is, so that what follows stands in columns. */
const TYPE_COLUMNS = 'invoice.payment_detected'.length

type Answer = { readonly status: number | null; readonly text: string }

/** One POST as a delivery makes it: the same headers and deadline, no redirects. */
async function post({ url, secret, stop }: Forwarding, event: FeedEvent): Promise<Answer> {
  const unixSeconds = Math.floor(systemClock().getTime() / 1_000)
  const deadline = AbortSignal.timeout(RECEIVER_DEADLINE_MS)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: signedHeaders({ ...event, eventId: event.id, secrets: [secret] }, unixSeconds),
      body: new Uint8Array(event.body),
      redirect: 'manual',
      signal: AbortSignal.any([deadline, stop]),
    })
    await response.body?.cancel()
    return { status: response.status, text: String(response.status) }
  } catch (error) {
    if (deadline.aborted) return { status: null, text: 'no answer: too late' }
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return { status: null, text: `no answer: ${describeError(cause)}` }
  }
}

/**
 * An id says when its event was made, not when its transaction committed: one with an earlier id can appear after
 * a later one. So the feed reads this much of the past again, and remembers what it has given. No transaction
 * lasts as long (statements end after 30 seconds), and hosts' clocks are not as far apart.
 */
const OVERLAP_MS = 120_000
const PAGE_IDS = 1_000
/** 100,000 events within the overlap: nobody reads along any more. */
const PAGES_MAX = 100
/** Bodies of one read; the rest comes with the next. */
const EVENTS_MAX = 100

const NO_RANDOM_BITS = new Uint8Array(10)

/** A merchant's events of one mode, as they are committed, from the moment it was opened. */
type EventFeed = {
  /** Events that were not given before, in the order in which they were made; empty where there are none. */
  read(): Promise<FeedEvent[]>
}

export async function openEventFeed(deps: { pool: Pool; clock: Clock }, tenant: Tenant): Promise<EventFeed> {
  const given = new Set<string>()
  let floor = floorAt(deps.clock)

  const listNew = async (tx: Tx): Promise<string[]> => {
    const ids: string[] = []
    let after = floor
    for (let page = 0; page < PAGES_MAX; page++) {
      const found = await listEventIdsAfter(tx, tenant, after, PAGE_IDS)
      ids.push(...found.filter((id) => !given.has(id)))
      const last = found.at(-1)
      if (found.length < PAGE_IDS || last === undefined) return ids
      after = last
    }
    throw new Error(
      `more than ${PAGES_MAX * PAGE_IDS} events in ${OVERLAP_MS / 1_000} seconds cannot be followed`,
    )
  }

  const moveFloor = (to: string): void => {
    floor = to
    for (const id of given) if (id <= floor) given.delete(id)
  }

  // What is there already is not news.
  for (const id of await withTransaction(deps.pool, tenant, listNew)) given.add(id)
  return {
    read: async () => {
      const nextFloor = floorAt(deps.clock)
      const { events, isAll } = await withTransaction(deps.pool, tenant, async (tx) => {
        const ids = await listNew(tx)
        const taken = ids.slice(0, EVENTS_MAX)
        const loaded = taken.length === 0 ? [] : await loadEvents(tx, tenant, taken)
        return { events: loaded, isAll: taken.length === ids.length }
      })
      for (const { id } of events) given.add(id)
      // After an outage there may be more than the overlap to catch up on: nothing unread is left behind.
      if (isAll) moveFloor(nextFloor)
      return events.sort((one, other) => one.createdAtMs - other.createdAtMs || one.sequence - other.sequence)
    },
  }
}

/** The lowest id of the moment where the overlap begins. */
function floorAt(clock: Clock): string {
  return formatId('event', uuidv7(clock().getTime() - OVERLAP_MS, NO_RANDOM_BITS))
}

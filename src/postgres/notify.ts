import pg from 'pg'
import { type Pool, SESSION_OPTIONS } from './pool.ts'

const INVOICE_CHANNEL = 'paylink_invoice'
const DELIVERY_CHANNEL = 'paylink_delivery'
const ACTIVITY_CHANNEL = 'paylink_activity'

/** Notifications only save a poll: at most twenty rounds a second leave a process. */
const ROUND_INTERVAL_MS = 50
/** PostgreSQL takes payloads under 8,000 bytes; an id has 30. */
const IDS_PER_PAYLOAD = 200
/** Beyond this many waiting ids further hints are dropped: whoever waits for them polls. */
const WAITING_IDS_MAX = 20_000

export type Notifier = {
  /** To be called after the commit that changed the invoice. */
  invoiceChanged(invoiceId: string): void
  /** To be called after the commit that wrote deliveries. */
  deliveriesWaiting(): void
  /** To be called after any other commit that a background loop has work from: loops at rest go on. */
  activity(): void
  /** Sends what is waiting, and nothing after that. */
  close(): Promise<void>
}

/**
 * Notifies other processes after a commit. Never inside a transaction: NOTIFY there makes commits queue behind one
 * another. A notification that fails is reported to `onError` and dropped, since every listener also polls.
 */
export function createNotifier(pool: Pool, onError: (error: Error) => void = () => {}): Notifier {
  const invoiceIds = new Set<string>()
  let deliveries = false
  let activity = false
  let timer: NodeJS.Timeout | undefined
  let lastRoundAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> = Promise.resolve()
  let closed = false

  const sendRound = async (): Promise<void> => {
    timer = undefined
    lastRoundAt = performance.now()
    const ids = [...invoiceIds].slice(0, IDS_PER_PAYLOAD)
    for (const id of ids) invoiceIds.delete(id)
    const withDeliveries = deliveries
    deliveries = false
    const withActivity = activity
    activity = false
    try {
      if (ids.length > 0) await pool.query('select pg_notify($1, $2)', [INVOICE_CHANNEL, ids.join(',')])
      if (withDeliveries) await pool.query('select pg_notify($1, $2)', [DELIVERY_CHANNEL, ''])
      // Each of the others is a sign of activity too.
      if (withActivity && ids.length === 0 && !withDeliveries) await notifyActivity(pool)
    } catch (error) {
      onError(error instanceof Error ? error : new Error('a notification failed', { cause: error }))
    }
    if (invoiceIds.size > 0 || deliveries || activity) schedule()
  }

  const schedule = (): void => {
    if (timer !== undefined || closed) return
    const wait = Math.max(0, lastRoundAt + ROUND_INTERVAL_MS - performance.now())
    timer = setTimeout(() => {
      running = running.then(sendRound)
    }, wait)
  }

  return {
    invoiceChanged: (invoiceId) => {
      if (invoiceIds.size >= WAITING_IDS_MAX) return
      invoiceIds.add(invoiceId)
      schedule()
    },
    deliveriesWaiting: () => {
      deliveries = true
      schedule()
    },
    activity: () => {
      activity = true
      schedule()
    },
    close: async () => {
      closed = true
      if (timer !== undefined) {
        clearTimeout(timer)
        running = running.then(sendRound)
      }
      await running
    },
  }
}

/** One notification of activity, at once: for a loop that sends no more than one a round. */
export async function notifyActivity(pool: Pool): Promise<void> {
  await pool.query('select pg_notify($1, $2)', [ACTIVITY_CHANNEL, ''])
}

const RECONNECT_MS_MIN = 100
const RECONNECT_MS_MAX = 5_000
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_DELAY_MS = 10_000
/** A connection that was cut off without a word is found out by a question that stays without an answer. */
const LOOK_INTERVAL_MS = 10_000
const ANSWER_MS_MAX = 5_000

export type Listener = {
  /** Resolves when the listener is first connected; listening goes on by itself. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

/**
 * Listens on its own connection and reconnects by itself, with a pause that doubles up to five seconds, also where the
 * connection only stopped answering. `onConnect` is called each time that it begins to hear: what was notified before
 * was missed.
 */
export function listenFor(
  connectionString: string,
  on: {
    onInvoiceChanged?: (invoiceId: string) => void
    onDeliveriesWaiting?: () => void
    /** Called for a notification of any kind. */
    onActivity?: () => void
    onConnect?: () => void
    /** Called once when a connection is lost, not for every attempt to get it back. */
    onLost?: (error: Error) => void
  },
  /** Pause between two questions whether the connection still answers, and how long it may take; for tests. */
  { lookIntervalMs = LOOK_INTERVAL_MS, answerMsMax = ANSWER_MS_MAX } = {},
): Listener {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let nextLook: NodeJS.Timeout | undefined
  let pause = RECONNECT_MS_MIN
  let closed = false
  let lost = false
  let markReady = (): void => {}
  const ready = new Promise<void>((resolve) => {
    markReady = resolve
  })

  const again = (error: Error): void => {
    if (closed || timer !== undefined) return
    if (!lost) on.onLost?.(error)
    lost = true
    timer = setTimeout(() => {
      timer = undefined
      void connect()
    }, pause)
    pause = Math.min(RECONNECT_MS_MAX, pause * 2)
  }

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString,
      application_name: 'paylink-listen',
      options: SESSION_OPTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: answerMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    })
    client = next
    const drop = (error: Error): void => {
      if (client !== next) return
      client = undefined
      clearTimeout(nextLook)
      next.removeAllListeners('notification')
      next.end().catch(() => {
        // It is gone already, and a new connection follows.
      })
      again(error)
    }
    const look = (): void => {
      next.query('select').then(lookLater, drop)
    }
    const lookLater = (): void => {
      if (client === next) nextLook = setTimeout(look, lookIntervalMs)
    }
    next.on('error', drop)
    next.on('end', () => drop(new Error('the listening connection ended')))
    next.on('notification', (message) => dispatch(message, on))
    try {
      await next.connect()
      const hearsAll = on.onActivity !== undefined
      if (hearsAll) await next.query(`listen ${ACTIVITY_CHANNEL}`)
      if (hearsAll || on.onInvoiceChanged !== undefined) await next.query(`listen ${INVOICE_CHANNEL}`)
      if (hearsAll || on.onDeliveriesWaiting !== undefined) await next.query(`listen ${DELIVERY_CHANNEL}`)
    } catch (error) {
      drop(error instanceof Error ? error : new Error('listening failed', { cause: error }))
      return
    }
    lost = false
    pause = RECONNECT_MS_MIN
    markReady()
    lookLater()
    on.onConnect?.()
  }

  void connect()
  return {
    ready,
    close: async () => {
      closed = true
      clearTimeout(timer)
      clearTimeout(nextLook)
      const last = client
      client = undefined
      markReady()
      // An orderly end waits for the server, which a line that was cut never brings; nothing is under way.
      last?.connection.stream.destroy()
    },
  }
}

function dispatch(
  message: pg.Notification,
  on: {
    onInvoiceChanged?: (invoiceId: string) => void
    onDeliveriesWaiting?: () => void
    onActivity?: () => void
  },
): void {
  on.onActivity?.()
  if (message.channel === DELIVERY_CHANNEL) on.onDeliveriesWaiting?.()
  if (message.channel !== INVOICE_CHANNEL || message.payload === undefined) return
  for (const id of message.payload.split(',')) on.onInvoiceChanged?.(id)
}

import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'

/**
 * A socket that sends everything written in one turn of the event loop at once. Statements that do not wait for one
 * another, a handful of protocol messages each, then cost one system call together; a call costs more than a small
 * statement does.
 */
class GatheringSocket extends Socket {
  #gathering = false

  // Node's own overloads, of which only the first is ever used here.
  override write(chunk: Uint8Array | string, ...rest: unknown[]): boolean {
    if (!this.#gathering) {
      this.#gathering = true
      this.cork()
      process.nextTick(() => {
        this.#gathering = false
        this.uncork()
      })
    }
    return Reflect.apply(super.write, this, [chunk, ...rest])
  }

  override _writev(
    chunks: { chunk: Uint8Array | string; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    const parts = chunks.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    )
    // Node's own name for bytes that need no encoding; its types do not list it.
    this._write(Buffer.concat(parts), 'buffer' as BufferEncoding, callback)
  }
}

export type Pool = pg.Pool

/** What a query function needs: a pool, a client, or an open transaction. */
export type Queryable = {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<Row>>
}

const CONNECT_TIMEOUT_MS = 5_000
/** Longer than loops rest: opening a connection costs more than all that they ask. */
const IDLE_MS_MAX = 60_000
const STATEMENT_TIMEOUT_MS = 30_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000
/** The server ends a statement first, where it is there at all; after this a connection counts as cut off. */
const ANSWER_MS_MAX = STATEMENT_TIMEOUT_MS + 5_000
/** An idle connection to a machine that is gone is found out some ten seconds after that. */
const KEEP_ALIVE_DELAY_MS = 10_000

const optionsOf = (settings: readonly string[]): string => settings.map((one) => `-c ${one}`).join(' ')

/** A machine that is cut off holds its locks for 11 s of silence. */
const KEEPALIVE_SETTINGS = ['tcp_keepalives_idle=5', 'tcp_keepalives_interval=2', 'tcp_keepalives_count=3']
/** There are no keepalives while an answer is on its way: one that nobody takes ends the session as soon. */
const LINE_SETTINGS = [...KEEPALIVE_SETTINGS, 'tcp_user_timeout=11000']

/**
 * Of a connection for one piece of work, which asks from its side too: a server that gave up a line that was cut for a
 * while does not say so, and the answer would be waited for until the process ends.
 */
export const OWN_LINE = {
  options: optionsOf(LINE_SETTINGS),
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
} as const

/** The same for copies, whose other side may be slow: what they read waits on the line, however long. */
export const COPY_LINE = { ...OWN_LINE, options: optionsOf([...KEEPALIVE_SETTINGS, 'timezone=UTC']) } as const

/**
 * What every session of a process starts with. A role may set its own defaults (ALTER ROLE … SET), which outlive its
 * password; what a connection names at its start goes before them. So whoever had a login once cannot change what the
 * statements of the process mean, or stop its writes. Compiling a statement takes longer than running it.
 */
export const SESSION_OPTIONS = optionsOf([
  'search_path=public',
  'default_transaction_isolation=read\\ committed',
  'default_transaction_read_only=off',
  'default_transaction_deferrable=off',
  'synchronous_commit=on',
  'row_security=on',
  `statement_timeout=${STATEMENT_TIMEOUT_MS}`,
  'lock_timeout=0',
  'idle_session_timeout=0',
  ...LINE_SETTINGS,
  `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_TIMEOUT_MS}`,
  'DateStyle=ISO',
  'IntervalStyle=postgres',
  'TimeZone=UTC',
  'bytea_output=hex',
  'extra_float_digits=1',
  'standard_conforming_strings=on',
  'transform_null_equals=off',
  'jit=off',
])

const TYPE_INT8 = 20
const TYPE_TIMESTAMPTZ = 1184
const TYPE_NUMERIC = 1700

const FIRST_TIME_MS = Date.UTC(1000, 0)
const LAST_TIME_MS = Date.UTC(9999, 11, 31)

/**
 * PostgreSQL's times go to infinity, and further than a `Date` does. One that somebody wrote into a row must not stop
 * whoever reads it among other rows: beyond the years 1000 to 9999 it is read as their first or last day.
 */
function timeOf(text: string): Date {
  const ms = Number(pg.types.getTypeParser(TYPE_TIMESTAMPTZ)(text))
  if (Number.isNaN(ms)) return new Date(LAST_TIME_MS)
  return new Date(Math.min(Math.max(ms, FIRST_TIME_MS), LAST_TIME_MS))
}

/**
 * A pool of connections for one role. `bigint` columns come as numbers (heights and indexes stay far below
 * 2⁵³), `numeric` ones as `bigint`: every numeric column of ours is an integer of base units.
 */
export function openPool(options: {
  connectionString: string
  applicationName: string
  max: number
  onError: (error: Error) => void
  /** Of a role that row level security shows nothing, and lets write nothing, outside a tenant's transaction. */
  guarded?: boolean
  /** How long anybody waits for a connection, a free one of the pool included; for tests. */
  connectMsMax?: number
  /** How long a statement may stay without an answer before its connection is given up; for tests. */
  answerMsMax?: number
}): Pool {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    application_name: options.applicationName,
    max: options.max,
    // Statements that do not wait for one another's answers travel together.
    pipeline: true,
    stream: () => new GatheringSocket(),
    connectionTimeoutMillis: options.connectMsMax ?? CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS_MAX,
    options: SESSION_OPTIONS,
    query_timeout: options.answerMsMax ?? ANSWER_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: {
      getTypeParser: (oid: number, format?: string) => {
        if (oid === TYPE_INT8) return Number
        if (oid === TYPE_NUMERIC) return BigInt
        if (oid === TYPE_TIMESTAMPTZ) return timeOf
        return pg.types.getTypeParser(oid, format as 'text')
      },
    } as pg.CustomTypesConfig,
  })
  // A connection that dies while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', options.onError)
  // If one dies while it is held, its holder sees the query fail; the event says it again, and
  // without a listener it too would end the process.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    endOnUnreadable(client)
  })
  if (options.guarded === true) guardedPools.add(pool)
  return pool
}

/**
 * An answer that cannot be read, such as a value longer than a string can be, ends its connection, and the query
 * fails. pg parses as data comes and catches nothing there: such an answer would end the process.
 */
function endOnUnreadable(client: pg.PoolClient): void {
  // Also the socket of TLS, which pg makes around ours. Its types do not name it.
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection
  for (const read of stream.listeners('data')) {
    stream.off('data', read as (chunk: Buffer) => void)
    stream.on('data', (chunk: Buffer) => {
      try {
        read(chunk)
      } catch (error) {
        stream.destroy(error instanceof Error ? error : new Error(String(error)))
      }
    })
  }
}

const guardedPools = new WeakSet<Pool>()

/** Whether a statement that finds itself outside its transaction can do no harm on this pool's connections. */
export const isGuarded = (pool: Pool): boolean => guardedPools.has(pool)

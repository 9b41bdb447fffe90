import { createServer } from 'node:net'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { withDatabaseParts } from '../../src/backup/copy-database.ts'
import { isDatabaseAway } from '../../src/postgres/database-away.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { openAsOwner } from '../../src/postgres/open-database.ts'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { lockKeyOf, takeLeadership } from '../../src/watcher/leadership.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type DebianPostgres, openDebianPostgres } from '../support/debian-postgres.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** A database that is cut off says nothing, and one that was demoted answers as if nothing had happened. */

const NETWORK = 'litecoin-test'
const INSTALLATION = {
  staging: false,
  cell: 0,
  dataDir: '/nowhere',
  roleDatabaseUrls: { api: null, watcher: null, delivery: null, signer: null },
}
const TIMEOUT_MS = 120_000

let database: TestDatabase
let proxy: TcpProxy
let stopping: AbortController
const pools: Pool[] = []
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  stopping = new AbortController()
  proxy = await startTcpProxy(Number(new URL(database.ownerUrl).port))
})
afterEach(async () => {
  stopping.abort()
  await proxy.close()
  await Promise.all(pools.splice(0).map((pool) => pool.end()))
})

const throughProxy = (url: string): string => {
  const changed = new URL(url)
  changed.host = `127.0.0.1:${proxy.port}`
  return changed.toString()
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.catch((error: unknown) => error)
  if (!(outcome instanceof Error)) throw new Error('it did not fail')
  return outcome
}

async function lead(url: string) {
  const taken = await takeLeadership(url, NETWORK, stopping.signal, () => {})
  if (taken === null) throw new Error('no lead')
  return taken
}

test('a watcher whose database is cut off gives its lead up, and lets go of the connection', async () => {
  const held = await lead(throughProxy(database.urls.watcher))
  proxy.cut()
  await until(() => held.lost.aborted, { what: 'the lead is lost' })
  await held.release()
})

/** What a client asks of the server as it connects; it gets no answer. */
async function askedAtStart(work: (url: string) => Promise<unknown>): Promise<string> {
  let asked = ''
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (startup: Buffer) => {
      asked = startup.toString('latin1')
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  await failureOf(work(`postgresql://owner@127.0.0.1:${address.port}/paylink`))
  await new Promise((resolve) => server.close(resolve))
  return asked
}

test.each([
  ['a migration', (url: string) => migrate(url)],
  ['a backup', (url: string) => withDatabaseParts(url, async () => {})],
  ['a start', (url: string) => openAsOwner({ ...INSTALLATION, databaseUrl: url })],
] as const)('the locks of %s that is cut off are free after 11 seconds, not two hours', async (_, work) => {
  expect(await askedAtStart(work)).toContain(
    '-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3',
  )
})

test('a lead that nobody disturbs is kept, and is free as soon as it is given back', async () => {
  const held = await lead(throughProxy(database.urls.watcher))
  const asked = async () => {
    const { rows } = await database.owner.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where query like 'select pg_is_in_recovery%' and application_name = 'paylink-watcher-litecoin-test'
         and datname = current_database()`,
    )
    return rows[0]?.count === 1
  }
  await until(asked, { what: 'the lock is asked for again' })
  expect(held.lost.aborted).toBe(false)
  await held.release()
  const { rows } = await database.owner.query<{ free: boolean }>(
    'select pg_try_advisory_lock($1, $2) as free',
    [...lockKeyOf(NETWORK)],
  )
  expect(rows).toEqual([{ free: true }])
})

test('a connection that ended between two statements is a database that is away, no fault of ours', async () => {
  const client = new pg.Client({ connectionString: database.urls.watcher })
  await client.connect()
  await client.end()
  const failure = await failureOf(client.query('select 1'))
  expect(failure.message).toContain('not queryable')
  expect(isDatabaseAway(failure)).toBe(true)
})

test('a database whose host has no address or no way to it for now is away, as behind Docker’s names', async () => {
  const pool = openPool({
    connectionString: 'postgresql://owner@nosuch.invalid/paylink',
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  pools.push(pool)
  expect(isDatabaseAway(await failureOf(pool.query('select 1')))).toBe(true)
  const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code })
  const codes = ['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN']
  expect(codes.filter((code) => !isDatabaseAway(system(code)))).toEqual([])
})

test('a statement without an answer fails in bounded time; the next one goes to a server that answers', async () => {
  const pool = openPool({
    connectionString: throughProxy(database.urls.watcher),
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
    answerMsMax: 3_000,
  })
  pools.push(pool)
  await pool.query('select 1')
  proxy.cut()
  const failure = await failureOf(withSystemTransaction(pool, (tx) => tx.query('select 1')))
  // An API answers so that the caller repeats the request, as with any database that is away.
  expect(isDatabaseAway(failure)).toBe(true)
  proxy.aim(Number(new URL(database.ownerUrl).port))
  expect((await withSystemTransaction(pool, (tx) => tx.query('select 1 as one'))).rows).toEqual([{ one: 1 }])
})

test('a standby gives no lead, and a connection to a primary that became one is not used again', {
  tags: ['postgresql'],
  timeout: TIMEOUT_MS,
}, async () => {
  const postgres: DebianPostgres = await openDebianPostgres()
  try {
    const first = await postgres.initialize('first')
    const primary = await postgres.start(first)
    const second = `${postgres.folder}/second`
    await postgres.program('pg_basebackup', '-d', primary.url('postgres'), '-D', second, '-R', '-c', 'fast')
    const standby = await postgres.start(second)

    const refusals: unknown[] = []
    const waiting = takeLeadership(standby.url('postgres'), NETWORK, stopping.signal, (error) =>
      refusals.push(error),
    )
    await until(() => refusals.length > 0, { what: 'the standby is refused' })
    stopping.abort()
    expect(await waiting).toBeNull()
    expect(String(refusals[0])).toContain('is a standby')

    // What looked like the primary is a standby now; behind the same address there is a primary again.
    proxy.aim(standby.port)
    const pool = openPool({
      connectionString: `postgresql://postgres@127.0.0.1:${proxy.port}/postgres`,
      applicationName: 'paylink-test',
      max: 1,
      onError: () => {},
    })
    pools.push(pool)
    const write = () =>
      withSystemTransaction(pool, (tx) => tx.query('create table if not exists written (n int)'))
    const refused = await failureOf(write())
    expect(refused).toMatchObject({ code: '25006' })
    expect(isDatabaseAway(refused)).toBe(true)
    proxy.aim(primary.port)
    await write()
  } finally {
    await Promise.all(pools.splice(0).map((pool) => pool.end()))
    await postgres.remove()
  }
})

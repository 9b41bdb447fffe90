// @module-tag postgresql
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import { createStandby, type ReadFrom, type Standby } from '../../src/postgres/standby.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { createTestDatabase } from '../support/database.ts'
import { type DebianPostgres, openDebianPostgres } from '../support/debian-postgres.ts'
import { makeTemplate } from '../support/postgres-server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** Lists that a streaming standby answers: nobody may miss what was acknowledged, whatever becomes of the standby. */

const SALES = 60
/** A standby that lagged is asked again after this. */
const RESTED_MS = 1_100

let postgres: DebianPostgres
let second: string
let standby: Standby
let port: number
let pools: Pool[] = []
let proxies: TcpProxy[] = []
let api: TestApi
let shop: TestMerchant
let onStandby: Pool
beforeAll(async () => {
  postgres = await openDebianPostgres()
  const primary = await postgres.start(await postgres.initialize('first'))
  await makeTemplate(primary.url('postgres'))
  second = `${postgres.folder}/second`
  // Its database is not there yet: it streams from the one that the API is started on.
  const late: Standby = {
    get reads() {
      return standby.reads
    },
    read: (...of) => standby.read(...of),
  }
  api = await createTestApi({ standby: late }, { server: primary.url('postgres') })
  await postgres.program('pg_basebackup', '-d', primary.url('postgres'), '-D', second, '-R', '-c', 'fast')
  port = (await postgres.start(second)).port
  standby = createStandby(openAt(port, api.database.urls.api))
  onStandby = openAt(port, api.database.ownerUrl)
  shop = await api.addMerchant()
})
afterAll(async () => {
  // First, since a pool waits for connections that were cut.
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await Promise.all(pools.map((pool) => pool.end()))
  await api?.drop()
  await postgres?.remove()
})

function openAt(place: number, url: string): Pool {
  const at = new URL(url)
  at.port = String(place)
  const guarded = at.username !== new URL(api.database.ownerUrl).username
  const pool = openPool({
    connectionString: at.href,
    applicationName: 'test',
    max: 6,
    onError: () => {},
    guarded,
  })
  pools = [...pools, pool]
  return pool
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1)

async function proxyTo(place: number): Promise<TcpProxy> {
  const proxy = await startTcpProxy(place)
  proxies = [...proxies, proxy]
  return proxy
}

async function stopReplaying(place: Pool): Promise<void> {
  await place.query('select pg_wal_replay_pause()')
  const isPaused = async () =>
    (await place.query('select pg_get_wal_replay_pause_state() as is')).rows[0]?.is === 'paused'
  await until(isPaused)
}

const sell = async (): Promise<string> => {
  // Ids sort by time.
  api.time.advance(1)
  const answer = await api.call('POST', '/invoices', {
    key: shop.testKey,
    body: { usd_amount: '5.00', asset: 'LTC' },
  })
  expect(answer.status).toBe(201)
  return answer.body.id
}
const newest = async (path = '/invoices'): Promise<string> =>
  (await api.call('GET', `${path}?limit=1`, { key: shop.testKey })).body.data[0]?.id

/** Every sale is in the list that is asked for after it. */
async function sellAndList(times: number): Promise<void> {
  for (let sale = 0; sale < times; sale += 1) {
    const id = await sell()
    expect(await newest()).toBe(id)
  }
}

test('a list that a standby answers has every invoice that was acknowledged before', async () => {
  const before = { ...standby.reads }
  await sellAndList(SALES)
  // On a busy machine it may be passed over for a while.
  expect(standby.reads.standby).toBeGreaterThan(before.standby)
  for (const path of ['/events', '/payouts', '/balances/entries', '/deposits', '/deposit-addresses']) {
    const isAnswered = async () => {
      const earlier = standby.reads.standby
      expect((await api.call('GET', path, { key: shop.testKey })).status).toBe(200)
      return standby.reads.standby > earlier
    }
    await until(isAnswered, { what: `the standby answers ${path}` })
  }
})

test('of several standbys behind one address, none that lags answers for one that does not', async () => {
  const third = `${postgres.folder}/third`
  const from = new URL(api.database.ownerUrl)
  await postgres.program('pg_basebackup', '-d', from.href, '-D', third, '-R', '-c', 'fast')
  const lagging = (await postgres.start(third)).port
  await stopReplaying(openAt(lagging, api.database.ownerUrl))
  const balancer = await proxyTo(port)
  const own = standby
  const balanced = openAt(balancer.port, api.database.urls.api)
  standby = createStandby(balanced)
  // Three connections to each.
  const clients = await Promise.all(
    [port, port, port, lagging, lagging, lagging].map(async (to, at) => {
      await pause(at * 50)
      balancer.aim(to)
      return balanced.connect()
    }),
  )
  for (const client of clients) client.release()
  for (let round = 0; round < 3; round += 1) {
    const id = await sell()
    expect(await Promise.all(Array.from({ length: 12 }, () => newest()))).toEqual(Array(12).fill(id))
    await pause(RESTED_MS)
  }
  standby = own
  await postgres.crash(third)
})

test('the standby of another database, set by mistake, answers nothing', async () => {
  const other = await createTestDatabase(new URL(api.database.ownerUrl).href)
  const own = standby
  standby = createStandby(openAt(port, other.urls.api))
  const isThere = async () =>
    (await onStandby.query('select from pg_database where datname = $1', [nameOf(other.ownerUrl)]))
      .rowCount === 1
  await until(isThere)
  for (let sale = 0; sale < 3; sale += 1) {
    await sellAndList(1)
    await pause(RESTED_MS)
  }
  expect(standby.reads).toEqual({ standby: 0, primary: 3 })
  standby = own
  await other.drop()
})

test('an audit reads a standby that has all, and the primary where that lags or breaks off', async () => {
  const id = await sell()
  const { owner } = api.database
  const audit = async (change: (pid: number, done: number) => Promise<unknown>) => {
    const reads: ReadFrom[] = []
    const working: number[] = []
    const results = await runAudit(owner, [], {
      standby: onStandby,
      onRead: (from) => reads.push(from),
      onBackend: (backend) => working.push(backend?.pid ?? 0),
      onProgress: (done) => void change(working[0] ?? 0, done),
    })
    // The API's test pool was filled without a signer, which the audit says too.
    const found = results.flatMap(({ findings }) => findings.map(({ subject }) => subject))
    const servers = reads.map(({ pool }) => (pool === onStandby ? 'standby' : 'primary'))
    const invoices = found.filter((subject) => subject.startsWith('inv_'))
    return { last: reads.at(-1), servers, invoices, checks: results.length }
  }
  const leave = async () => {}
  for (let round = 0; round < 2; round += 1) {
    await owner.query(`update invoice set status = 'paid' where id = $1`, [id])
    const broken = await audit(leave)
    expect([broken.servers, broken.invoices]).toEqual([['standby'], [id]])
    await owner.query(`update invoice set status = 'awaiting_payment' where id = $1`, [id])
    const whole = await audit(leave)
    expect([whole.servers, whole.invoices]).toEqual([['standby'], []])
    expect(whole.last?.standbyAt).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/)
  }
  await owner.query(`update invoice set status = 'paid' where id = $1`, [id])
  let isEnded = false
  const ended = await audit(async (pid, done) => {
    if (done !== 5 || isEnded) return
    isEnded = true
    await onStandby.query('select pg_terminate_backend($1)', [pid])
  })
  expect([ended.servers, ended.invoices]).toEqual([['standby', 'primary'], [id]])
  await stopReplaying(onStandby)
  await owner.query(`update invoice set status = 'awaiting_payment' where id = $1`, [id])
  const lagged = await audit(leave)
  expect([lagged.servers, lagged.invoices, lagged.last?.standbyAt]).toEqual([['primary'], [], null])
  expect(lagged.last?.passedOver?.message).toContain('did not replay in time')
  expect(ended.checks).toBe(lagged.checks)
  await onStandby.query('select pg_wal_replay_resume()')
})

test('one that falls silent keeps nobody waiting for its answer', async () => {
  const cable = await proxyTo(port)
  const own = standby
  standby = createStandby(openAt(cable.port, api.database.urls.api))
  await until(async () => {
    await sellAndList(1)
    return standby.reads.standby > 0
  })
  cable.cut()
  let answered = 0
  const listing = async () => {
    for (; answered < 3; answered += 1) {
      await sellAndList(1)
      await pause(RESTED_MS)
    }
  }
  // A connection that was cut is given up after 35 seconds.
  await Promise.race([listing(), pause(20_000)])
  expect(answered).toBe(3)
  standby = own
})

test('one that has stopped replaying costs a tenth of a second and no invoice', async () => {
  await stopReplaying(onStandby)
  const before = { ...standby.reads }
  await sellAndList(10)
  expect(standby.reads).toEqual({ standby: before.standby, primary: before.primary + 10 })
  await onStandby.query('select pg_wal_replay_resume()')
  const isAskedAgain = async () => {
    await sellAndList(1)
    return standby.reads.standby > before.standby
  }
  await until(isAskedAgain, { what: 'the standby answers again' })
})

test('one that is gone, and one that became a primary of its own, answer nothing', async () => {
  const before = standby.reads.standby
  await onStandby.query('select pg_promote()')
  await until(async () => (await onStandby.query('select pg_is_in_recovery() as is')).rows[0]?.is === false)
  await pause(RESTED_MS)
  await sellAndList(3)
  await postgres.crash(second)
  await pause(RESTED_MS)
  await sellAndList(3)
  expect(standby.reads.standby).toBe(before)
})

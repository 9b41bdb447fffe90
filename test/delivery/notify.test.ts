import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createNotifier, type Listener, listenFor, notifyActivity } from '../../src/postgres/notify.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
const listeners: Listener[] = []
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()))
})

test('every listener hears of every changed invoice in few notifications, however many change at once', async () => {
  const heard = [new Set<string>(), new Set<string>()]
  let woken = 0
  for (const ids of heard) {
    const listener = listenFor(database.urls.delivery, {
      onInvoiceChanged: (id) => ids.add(id),
      onDeliveriesWaiting: () => {
        woken += 1
      },
    })
    listeners.push(listener)
    await listener.ready
  }
  const notifier = createNotifier(database.pools.api)
  const all = Array.from({ length: 450 }, (_, index) => `inv_${String(index).padStart(26, '0')}`)
  for (const id of all) {
    notifier.invoiceChanged(id)
    notifier.deliveriesWaiting()
  }
  await until(() => heard.every((ids) => ids.size === all.length), { what: 'all are told' })
  expect(woken).toBeLessThanOrEqual(2 * 4)
  await notifier.close()
})

test('a notification of any kind ends the rest of every resting worker', async () => {
  let signs = 0
  const listener = listenFor(database.urls.watcher, {
    onActivity: () => {
      signs += 1
    },
  })
  listeners.push(listener)
  await listener.ready
  const notifier = createNotifier(database.pools.api)
  const tellings = [
    () => notifier.activity(),
    () => notifier.deliveriesWaiting(),
    () => notifier.invoiceChanged('inv_one'),
    () => notifyActivity(database.pools.signer),
  ]
  for (const [before, tell] of tellings.entries()) {
    await tell()
    await until(() => signs > before, { what: 'the sign is heard' })
  }
  expect(signs).toBe(tellings.length)
  await notifier.close()
})

test('closing a notifier sends what still waits', async () => {
  let heard = ''
  const listener = listenFor(database.urls.delivery, {
    onInvoiceChanged: (id) => {
      heard = id
    },
  })
  listeners.push(listener)
  await listener.ready
  const notifier = createNotifier(database.pools.api)
  notifier.invoiceChanged('inv_last')
  await notifier.close()
  await until(() => heard === 'inv_last', { what: 'the last one is told' })
})

/** A listener, and what it said so far. */
async function listenTo(url: string, times: Parameters<typeof listenFor>[2] = {}): Promise<string[]> {
  const said: string[] = []
  const on = {
    onDeliveriesWaiting: () => said.push('waiting'),
    onConnect: () => said.push('connected'),
    onLost: () => said.push('lost'),
  }
  const listener = listenFor(url, on, times)
  listeners.push(listener)
  await listener.ready
  return said
}

async function expectReconnected(said: readonly string[]): Promise<void> {
  await until(() => said.length === 3, { what: 'it reconnects' })
  expect(said).toEqual(['connected', 'lost', 'connected'])
  const notifier = createNotifier(database.pools.api)
  notifier.deliveriesWaiting()
  await until(() => said.includes('waiting'), { what: 'it hears again' })
  await notifier.close()
}

/** The database's server behind a proxy, and the URL that leads there. */
async function startProxied() {
  const url = new URL(database.urls.delivery)
  const port = Number(url.port)
  const proxy = await startTcpProxy(port)
  url.hostname = '127.0.0.1'
  url.port = String(proxy.port)
  return { proxy, port, url: url.href }
}

test('a listener whose connection is cut comes back by itself and says so', async () => {
  const said = await listenTo(database.urls.delivery)
  await database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'paylink-listen'`,
  )
  await expectReconnected(said)
})

test('a listener whose connection falls silent says so and connects anew', async () => {
  const { proxy, port, url } = await startProxied()
  const said = await listenTo(url, { lookIntervalMs: 50, answerMsMax: 200 })
  proxy.cut()
  await until(() => said.includes('lost'), { what: 'the silence is noticed' })
  proxy.aim(port)
  await expectReconnected(said)
  await proxy.close()
})

test('a listener whose connection was cut off without a word closes at once', async () => {
  const { proxy, url } = await startProxied()
  const listener = listenFor(url, {})
  await listener.ready
  proxy.cut()
  await listener.close()
  await proxy.close()
})

test('a notification that fails is reported and otherwise forgotten', async () => {
  const errors: Error[] = []
  const closed = openPool({
    connectionString: database.urls.api,
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  await closed.end()
  const notifier = createNotifier(closed, (error) => errors.push(error))
  notifier.deliveriesWaiting()
  await until(() => errors.length === 1, { what: 'it is reported' })
  notifier.deliveriesWaiting()
  await notifier.close()
  expect(errors).toHaveLength(2)
})

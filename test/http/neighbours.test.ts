import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../src/flows/create-api-key.ts'
import { createTestApi, type TestApi } from '../support/api.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { createTestPeople } from '../support/people.ts'
import { until } from '../support/until.ts'
import { answerChallenges, startReceiver } from '../support/webhook-receiver.ts'

const CALM_INVOICES = 40
const CALM_PAUSE_MS = 250
const FLOODS = 48
const COINS = ['SOL', 'LTC']

let folder: Awaited<ReturnType<typeof makePlace>>
let app: App
beforeAll(async () => {
  folder = await makePlace()
  app = await startApp(folder)
})
afterAll(async () => {
  await app.stop()
  await folder.remove()
})

async function addMerchant(name: string, keys: number): Promise<string[]> {
  const email = `${name}@example.com`
  const made = await app.command('merchant', 'create', '--name', name, '--email', email, '--json')
  const merchant = ['--merchant', JSON.parse(made.stdout).id]
  const options = ['--mode', 'test', '--scopes', 'invoices:write', '--json']
  const found: string[] = []
  for (let count = 0; count < keys; count++) {
    const key = await app.command('key', 'create', ...merchant, ...options)
    found.push(JSON.parse(key.stdout).key)
  }
  return found
}

async function createInvoice(key: string, asset: string) {
  const response = await fetch(`${app.baseUrl}/api/v1/invoices`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ usd_amount: '25.00', asset }),
  })
  const text = await response.text()
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text }
}

test('while one merchant floods with several keys, another’s invoices are all created', async () => {
  const busy = await addMerchant('busy', 3)
  const [calm = ''] = await addMerchant('calm', 1)
  const answers: { status: number; retryAfter: string | null }[] = []
  let isOver = false
  const flood = async (number: number): Promise<void> => {
    for (let asked = number; !isOver; asked++)
      answers.push(await createInvoice(busy[asked % 3] ?? '', COINS[asked % 2] ?? ''))
  }
  const floods = Array.from({ length: FLOODS }, (_, number) => flood(number))
  try {
    for (let asked = 0; asked < CALM_INVOICES; asked++) {
      const answer = await createInvoice(calm, COINS[asked % 2] ?? '')
      expect([asked, answer.status, answer.text]).toEqual([asked, 201, answer.text])
      // A shop at its normal pace.
      await pause(CALM_PAUSE_MS)
    }
  } finally {
    isOver = true
    await Promise.all(floods)
  }
  const refused = answers.filter(({ status }) => status !== 201)
  expect(answers.length).toBeGreaterThan(CALM_INVOICES)
  for (const { status, retryAfter } of refused) {
    expect([429, 503]).toContain(status)
    expect(retryAfter).toMatch(/^[1-9][0-9]*$/)
  }
}, 300_000)

test('receivers that are slow to answer in test mode hold up nothing but one another', async () => {
  const api = await createTestApi()
  const answers: (() => void)[] = []
  const receiver = await startReceiver({
    respond: (...asked) => void answers.push(() => answerChallenges(...asked)),
  })
  try {
    const { testKey, liveKey } = await api.addMerchant()
    const hook = { url: receiver.url, subscribed_events: ['*'] }
    const endpoint = await api.call('POST', '/webhook-endpoints', { key: testKey, body: hook })
    const ask = (act: string) =>
      api.call('POST', `/webhook-endpoints/${endpoint.body.id}/${act}`, { key: testKey })
    const statuses: number[] = []
    const verify = async () => void statuses.push((await ask('verify')).status)
    const verifications = Array.from({ length: 24 }, verify)
    await receiver.waitFor(2)
    await until(() => statuses.length >= 2, { what: 'those beyond the queue were refused' })
    const body = { usd_amount: '25.00', asset: 'LTC' }
    for (const key of [liveKey, testKey])
      expect((await api.call('POST', '/invoices', { key, body })).status).toBe(201)
    const rotation = await ask('rotate-secret')
    expect([rotation.status, rotation.headers.get('retry-after')]).toEqual([429, '10'])
    expect(answers).toHaveLength(2)
    receiver.respond = answerChallenges
    for (const answer of answers) answer()
    await Promise.all(verifications)
    expect(statuses).toEqual([429, 429, ...Array.from({ length: 22 }, () => 200)])
    expect((await ask('rotate-secret')).status).toBe(200)
  } finally {
    await receiver.close()
    await api.drop()
  }
})

test('a merchant that floods both modes leaves connections to the others', async () => {
  const api = await createTestApi()
  const [busy, calm] = [await api.addMerchant(), await api.addMerchant()]
  const holder = await api.database.owner.connect()
  const asked: Promise<{ status: number }>[] = []
  try {
    await holder.query('begin')
    // What every request for one order waits for.
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `checkout_session/${busy.id}/order-1`,
    ])
    for (const key of [busy.testKey, busy.liveKey]) {
      const link = { name: 'Tea', allow_dynamic_amount: true, asset: 'LTC' }
      const { body } = await api.call('POST', '/payment-links', { key, body: link })
      const order = { order_reference: 'order-1', usd_amount: '25.00' }
      const path = `/payment-links/${body.id}/checkout-sessions`
      for (let at = 0; at < FLOODS; at++) asked.push(api.call('POST', path, { key, body: order }))
      await until(async () => (await lockWaits(api)) >= 8, { what: 'one mode has its turns' })
    }
    await until(async () => (await lockWaits(api)) >= 9, { what: 'the other mode has a turn besides' })
    const order = { usd_amount: '25.00', asset: 'LTC' }
    const waiting = api.call('POST', '/invoices', { key: busy.liveKey, body: order })
    asked.push(waiting)
    const answer = api.call('GET', '/payment-links', { key: calm.testKey }).then(({ status }) => status)
    expect(await Promise.race([answer, pause(5_000, 'no connection in five seconds')])).toBe(200)
    // What waits for its turn is then made by the price and the rules of that time.
    api.time.advance(3_000)
    await holder.query('rollback')
    const statuses = new Set((await Promise.all(asked)).map(({ status }) => status))
    const { status, body } = await waiting
    expect([status, body.created_at]).toEqual([201, api.time.now.toISOString()])
    expect([...statuses].toSorted()).toEqual([200, 201, 409])
  } finally {
    // Closes the connection, which lets go of the lock in every case.
    holder.release(true)
    await Promise.allSettled(asked)
    await api.drop()
  }
})

async function lockWaits(api: TestApi): Promise<number> {
  const { rows } = await api.database.owner.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.count ?? 0
}

test('the last addresses of a pool are left to merchants who took fewer than others', async () => {
  const api = await createTestApi()
  try {
    const [busy, calm] = [await api.addMerchant(), await api.addMerchant()]
    const body = { usd_amount: '25.00', asset: 'LTC' }
    const create = (key: string) => api.call('POST', '/invoices', { key, body })
    let answer = await create(busy.testKey)
    for (; answer.status === 201; answer = await create(busy.testKey));
    expect([answer.status, answer.body.error.code]).toEqual([503, 'asset_unavailable'])
    expect(answer.headers.get('retry-after')).toBe('1')
    for (let taken = 0; taken < 30; taken++) expect((await create(calm.testKey)).status).toBe(201)
    expect((await create(calm.testKey)).status).toBe(503)
  } finally {
    await api.drop()
  }
})

test('a merchant has so many unpaid invoices open, in each mode, until some are cancelled', async () => {
  const limited = await createTestApi({}, { openInvoicesMax: 5 })
  const { time } = limited
  try {
    const { testKey, liveKey } = await limited.addMerchant()
    const create = (key: string, headers = {}) =>
      limited.call('POST', '/invoices', { key, headers, body: { usd_amount: '25.00', asset: 'LTC' } })
    const first = await create(testKey, { 'idempotency-key': 'first' })
    for (let made = 1; made < 5; made++) expect((await create(testKey)).status).toBe(201)
    const refused = await create(testKey)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'open_invoice_limit_reached'])
    expect((await create(testKey, { 'idempotency-key': 'first' })).body).toEqual(first.body)
    expect((await create(liveKey)).status).toBe(201)
    await limited.call('POST', `/invoices/${first.body.id}/cancel`, { key: testKey, body: {} })
    time.advance(5_000)
    await expect.poll(async () => (await create(testKey)).status).toBe(201)
    time.advance(5_000)
    await expect.poll(async () => (await create(testKey)).status).toBe(409)
  } finally {
    await limited.drop()
  }
})

test('strangers who open a link take half of a merchant’s open invoices at most', async () => {
  const limited = await createTestApi({}, { openInvoicesMax: 6 })
  const site = await startBuyersSite(limited, { formsPerSecond: 1_000 })
  try {
    const { testKey: key } = await limited.addMerchant()
    const link = await limited.call('POST', '/payment-links', {
      key,
      body: { name: 'Beans', usd_amount: '25.00', asset: 'LTC' },
    })
    const continued = async (visit: number) => {
      const form = new URLSearchParams({ visit: String(visit).padStart(22, '0'), asset: 'LTC' })
      const url = `${site.url}/l/${link.body.slug}`
      return (await fetch(url, { method: 'POST', body: form, redirect: 'manual' })).status
    }
    for (let visit = 1; visit <= 3; visit++) expect(await continued(visit)).toBe(303)
    expect(await continued(4)).toBe(503)
    const create = async () =>
      (await limited.call('POST', '/invoices', { key, body: { usd_amount: '25.00', asset: 'LTC' } })).status
    for (let made = 1; made <= 3; made++) expect(await create()).toBe(201)
    expect(await create()).toBe(409)
    // What other processes see is the database's count.
    limited.time.advance(5_000)
    expect(await continued(5)).toBe(503)
  } finally {
    await site.stop()
    await limited.drop()
  }
})

test('pages that wait for the database leave connections to the API', async () => {
  const api = await createTestApi()
  const site = await startBuyersSite(api)
  const waiting = async () => {
    const { rows } = await api.database.owner.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.count ?? 0
  }
  const holder = await api.database.owner.connect()
  try {
    const { testKey: key } = await api.addMerchant()
    const made = await api.call('POST', '/invoices', { key, body: { usd_amount: '25.00', asset: 'LTC' } })
    await holder.query('begin; lock table invoice in access exclusive mode')
    const path = new URL(made.body.checkout_url).pathname
    const pages = Array.from({ length: 60 }, () => fetch(site.url + path))
    await until(async () => (await waiting()) >= 5, { what: 'pages waited for the table' })
    expect((await api.call('GET', '/payment-links', { key })).status).toBe(200)
    await holder.query('rollback')
    expect(new Set((await Promise.all(pages)).map(({ status }) => status))).toEqual(new Set([200]))
  } finally {
    holder.release()
    await site.stop()
    await api.drop()
  }
})

test('a merchant has a hundred active keys in each mode, until one is revoked', async () => {
  const people = await createTestPeople()
  try {
    const { browser, merchantId } = await people.signUp('Keys')
    const create = () =>
      browser.ask('POST', '/api/v1/api-keys', { name: 'Server', scopes: ['invoices:read'] })
    const { id } = (await create()).body
    const { database, deps } = people.api
    const owner = { pool: database.owner, clock: () => new Date(), seals: deps.seals }
    const order = { merchantId, livemode: false, scopes: ['invoices:read'] } as const
    for (let made = 1; made < 99; made++)
      expect(await createApiKey(owner, order)).toMatchObject({ kind: 'created' })
    expect((await create()).status).toBe(201)
    const refused = await create()
    expect([refused.status, refused.body.error.code]).toEqual([409, 'api_key_limit_reached'])
    // By command too.
    expect(await createApiKey(owner, order)).toEqual({ kind: 'limit_reached' })
    expect(await createApiKey(owner, { ...order, livemode: true })).toMatchObject({ kind: 'created' })
    expect((await browser.ask('POST', `/api/v1/api-keys/${id}/revoke`, {})).status).toBe(200)
    expect((await create()).status).toBe(201)
  } finally {
    await people.drop()
  }
})

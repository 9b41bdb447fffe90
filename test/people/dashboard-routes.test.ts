import { afterAll, beforeAll, expect, test } from 'vitest'
import { ASSET_IDS } from '../../src/core/assets.ts'
import { insertRequests } from '../../src/db/requests/request-log.ts'
import { createRequestRecorder } from '../../src/http/api/request-recorder.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { createTestApi } from '../support/api.ts'
import { createTestPeople, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

test('a key made at the dashboard works with its scopes, and not a second after it was revoked', async () => {
  const { browser } = await people.signUp('Ann')
  const made = await browser.ask('POST', '/api/v1/api-keys', { name: 'Server', scopes: ['invoices:read'] })
  const { key, id } = made.body
  const plain = people.browser()
  const call = (method: 'GET' | 'POST') =>
    plain.ask(method, '/api/v1/invoices', method === 'GET' ? undefined : { usd_amount: '10', asset: 'LTC' }, {
      authorization: `Bearer ${key}`,
    })
  expect((await call('GET')).status).toBe(200)
  expect((await call('POST')).body.error.code).toBe('scope_missing')
  const listed = await browser.ask('GET', '/api/v1/api-keys')
  expect(listed.body.data).toMatchObject([
    { id, name: 'Server', last_characters: key.slice(-4), revoked_at: null },
  ])
  expect(listed.text).not.toContain(key)
  const revoked = await browser.ask('POST', `/api/v1/api-keys/${id}/revoke`)
  expect(revoked.body.revoked_at).not.toBeNull()
  people.api.time.advance(1_000)
  expect((await call('GET')).status).toBe(401)
})

test('a key is found by part of its name, its id or its last characters, past the newest hundred', async () => {
  const { browser, merchantId } = await people.signUp('Kim')
  const made = await browser.ask('POST', '/api/v1/api-keys', { name: 'Warehouse', scopes: ['invoices:read'] })
  await people.api.database.owner.query(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at, revoked_at, name)
     select $1, 'key_7zz' || lpad(n::text, 23, '0'), false, decode(md5(n || $1), 'hex'), '{}', now(), now(), 'Old'
     from generate_series(1, 120) n`,
    [merchantId],
  )
  const search = async (q: string) =>
    (await browser.ask('GET', `/api/v1/api-keys?q=${encodeURIComponent(q)}`)).body.data.map(
      ({ id }: { id: string }) => id,
    )
  for (const q of ['ware', made.body.id, made.body.key.slice(-4)])
    expect(await search(q), q).toEqual([made.body.id])
  expect(await search('nothing')).toEqual([])
})

test('payment rules that are set govern the next invoice, and impossible ones are refused by name', async () => {
  const { browser } = await people.signUp('Ben')
  const set = (body: object) => browser.ask('PATCH', '/api/v1/payment-rules', body)
  const changed = await set({
    accepted_assets: ['LTC', 'BTC'],
    default_asset: 'LTC',
    window_minutes: 15,
    minimums: { LTC: '0.05' },
    tolerance_under: { percent: '0.50', cap_usd: '1.00' },
  })
  expect(changed.status, changed.text).toBe(200)
  expect(changed.body).toMatchObject({
    accepted_assets: ['BTC', 'LTC'],
    window_minutes: 15,
    minimums: { LTC: '0.05' },
    tolerance_under: { percent: '0.50', cap_usd: '1.00' },
  })
  people.api.time.advance(1_000)
  const invoice = await browser.ask('POST', '/api/v1/invoices', { usd_amount: '10' })
  expect(invoice.body.asset).toBe('LTC')
  expect(Date.parse(invoice.body.expires_at) - Date.parse(invoice.body.created_at)).toBe(15 * 60_000)
  const small = await browser.ask('POST', '/api/v1/invoices', { amount: '0.04', asset: 'LTC' })
  expect(small.body.error.code).toBe('amount_too_small')
  const refused = [
    [{ default_asset: 'SOL' }, 'default_asset'],
    [{ accepted_assets: ['BTC'] }, 'accepted_assets'],
    [{ confirmations: { LTC: ['safe', 1, 1] } }, 'confirmations.LTC'],
    [{ minimums: { BTC: '0.0000000001' } }, 'minimums.BTC'],
  ] as const
  for (const [body, param] of refused) {
    const answer = await set(body)
    expect([answer.status, answer.body.error.param]).toEqual([400, param])
  }
})

test('in live mode no coin can be accepted whose network is not followed here', async () => {
  const { browser } = await people.signUp('Ines')
  await people.enableSecondFactor(browser)
  const accept = (assets: string[], mode: string) =>
    browser.ask('PATCH', '/api/v1/payment-rules', { accepted_assets: assets }, { 'paylink-mode': mode })
  const refused = await accept(['LTC', 'SOL'], 'live')
  expect([refused.status, refused.body.error?.param]).toEqual([400, 'accepted_assets'])
  expect(refused.body.error.message).toContain('SOL')
  expect((await accept(['LTC'], 'live')).body.accepted_assets).toEqual(['LTC'])
  expect((await accept(['LTC', 'SOL'], 'test')).body.accepted_assets).toEqual(['LTC', 'SOL'])
})

test('a shop can accept every coin that there is', async () => {
  const { browser } = await people.signUp('Olga')
  const all = [...ASSET_IDS]
  const changed = await browser.ask('PATCH', '/api/v1/payment-rules', { accepted_assets: all })
  expect([changed.status, changed.body.accepted_assets]).toEqual([200, all])
})

test('the look of the pages is set, kept and taken back; a file that is no picture is refused', async () => {
  const { browser } = await people.signUp('Cem')
  const set = (body: object) => browser.ask('PATCH', '/api/v1/merchant', body)
  expect((await set({ brand_name: 'Çem’s Coffee', brand_colour: '#1A73E8' })).body).toMatchObject({
    name: 'Shop of Cem',
    brand_name: 'Çem’s Coffee',
    brand_colour: '#1a73e8',
    role: 'owner',
  })
  const refused = await set({ logo: Buffer.from('<svg/>').toString('base64') })
  expect([refused.status, refused.body.error.param]).toEqual([400, 'logo'])
  expect((await set({ brand_name: null })).body.brand_name).toBeNull()
  expect((await browser.ask('GET', '/api/v1/merchant')).body.brand_colour).toBe('#1a73e8')
})

test('who sells is kept by line, taken back, and refused by name where it is no plain text', async () => {
  const { browser } = await people.signUp('Eve')
  const set = (body: object) => browser.ask('PATCH', '/api/v1/merchant', body)
  const seller = {
    legal_name: 'Eve & Sons <Ltd.>',
    postal_address: '1 Marsh Lane\nNorwich\nتونس',
    tax_number: 'GB 123 4567 89',
  }
  expect((await set(seller)).body).toMatchObject(seller)
  for (const [param, values] of Object.entries({
    legal_name: ['', ' ', 'a\nb', 'x'.repeat(201), '\u0085', 7],
    postal_address: ['', '1\n\n2', '1\n2\n3\n4\n5\n6', 'a\r\nb', 'a\tb', 'x'.repeat(401), '\n', ['x']],
    tax_number: ['', '\u007f', 'a\nb', 'x'.repeat(65), {}],
  }))
    for (const value of values) {
      const { status, body } = await set({ [param]: value })
      expect([value, status, body.error.param]).toEqual([value, 400, param])
    }
  expect((await browser.ask('GET', '/api/v1/merchant')).body).toMatchObject(seller)
  const none = { legal_name: null, postal_address: null, tax_number: null }
  expect((await set(none)).body).toMatchObject(none)
  const longest = {
    legal_name: '😀'.repeat(200),
    postal_address: '茶'.repeat(400),
    tax_number: '茶'.repeat(64),
  }
  expect((await set(longest)).body).toMatchObject(longest)
})

test('a shop keeps its prices in a currency of its own, with what that is worth now', async () => {
  const { browser } = await people.signUp('Fia')
  const set = (home_currency: unknown) => browser.ask('PATCH', '/api/v1/merchant', { home_currency })
  const worth = { home_currency: null, home_currency_usd: null }
  expect((await browser.ask('GET', '/api/v1/merchant')).body).toMatchObject(worth)
  const euros = { home_currency: 'EUR', home_currency_usd: expect.stringMatching(/^[01]\.\d+$/) }
  expect((await set('EUR')).body).toMatchObject(euros)
  await browser.ask('PATCH', '/api/v1/merchant', { brand_name: 'Fia’s' })
  expect((await browser.ask('GET', '/api/v1/merchant')).body).toMatchObject(euros)
  for (const value of ['USD', 'eur', 'XXX', '', 7, ['EUR']]) {
    const { status, body } = await set(value)
    expect([value, status, body.error.param]).toEqual([value, 400, 'home_currency'])
  }
  expect((await set(null)).body).toMatchObject(worth)
})

test('the figures of the home page count the invoices of one mode', async () => {
  const { browser, merchantId } = await people.signUp('Dan')
  const create = (usd_amount: string, mode: 'test' | 'live') =>
    browser.ask('POST', '/api/v1/invoices', { usd_amount, asset: 'LTC' }, { 'paylink-mode': mode })
  for (let at = 0; at < 3; at++) await create('10.50', 'test')
  await create('99', 'live')
  await people.api.database.owner.query(
    `update invoice set status = 'paid', paid_at = created_at + interval '90 seconds'
     where id in (select id from invoice where merchant_id = $1 and not livemode limit 2)`,
    [merchantId],
  )
  const { body } = await browser.ask('GET', '/api/v1/statistics')
  expect(body).toMatchObject({ created: 3, paid: 2, received_usd: '0.00', needs_review: 0 })
  expect(body.assets).toMatchObject([{ asset: 'LTC', received: '0', median_seconds_to_pay: 90 }])
  const live = await browser.ask('GET', '/api/v1/statistics', undefined, { 'paylink-mode': 'live' })
  expect(live.body).toMatchObject({ created: 1, paid: 0, assets: [] })
})

test('requests of keys are logged with their outcome, without keys or bodies, each mode apart', async () => {
  const { database, deps } = people.api
  const recorder = createRequestRecorder({ pool: database.pools.api, log: deps.log })
  const api = await createTestApi({ recorder })
  try {
    const merchant = await api.addMerchant()
    const call = (key: string, amount: string) =>
      api.call('POST', '/invoices?', { key, body: { usd_amount: amount, asset: 'LTC' } })
    await call(merchant.testKey, '10')
    await call(merchant.testKey, 'secret')
    await call(merchant.liveKey, '10')
    await recorder.stop()
    const { rows } = await database.owner.query(
      'select livemode, method, route, status, error_code from request_log where merchant_id = $1 order by livemode, status',
      [merchant.id],
    )
    expect(rows).toEqual([
      { livemode: false, method: 'POST', route: '/invoices', status: 201, error_code: null },
      { livemode: false, method: 'POST', route: '/invoices', status: 400, error_code: 'parameter_invalid' },
      { livemode: true, method: 'POST', route: '/invoices', status: 201, error_code: null },
    ])
    const whole = JSON.stringify((await database.owner.query('select * from request_log')).rows)
    for (const secret of [merchant.testKey, merchant.liveKey, 'secret']) expect(whole).not.toContain(secret)
  } finally {
    await api.drop()
  }
})

test('logged requests are found by path, key, outcome and time, in their own shop and mode alone', async () => {
  const [shop, other] = [await people.signUp('Lou'), await people.signUp('Max')]
  const { owner } = people.api.database
  const startMs = Date.parse('2026-11-20T12:00:00Z')
  const log = (merchantId: string, livemode: boolean, path: string, minute: number, status = 200) => ({
    merchantId,
    livemode,
    id: newId('requestLog', new Date(startMs + minute * 60_000)),
    requestId: `req_${path}`,
    caller: minute % 2 === 0 ? 'key_even' : 'key_odd',
    method: 'GET',
    route: '/invoices',
    path,
    status,
    errorCode: null,
    durationMs: 1,
    createdAt: new Date(startMs + minute * 60_000),
  })
  const rows = [
    log(shop.merchantId, false, '/api/v1/invoices', 0),
    log(shop.merchantId, false, '/api/v1/invoices/x', 1, 404),
    log(shop.merchantId, false, '/api/v1/events', 2),
    log(shop.merchantId, true, '/api/v1/invoices', 3),
    log(other.merchantId, false, '/api/v1/invoices', 4),
  ]
  await insertRequests(owner, rows)
  const found = async (query: string): Promise<number[]> => {
    const { body, text } = await shop.browser.ask('GET', `/api/v1/request-logs?${query}`)
    if (body.data === undefined) throw new Error(text)
    return body.data.map(({ id }: { id: string }) => rows.findIndex((row) => row.id === id))
  }
  expect(await found('')).toEqual([2, 1, 0])
  expect(await found('path=/api/v1/invoices')).toEqual([1, 0])
  expect(await found('path=%25')).toEqual([])
  expect(await found('caller=key_even')).toEqual([2, 0])
  expect(await found('outcome=failed')).toEqual([1])
  expect(await found('created_after=2026-11-20T12:00:00Z&created_before=2026-11-20T12:02:00Z')).toEqual([1])
  expect(await found(`path=/api/v1/invoices&limit=1&starting_after=${rows[1]?.id}`)).toEqual([0])
  const one = (at: number) => shop.browser.ask('GET', `/api/v1/request-logs/${rows[at]?.id}`)
  expect((await one(1)).body).toMatchObject({ path: '/api/v1/invoices/x', status: 404 })
  for (const foreign of [3, 4]) expect((await one(foreign)).status).toBe(404)
})

test('no path keeps requests out of the log, and one that cannot be stored keeps out itself alone', async () => {
  const { database, deps } = people.api
  const recorder = createRequestRecorder({ pool: database.pools.api, log: deps.log })
  const api = await createTestApi({ recorder })
  try {
    const [merchant, other] = [await api.addMerchant(), await api.addMerchant()]
    const paths = [
      '/invoices/%00',
      '/invoices/%ff',
      '/invoices/%ED%A0%80',
      '/invoices/\u{1f600}',
      '/invoices',
    ]
    for (const path of paths) await api.call('GET', path, { key: merchant.testKey })
    await api.call('GET', '/invoices', { key: other.testKey })
    const unstorable = {
      merchantId: other.id,
      livemode: false,
      id: 'log_unstorable',
      requestId: 'req',
      caller: 'key\0',
    }
    const rest = { method: 'GET', route: '/', path: '/', status: 200, errorCode: null, durationMs: 1 }
    recorder.record({ ...unstorable, ...rest, createdAt: new Date() })
    await recorder.stop()
    const loggedOf = async (merchantId: string) => {
      const { rows } = await database.owner.query<{ path: string }>(
        'select path from request_log where merchant_id = $1',
        [merchantId],
      )
      return rows.map(({ path }) => path.replace('/api/v1', '')).sort()
    }
    expect(await loggedOf(merchant.id)).toEqual(
      [...paths.slice(0, 3), '/invoices/%F0%9F%98%80', '/invoices'].sort(),
    )
    expect(await loggedOf(other.id)).toEqual(['/invoices'])
  } finally {
    await api.drop()
  }
})

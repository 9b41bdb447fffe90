import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_PREFIX } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { BASE_URL, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const body = { usd_amount: '10', asset: 'LTC' }
const text = JSON.stringify(body)
const post = (headers: { [name: string]: string }, content: string | Uint8Array<ArrayBuffer> = text) =>
  api.call('POST', '/invoices', { key: merchant.testKey, text: content, headers })

test('JSON is the one content type, in UTF-8 and unencoded', async () => {
  const refused = [
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'application/json-patch+json',
    'application/vnd.api+json',
    'application/json, text/plain',
    'text/plain; application/json',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'application/json; boundary=x',
    'application/json;',
    'application/json\u00a0',
    'a'.repeat(8_000),
  ]
  for (const type of refused) {
    const answer = await post({ 'content-type': type })
    expect([answer.status, answer.body.error.code], type).toEqual([415, 'unsupported_media_type'])
  }
  for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
    expect((await post({ 'content-encoding': encoding })).status, encoding).toBe(415)
  }
  const taken = [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ]
  for (const type of taken) expect((await post({ 'content-type': type })).status, type).toBe(201)
})

test('a body of 64 KiB is read and one byte more is 413, declared or not', async () => {
  const padded = (size: number) => text + ' '.repeat(size - text.length)
  expect((await post({}, padded(65_536))).status).toBe(201)
  expect((await post({}, padded(65_537))).body.error.code).toBe('body_too_large')
  const declared = await post({ 'content-length': '65537' })
  expect(declared.body.error.code).toBe('body_too_large')
})

test('mistakes are reported in one order: 401, 403, 415, 413, 404, 400, 422', async () => {
  const huge = 'x'.repeat(70_000)
  const readOnly = await api.addKey(merchant.id, false, ['invoices:read'])
  const asText = { 'content-type': 'text/plain' }
  const cancel = '/invoices/inv_00000000000000000000000000/cancel'
  const statusOf = async (
    path: string,
    key: string | undefined,
    headers: { [name: string]: string },
    content: string,
  ) =>
    (await api.call('POST', path, { ...(key === undefined ? {} : { key }), headers, text: content })).status
  expect(await statusOf('/invoices?x=1', undefined, asText, huge)).toBe(401)
  expect(await statusOf('/invoices?x=1', readOnly.key, asText, huge)).toBe(403)
  expect(await statusOf('/invoices?x=1', merchant.testKey, asText, huge)).toBe(415)
  expect(await statusOf('/invoices?x=1', merchant.testKey, {}, huge)).toBe(413)
  expect(await statusOf(`${cancel}?x=1`, merchant.testKey, {}, '{')).toBe(404)
  expect(await statusOf('/invoices?x=1', merchant.testKey, {}, '{')).toBe(400)
})

test('an unknown path is a JSON 404 and a wrong method a 405 that names the right ones', async () => {
  for (const path of [
    '/',
    '/nonsense',
    '/invoices/',
    '/Invoices',
    '/invoices/x/y/z',
    '//invoices',
    '/invoices%2f',
    '/webhook_endpoints',
  ]) {
    const answer = await api.call('GET', path, { key: merchant.testKey })
    expect([answer.status, answer.body.error.code], path).toEqual([404, 'path_not_found'])
    expect(answer.headers.get('request-id')).toBe(answer.body.error.request_id)
  }
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const known = ROUTES.filter((route) => route.path === path).map((route) => route.method.toUpperCase())
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (known.includes(method)) continue
      const concrete = path.replace(':id', 'inv_00000000000000000000000000')
      const overlapping = ROUTES.some(
        (route) => route.method.toUpperCase() === method && matches(route.path, concrete),
      )
      if (overlapping) continue
      const answer = await api.call(method, concrete, { key: merchant.testKey })
      expect([answer.status, answer.body.error.code], `${method} ${path}`).toEqual([
        405,
        'method_not_allowed',
      ])
      for (const allowed of known) expect(answer.headers.get('allow')).toContain(allowed)
    }
  }
})

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replace(':id', '[^/]+')}$`).test(path)

test('HEAD answers like GET without a body', async () => {
  const answer = await api.call('HEAD', '/assets', { key: merchant.testKey })
  expect([answer.status, answer.text]).toEqual([200, ''])
  expect((await api.call('HEAD', '/assets')).status).toBe(401)
})

test('every answer has a request id of its own, whatever the caller sends', async () => {
  const answers = [
    await post({ 'request-id': 'mine' }),
    await post({ 'content-type': 'x' }),
    await api.call('GET', '/nonsense'),
    await api.call('GET', '/assets', { key: merchant.testKey, headers: { 'x-request-id': 'mine' } }),
  ]
  const ids = answers.map((answer) => answer.headers.get('request-id'))
  for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('links are built on the configured address, whatever Host the caller forges', async () => {
  const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' }
  const made = await post(headers)
  expect(made.body.checkout_url.startsWith(`${BASE_URL}/i/`)).toBe(true)
  const missing = await api.call('GET', '/nonsense', { headers })
  expect(missing.text + made.text).not.toContain('evil')
  const forged = await api.app.request('http://evil.example/api/v1/invoices')
  expect(await forged.text()).not.toContain('evil')
})

test('a revoked key is dead within a second', async () => {
  const { id, key } = await api.addKey(merchant.id, false, ['invoices:read'])
  const list = async () => (await api.call('GET', '/invoices', { key })).status
  expect(await list()).toBe(200)
  await api.database.owner.query('update api_key set revoked_at = now() where id = $1', [id])
  api.time.advance(999)
  expect(await list()).toBe(401)
})

test('a key works from the moment it is made, though it was tried before', async () => {
  const { id, key } = await api.addKey(merchant.id, false, ['invoices:read'])
  const { rows } = await api.database.owner.query('delete from api_key where id = $1 returning *', [id])
  const list = async () => (await api.call('GET', '/invoices', { key })).status
  expect(await list()).toBe(401)
  const [row] = rows
  await api.writeSealed(
    'insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at) values ($1, $2, $3, $4, $5, $6)',
    [row.merchant_id, row.id, row.livemode, row.key_hash, row.scopes, row.created_at],
  )
  expect(await list()).toBe(200)
})

test('no key is stored or logged', async () => {
  await post({})
  await api.call('GET', '/nonsense', { key: merchant.testKey })
  const secret = merchant.testKey.slice('sk_test_'.length)
  const { rows } = await api.database.owner.query<{ dump: string }>(
    `select string_agg(to_jsonb(api_key)::text, ' ') as dump from api_key`,
  )
  expect(rows[0]?.dump).not.toContain(secret)
  expect(api.logged.join('\n')).not.toContain(secret)
})

test('a database that cannot be reached is 503, and the cause stands in the log', async () => {
  const pool = openPool({
    connectionString: 'postgresql://nobody@127.0.0.1:9/none',
    applicationName: 'test',
    max: 1,
    onError: () => {},
  })
  const cut = await createTestApi({ pool })
  try {
    const { testKey: key } = await cut.addMerchant()
    const answer = await cut.call('GET', '/invoices', { key })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'service_unavailable'])
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(cut.logged.join('')).toContain(answer.body.error.request_id)
    expect(cut.logged.join('')).toContain('ECONNREFUSED')
    expect(answer.text).not.toContain('ECONNREFUSED')
  } finally {
    await pool.end()
    await cut.drop()
  }
})

test('the API is under /api/v1 and nowhere else', async () => {
  expect(API_PREFIX).toBe('/api/v1')
  expect((await api.app.request('/invoices')).status).toBe(404)
})

test('a link that leads nowhere answers a page to a browser, and JSON to a program', async () => {
  const page = await api.app.request('/no/such/page', { headers: { accept: 'text/html,*/*;q=0.8' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  const html = await page.text()
  expect(html).toContain('Page not found')
  expect(html).toContain('ask the shop for a new link')
  // A buyer has no business in the dashboard, where the front page leads.
  expect(html).not.toContain('<a ')
  const german = { accept: 'text/html', 'accept-language': 'de-AT,en;q=0.5' }
  expect(await (await api.app.request('/no/such/page', { headers: german })).text()).toContain(
    'Seite nicht gefunden',
  )
  for (const [path, accept] of [
    ['/no/such/page', '*/*'],
    ['/no/such/page', 'application/json'],
    [`${API_PREFIX}/none`, 'text/html'],
  ] as const) {
    const answer = await api.app.request(path, { headers: { accept } })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await answer.json()).toMatchObject({ error: { code: 'path_not_found' } })
  }
})

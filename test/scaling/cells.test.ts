// @module-tag haproxy
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/runtime/new-id.ts'
import { newApiKey } from '../../src/secrets/new-api-key.ts'
import { dashboardPathOf } from '../../src/web/dashboard/parts/dashboard-path.ts'
import { type App, askApi, makeDataDir, runProgram, startApp } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { type CellsProxy, startCellsProxy } from './cells-proxy.ts'

/** Two whole installations behind the proxy of docs/cells.md, as its file sets it up: the first cell, and cell 3. */

/** Only cell 3 sells for cards. */
const CARDS = {
  MOONPAY_API_KEY: 'pk_live_a',
  MOONPAY_SECRET_KEY: 'sk_live_b',
  MOONPAY_WEBHOOK_KEY: 'c',
  MOONPAY_URL: 'http://127.0.0.1:9',
}

let places: Awaited<ReturnType<typeof makeDataDir>>[]
let first: App
let third: App
let proxy: CellsProxy
let site: string
beforeAll(async () => {
  places = [await makeDataDir(), await makeDataDir()]
  site = `http://127.0.0.1:${await freePort()}`
  const start = (place: number, env: { readonly [name: string]: string }) =>
    startApp({
      dataDir: places[place]?.dataDir ?? '',
      env: { BASE_URL: site, COMPAT_APIS: 'btcpay,coinbase_commerce', ...env },
    })
  ;[first, third] = await Promise.all([start(0, {}), start(1, { CELL: '3', ...CARDS })])
  proxy = await startCellsProxy(site, [
    { number: 0, servers: [new URL(first.baseUrl).host] },
    { number: 3, servers: [new URL(third.baseUrl).host] },
  ])
})
afterAll(async () => {
  await proxy?.stop()
  await Promise.all([first?.stop(), third?.stop()])
  for (const place of places ?? []) await place.remove()
})

const ask = (key: string, method: string, path: string, body?: object, at = site) =>
  askApi(`${at}/api/v1${path}`, key, method, body)
type Made = { id: string; checkout_url: string; status: string; url: string; slug: string }
const made = async (key: string, path: string, body: object): Promise<Made> => {
  const answer = await ask(key, 'POST', path, body)
  expect(answer.status).toBe(201)
  return answer.body as Made
}
const get = (path: string, headers: { readonly [name: string]: string } = {}) =>
  fetch(site + path, { headers, redirect: 'manual' })

test('each request goes to the cell of its key, link, token or id, and a payment is made in each', async () => {
  expect(first.apiKey).toMatch(/^sk_test_[0-9A-Za-z]{43}$/)
  expect(third.apiKey).toMatch(/^sk_test_03_[0-9A-Za-z]{43}$/)
  for (const { apiKey, tag } of [
    { apiKey: first.apiKey, tag: null },
    { apiKey: third.apiKey, tag: '03' },
  ]) {
    const invoice = await made(apiKey, '/invoices', { usd_amount: '12.50', asset: 'LTC' })
    expect(invoice.id).toMatch(tag === null ? /^inv_.{10}[ef]/ : /^inv_.{10}g03/)
    expect(invoice.checkout_url.startsWith(`${site}/i/`)).toBe(true)
    const page = await fetch(invoice.checkout_url)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('Demo Shop')
    await ask(apiKey, 'POST', `/test/invoices/${invoice.id}/pay`, { scenario: 'exact' })
    const status = async () => ((await ask(apiKey, 'GET', `/invoices/${invoice.id}`)).body as Made).status
    await until(async () => (await status()) === 'paid', { timeoutMs: 60_000 })
    expect((await fetch(`${invoice.checkout_url}/receipt.json`)).status).toBe(200)
    const link = await made(apiKey, '/payment-links', { usd_amount: '5.00', name: 'Tea' })
    expect(link.slug).toMatch(tag === null ? /^pl_[0-9A-Za-z]{10}$/ : /^pl_03-[0-9A-Za-z]{7}$/)
    expect(await (await fetch(link.url)).text()).toContain('Tea')
  }
})

test('the wrong cell answers 421 with the right one, whether or not what was asked for exists', async () => {
  const answerOf = (app: App, key: string) =>
    fetch(`${app.baseUrl}/api/v1/invoices`, { headers: { authorization: `Bearer ${key}` } })
  const madeUp = newApiKey(false)
  for (const [app, keys, tag] of [
    [first, [third.apiKey, madeUp.replace('sk_test_', 'sk_test_03_')], '03'],
    [third, [first.apiKey, madeUp], '00'],
  ] as const)
    for (const key of keys) {
      const answer = await answerOf(app, key)
      expect([answer.status, answer.headers.get('paylink-cell')]).toEqual([421, tag])
      expect(await answer.json()).toMatchObject({ error: { code: 'cell_wrong' } })
    }
  expect((await answerOf(first, madeUp)).status).toBe(401)
  expect((await answerOf(first, madeUp.replace('sk_test_', 'sk_test_00_'))).status).toBe(401)
  const invoice = await made(third.apiKey, '/invoices', { usd_amount: '12.50', asset: 'LTC' })
  const token = new URL(invoice.checkout_url).pathname
  for (const path of [token, `${token.slice(0, -9)}AAAAAAAAA`, '/l/pl_03-aaaaaaa', '/till/pl_03-aaaaaaa']) {
    const answer = await fetch(first.baseUrl + path)
    expect([path, answer.status, answer.headers.get('paylink-cell')]).toEqual([path, 421, '03'])
  }
  expect((await fetch(`${third.baseUrl}/l/pl_aaaaaaaaaa`)).headers.get('paylink-cell')).toBe('00')
})

test('a link into a dashboard sets the cell that the browser is led to, and leads nowhere else', async () => {
  const led = await get('/cells/03/dashboard/verify-email?token=a')
  expect([led.status, led.headers.get('location')]).toEqual([303, '/dashboard/verify-email?token=a&here=1'])
  const cookie = led.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect(cookie).toBe('paylink_cell=03')
  const [, email = '', password = ''] =
    /Demo owner +(\S+) +password (\S+)/.exec(third.stdout())?.map((one) => one ?? '') ?? []
  const signedIn = await fetch(`${site}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { cookie, origin: site, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  expect(signedIn.status).toBe(200)
  const session = signedIn.headers.getSetCookie().map((one) => one.split(';')[0])
  const shop = await get('/api/v1/merchant', { cookie: [cookie, ...session].join('; ') })
  const { id } = (await shop.json()) as Made
  expect(id).toMatch(/^mer_.{10}g03/)
  // Of an invitation that is sent by hand.
  expect(dashboardPathOf(id)).toBe('/cells/03/dashboard')
  expect(dashboardPathOf(newId('merchant', new Date()))).toBe('/dashboard')
  for (const path of [
    '/cells/il/dashboard/',
    '/cells/03//evil.example',
    '/cells/03/%2Fevil.example',
    '/cells/03/api/v1/invoices',
  ])
    expect([path, (await get(path)).headers.get('location')]).toEqual([path, null])
})

test('a browser of one cell opens what any other gave out, and is led back to the first', async () => {
  const cookie = 'paylink_cell=03'
  const invoice = await made(first.apiKey, '/invoices', { usd_amount: '12.50', asset: 'LTC' })
  const link = await made(first.apiKey, '/payment-links', { usd_amount: '5.00', name: 'Tea' })
  const { pathname } = new URL(invoice.checkout_url)
  const statusOf = async (path: string, headers = {}) => (await get(path, { cookie, ...headers })).status
  expect([await statusOf(pathname), await statusOf(new URL(link.url).pathname)]).toEqual([200, 200])
  const authorization = `Bearer ${first.apiKey}`
  expect(await statusOf('/api/v1/invoices', { authorization })).toBe(200)
  // As some mail programs write it.
  const encoded = await made(third.apiKey, '/payment-links', { usd_amount: '5.00', name: 'Tea' })
  expect(await statusOf(`/l/${encoded.slug.replace('-', '%2D')}`)).toBe(200)
  const foreign = await made(third.apiKey, '/invoices', { usd_amount: '12.50', asset: 'LTC' })
  // A key is of its own cell, whatever the path names.
  expect(await statusOf(`/api/v1/invoices/${foreign.id}`, { authorization })).toBe(404)
  const back = await get('/cells/00/dashboard/', { cookie })
  expect([back.status, back.headers.get('set-cookie')?.split(';')[0]]).toEqual([303, 'paylink_cell=00'])
})

test("each cell's receipt keys, audit and card notices have an address of their own", async () => {
  for (const [app, tag] of [
    [first, '00'],
    [third, '03'],
  ] as const) {
    const keys = '/.well-known/paylink-receipts.json'
    const own = await (await fetch(`${app.baseUrl}${keys}`)).text()
    expect(await (await get(`/cells/${tag}${keys}`)).text()).toBe(own)
    expect((await get(`/cells/${tag}/audit`)).status).toBe(200)
  }
  const sentTo = async (tag: string) =>
    (await fetch(`${site}/cells/${tag}/onramp/moonpay/webhook`, { method: 'POST', body: '{}' })).status
  // Text is no notice: it is refused where the provider is known.
  expect([await sentTo('00'), await sentTo('03')]).toEqual([404, 415])
})

test("a key of BitPay's older API, in a query or body, goes to its cell", async () => {
  for (const { apiKey } of [first, third]) {
    const other = apiKey === first.apiKey ? third.apiKey : first.apiKey
    const order = { price: 5, currency: 'USD', orderId: 'S1', itemDesc: `"token":"${other}"` }
    const body = JSON.stringify({ token: apiKey, ...order }, null, 2)
    const headers = { 'content-type': 'application/json' }
    const paid = await fetch(`${site}/compat/btcpay/invoices`, { method: 'POST', headers, body })
    const { data } = (await paid.json()) as { data: { id: string } }
    expect(paid.status).toBe(200)
    expect((await get(`/compat/btcpay/invoices/${data.id}?token=${apiKey}`)).status).toBe(200)
  }
})

test('a dead cell costs its own merchants only, and its database opens as no other cell', async () => {
  await first.stop()
  const authorization = `Bearer ${first.apiKey}`
  await until(async () => (await get('/api/v1/invoices', { authorization })).status === 503)
  const answer = await get('/api/v1/invoices', { authorization })
  expect([answer.headers.get('retry-after'), await answer.json()]).toEqual([
    '5',
    { error: expect.objectContaining({ code: 'service_unavailable' }) },
  ])
  await made(third.apiKey, '/invoices', { usd_amount: '12.50', asset: 'LTC' })
  // Shops of every cell have this script in their pages, at one address.
  for (let turn = 0; turn < 2; turn += 1) expect((await get('/embed.js')).status).toBe(200)
  await third.stop()
  const env = { DATA_DIR: places[1]?.dataDir ?? '', BASE_URL: site }
  const ofSeed = (cell: string) => runProgram(['signer', 'export-xpubs'], { ...env, CELL: cell })
  expect((await ofSeed('3')).code).toBe(0)
  expect((await ofSeed('4')).stderr).toContain('seed.json is the seed of cell 3, and CELL is 4')
  const atFirst = { DATA_DIR: places[0]?.dataDir ?? '', CELL: '4' }
  expect((await runProgram(['signer', 'export-xpubs'], atFirst)).stderr).toContain('the seed of cell 0')
  for (const cell of ['0', '4']) {
    const { code, stderr } = await runProgram(['migrate'], { ...env, CELL: cell })
    expect(code).not.toBe(0)
    expect(stderr).toContain(`the database of cell 3: set CELL=3, or give cell ${cell} a database of its own`)
  }
})

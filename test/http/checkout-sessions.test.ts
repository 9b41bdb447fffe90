import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AssetId } from '../../src/core/assets.ts'
import { continueCheckout } from '../../src/flows/continue-checkout.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { readPaymentPage } from '../../src/flows/read-payment-page.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { checkoutSessionList, checkoutSessionView } from '../../src/wire/payment-link.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock, inMempool } from '../support/invoice.ts'

const MINUTE_MS = 60_000

let api: TestApi
let merchant: TestMerchant
let linkId: string
let marketOf: ReturnType<typeof createMarketReader>
beforeAll(async () => {
  api = await createTestApi()
  marketOf = createMarketReader(api.deps)
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  linkId = await makeLink()
})
afterAll(() => api.drop())

type Fields = { [field: string]: unknown }
type Options = { key?: string; link?: string; idempotencyKey?: string }
async function makeLink(fields: Fields = {}, key = merchant.testKey): Promise<string> {
  const answer = await api.call('POST', '/payment-links', {
    key,
    body: { name: 'Shop', allow_dynamic_amount: true, asset: 'LTC', duration_minutes: 30, ...fields },
  })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body.id
}
const post = (fields: Fields, { key = merchant.testKey, link = linkId, idempotencyKey }: Options = {}) =>
  api.call('POST', `/payment-links/${link}/checkout-sessions`, {
    key,
    body: { order_reference: 'order-1', usd_amount: '49.99', ...fields },
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  })
async function made(fields: Fields = {}, options: Options = {}) {
  const answer = await post(fields, options)
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body
}
const told = ({ status, body }: Awaited<ReturnType<typeof post>>): string =>
  body.error === undefined ? `${status} replayed ${body.replayed}` : `${status} ${body.error.code}`
const read = async (id: string) =>
  (await api.call('GET', `/checkout-sessions/${id}`, { key: merchant.testKey })).body
const cancel = (id: string) => api.call('POST', `/checkout-sessions/${id}/cancel`, { key: merchant.testKey })

const urlOf = (session: { checkout_url: string }) => {
  const url = new URL(session.checkout_url)
  return {
    slug: url.pathname.split('/').at(-1) ?? '',
    checkoutToken: url.searchParams.get('checkout_token') ?? '',
  }
}
const press = (session: { checkout_url: string }, asset: AssetId = 'LTC') =>
  continueCheckout({ ...api.deps, marketOf }, { ...urlOf(session), asset })
const pageOf = async (session: { checkout_url: string }) =>
  (await readPaymentPage({ ...api.deps, marketOf }, urlOf(session))).kind
async function pressed(session: { checkout_url: string }): Promise<string> {
  const outcome = await press(session)
  if (outcome.kind !== 'invoice') throw new Error(outcome.kind)
  return outcome.invoiceId
}
const watcher = () => ({ pool: api.database.pools.watcher, clock: api.deps.clock })
const pay = (invoiceId: string, facts: Parameters<typeof recordTransfers>[1]['facts']) =>
  recordTransfers(watcher(), {
    tenant: { merchantId: merchant.id, livemode: false },
    invoiceId,
    facts,
    tipHeight: 100,
  })
const readChain = () =>
  expireInvoices(watcher(), {
    network: 'litecoin-test',
    readAtMs: api.time.now.getTime(),
    tipHeight: 100,
    tipHash: 'a'.repeat(64),
    providers: ['node'],
  })
const now = () => ({ firstSeenMs: api.time.now.getTime() })
const txid = () => randomBytes(32).toString('hex')

test('a session has every field; its URL shows neither the order nor the total', async () => {
  const session = await made({ order_reference: 'order-77', usd_amount: '49.9' })
  expect(session).toMatchObject({
    object: 'checkout_session',
    payment_link_id: linkId,
    order_reference: 'order-77',
    usd_amount: '49.90',
    status: 'active',
    invoice_id: null,
    livemode: false,
    replayed: false,
    expires_at: new Date(api.time.now.getTime() + 30 * MINUTE_MS).toISOString(),
  })
  expect(Object.keys(checkoutSessionView.parse(session)).sort()).toEqual(Object.keys(session).sort())
  expect(await read(session.id)).toEqual(session)
  expect(session.checkout_url).toMatch(/\/l\/pl_[0-9A-Za-z]{10}\?checkout_token=[A-Za-z0-9_-]{87}$/)
  const bytes = Buffer.from(urlOf(session).checkoutToken, 'base64url')
  expect(bytes.includes('order-77') || bytes.includes('4990')).toBe(false)
})

test('the invoices of a payment link are listed by its id, and told by its name', async () => {
  const invoiceId = await pressed(await made())
  const listed = async (link: string) => {
    const { status, body } = await api.call('GET', `/invoices?payment_link_id=${link}`, {
      key: merchant.testKey,
    })
    return [status, body.data?.map(({ id }: { id: string }) => id) ?? body.error.code]
  }
  expect(await listed(linkId)).toEqual([200, [invoiceId]])
  expect(await listed(await makeLink())).toEqual([200, []])
  expect(await listed('Shop')).toEqual([400, 'parameter_invalid'])
  const ofApi = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { asset: 'LTC', usd_amount: '5' },
  })
  const names = { [invoiceId]: 'Shop', [ofApi.body.id]: null }
  const all = await api.call('GET', '/invoices', { key: merchant.testKey })
  for (const { id, payment_link_name } of all.body.data)
    expect([id, payment_link_name]).toEqual([id, names[id]])
  expect(all.body.data).toHaveLength(2)
  for (const [id, name] of Object.entries(names)) {
    const one = await api.call('GET', `/invoices/${id}`, { key: merchant.testKey })
    expect(one.body.payment_link_name).toBe(name)
  }
})

test('nothing usable is stored: no row of the database holds a token', async () => {
  const session = await made({}, { idempotencyKey: 'k' })
  const { checkoutToken } = urlOf(session)
  const { rows } = await api.database.owner.query<{ text: string }>(
    `select (select string_agg(s::text, '') from checkout_session s)
       || (select string_agg(l::text, '') from payment_link l)
       || coalesce((select string_agg(encode(response_body, 'escape'), '') from idempotency_key), '') as text`,
  )
  expect(rows[0]?.text).toContain(session.id)
  expect(rows[0]?.text).not.toContain(checkoutToken.slice(-43))
})

test('a session’s page to go back to becomes its invoice’s; the same order again keeps the first', async () => {
  const return_url = 'https://shop.example/orders/1'
  const session = await made({ return_url })
  expect(session.return_url).toBe(return_url)
  const again = await post({ return_url: 'https://shop.example/other' })
  expect([told(again), again.body.return_url]).toEqual(['200 replayed true', return_url])
  const path = `/invoices/${await pressed(session)}`
  const { body: invoice } = await api.call('GET', path, { key: merchant.testKey })
  expect(invoice.return_url).toBe(return_url)
  const refused = await post({ order_reference: 'order-2', return_url: 'http://shop.example/' })
  expect([told(refused), refused.body.error.param]).toEqual(['400 parameter_invalid', 'return_url'])
})

test('the window is the session’s, then the link’s, then the merchant’s', async () => {
  const minutesOf = (session: { expires_at: string; created_at: string }) =>
    (Date.parse(session.expires_at) - Date.parse(session.created_at)) / MINUTE_MS
  const plain = await makeLink({ duration_minutes: undefined })
  expect(minutesOf(await made({ order_reference: 'a', expires_in_minutes: 5 }))).toBe(5)
  expect(minutesOf(await made({ order_reference: 'b', expires_in_minutes: 1_440 }))).toBe(1_440)
  expect(minutesOf(await made({ order_reference: 'c' }))).toBe(30)
  expect(minutesOf(await made({ order_reference: 'd' }, { link: plain }))).toBe(60)
  for (const minutes of [4, 1_441, 5.5, '5', null])
    expect(told(await post({ order_reference: 'e', expires_in_minutes: minutes }))).toBe(
      '400 parameter_invalid',
    )
})

test('the same order again is the same session, replayed, also when it has expired', async () => {
  const first = await made()
  expect(told(await post({ usd_amount: '49.99' }))).toBe('200 replayed true')
  expect((await post({})).body).toEqual({ ...first, replayed: true })
  api.time.advance(31 * MINUTE_MS)
  const expired = await post({})
  expect(told(expired)).toBe('200 replayed true')
  expect(expired.body).toEqual({ ...first, replayed: true, status: 'expired' })
})

test('the same order with another link, amount, duration or mode is a conflict, for ever', async () => {
  await made({ expires_in_minutes: 30 })
  const other = await makeLink()
  const live = await makeLink({}, merchant.liveKey)
  const conflict = '409 order_reference_conflict'
  expect(told(await post({ expires_in_minutes: 30 }, { link: other }))).toBe(conflict)
  expect(told(await post({ expires_in_minutes: 30, usd_amount: '50' }))).toBe(conflict)
  expect(told(await post({ expires_in_minutes: 31 }))).toBe(conflict)
  // The window of the link is thirty minutes too, but that was not what was asked for.
  expect(told(await post({}))).toBe(conflict)
  expect(told(await post({ expires_in_minutes: 30 }, { link: live, key: merchant.liveKey }))).toBe(conflict)
  api.time.advance(1_000 * 24 * 60 * MINUTE_MS)
  expect(told(await post({}))).toBe(conflict)
  const stranger = await api.addMerchant()
  const theirs = await makeLink({}, stranger.testKey)
  expect(told(await post({}, { link: theirs, key: stranger.testKey }))).toBe('201 replayed false')
})

test('a link without dynamic amounts, or inactive, takes no new session, and still returns old ones', async () => {
  const fixed = await makeLink({ allow_dynamic_amount: false, usd_amount: '10' })
  expect(told(await post({}, { link: fixed }))).toBe('400 dynamic_amount_not_allowed')
  await made()
  await api.call('PATCH', `/payment-links/${linkId}`, { key: merchant.testKey, body: { active: false } })
  expect(told(await post({ order_reference: 'order-2' }))).toBe('409 payment_link_inactive')
  expect(told(await post({}))).toBe('200 replayed true')
})

test('the total keeps to the limits and to the minimum of the link’s coin', async () => {
  for (const [amount, outcome] of [
    ['0.49', '400 amount_too_small'],
    ['0.5', '201 replayed false'],
    ['100000', '201 replayed false'],
    ['100000.01', '400 amount_too_large'],
    ['1e3', '400 parameter_invalid'],
    ['١', '400 parameter_invalid'],
  ] as const)
    expect(told(await post({ order_reference: amount, usd_amount: amount }))).toBe(outcome)
  const before = await made({ order_reference: 'earlier', usd_amount: '10' })
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [merchant.id, { minimums: { LTC: '100000000' } }],
  )
  api.time.advance(1_000)
  expect(told(await post({ order_reference: 'later', usd_amount: '10' }))).toBe('400 amount_too_small')
  // What was made under other rules stands.
  const again = await post({ order_reference: 'earlier', usd_amount: '10' })
  expect([again.status, again.body.id]).toEqual([200, before.id])
})

test('two hundred identical requests at once make one session: one 201, the rest 200 and replayed', async () => {
  for (const idempotencyKey of [undefined, 'the same key']) {
    const fields = { order_reference: `burst ${idempotencyKey}` }
    const options = idempotencyKey === undefined ? {} : { idempotencyKey }
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(fields, options)))
    const counts = new Map<string, number>()
    for (const answer of answers) counts.set(told(answer), (counts.get(told(answer)) ?? 0) + 1)
    expect(Object.fromEntries(counts)).toEqual({ '201 replayed false': 1, '200 replayed true': 199 })
    expect(new Set(answers.map(({ body }) => body.checkout_url)).size).toBe(1)
  }
})

test('of conflicting requests at once one wins, and its own repeats; the others are conflicts', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => post({ usd_amount: `${10 + (index % 5)}` })),
  )
  const winners = answers.filter(({ status }) => status === 201)
  expect(winners).toHaveLength(1)
  for (const { status, body } of answers) {
    if (status === 409) expect(body.error.code).toBe('order_reference_conflict')
    else expect(body.id).toBe(winners[0]?.body.id)
  }
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(80)
})

test('test and live ask for one order at once: one mode has it', async () => {
  const live = await makeLink({}, merchant.liveKey)
  for (let round = 0; round < 10; round++) {
    const fields = { order_reference: `both ${round}` }
    const answers = await Promise.all([post(fields), post(fields, { link: live, key: merchant.liveKey })])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
  }
})

test('the order reference comes before the Idempotency-Key', async () => {
  const first = await made({}, { idempotencyKey: 'k' })
  const again = await post({}, { idempotencyKey: 'k' })
  expect(told(again)).toBe('200 replayed true')
  expect(again.headers.get('idempotent-replayed')).toBeNull()
  expect(again.body.id).toBe(first.id)
  expect(told(await post({ usd_amount: '50' }, { idempotencyKey: 'k' }))).toBe('409 order_reference_conflict')
  expect(told(await post({ order_reference: 'order-2' }, { idempotencyKey: 'k' }))).toBe(
    '422 idempotency_key_reused',
  )
  expect(told(await post({}, { idempotencyKey: 'another' }))).toBe('200 replayed true')
})

test('sessions list newest first, and by their order', async () => {
  const ids: string[] = []
  for (let index = 0; index < 4; index++) {
    api.time.advance(1)
    ids.unshift((await made({ order_reference: `order-${index}` })).id)
  }
  const invoiceId = await pressed(await read(ids[0] ?? ''))
  const list = async (search: string) => {
    const path = `/payment-links/${linkId}/checkout-sessions${search}`
    return checkoutSessionList.parse((await api.call('GET', path, { key: merchant.testKey })).body)
  }
  const all = await list('')
  expect(all.data.map((session) => session.id)).toEqual(ids)
  expect(all.data.map((session) => session.invoice_id)).toEqual([invoiceId, null, null, null])
  const second = await list(`?limit=2&starting_after=${ids[0]}`)
  expect(second).toMatchObject({ has_more: true, url: `/api/v1/payment-links/${linkId}/checkout-sessions` })
  expect(second.data.map((session) => session.id)).toEqual(ids.slice(1, 3))
  expect((await list('?order_reference=order-1')).data.map((session) => session.id)).toEqual([ids[2]])
  expect((await list('?order_reference=order')).data).toEqual([])
})

test('a session follows its invoice to completed, and stays so', async () => {
  const session = await made()
  const invoiceId = await pressed(session)
  const { amount } = (await api.call('GET', `/invoices/${invoiceId}`, { key: merchant.testKey })).body
  const units = BigInt(Math.round(Number(amount) * 1e8))
  const id = txid()
  const statusAfter = async (facts: Parameters<typeof pay>[1]) => {
    await pay(invoiceId, facts)
    return (await read(session.id)).status
  }
  expect((await read(session.id)).invoice_id).toBe(invoiceId)
  expect(await statusAfter([inMempool(id, units, now())])).toBe('active')
  api.time.advance(31 * MINUTE_MS)
  await readChain()
  expect((await read(session.id)).status).toBe('active')
  expect(await pageOf(session)).toBe('invoice')
  expect(await statusAfter([inBlock(id, units, 9, now())])).toBe('completed')
  expect(await pageOf(session)).toBe('invoice')
  expect(await statusAfter([{ ...inMempool(id, units, now()), state: 'reorged' }])).toBe('completed')
  expect((await cancel(session.id)).body.error.code).toBe('checkout_session_not_cancellable')
})

test('expires_at is the end of an unpaid session to the millisecond, whoever opens it in between', async () => {
  const [left, continued] = [await made(), await made({ order_reference: 'order-2' })]
  await pressed(continued)
  api.time.advance(30 * MINUTE_MS - 1)
  expect(await pageOf(left)).toBe('open')
  expect((await read(left.id)).status).toBe('active')
  api.time.advance(1)
  for (const session of [left, continued]) {
    expect(await read(session.id)).toMatchObject({ status: 'expired', expires_at: session.expires_at })
    expect(await pageOf(session)).toBe('neutral')
    expect((await press(session)).kind).toBe('neutral')
  }
})

test('a payment in the horizon after the deadline brings an expired session to completed', async () => {
  const session = await made()
  const invoiceId = await pressed(session)
  const { amount } = (await api.call('GET', `/invoices/${invoiceId}`, { key: merchant.testKey })).body
  const units = BigInt(Math.round(Number(amount) * 1e8))
  api.time.advance(35 * MINUTE_MS)
  await readChain()
  expect((await read(session.id)).status).toBe('expired')
  await pay(invoiceId, [inBlock(txid(), units, 9, now())])
  expect((await read(session.id)).status).toBe('completed')
})

test('cancelling closes the URL and cancels the unpaid invoice, once', async () => {
  const [left, continued] = [await made(), await made({ order_reference: 'order-2' })]
  const invoiceId = await pressed(continued)
  for (const session of [left, continued]) {
    const answer = await cancel(session.id)
    expect([answer.status, answer.body.status]).toEqual([200, 'cancelled'])
    expect(await read(session.id)).toEqual(answer.body)
    expect(await pageOf(session)).toBe('neutral')
    expect((await press(session)).kind).toBe('neutral')
    expect(told(await cancel(session.id))).toBe('409 checkout_session_not_cancellable')
  }
  const invoice = (await api.call('GET', `/invoices/${invoiceId}`, { key: merchant.testKey })).body
  expect(invoice.status).toBe('cancelled')
  expect(told(await post({}))).toBe('200 replayed true')
})

test('once money has come, in whatever coin, a session is not cancelled', async () => {
  for (const change of [{}, { asset: 'BTC' as const, network: 'bitcoin-test' as const }]) {
    const session = await made({ order_reference: `paid ${JSON.stringify(change)}` })
    const invoiceId = await pressed(session)
    await pay(invoiceId, [inMempool(txid(), 1_000n, { ...now(), ...change })])
    expect(told(await cancel(session.id))).toBe('409 checkout_session_not_cancellable')
    expect((await read(session.id)).status).toBe('active')
  }
})

test('Continue and cancel at once: the session never ends with a payable invoice and a cancellation', async () => {
  for (let round = 0; round < 15; round++) {
    const session = await made({ order_reference: `race ${round}` })
    const [outcome, cancelled] = await Promise.all([press(session), cancel(session.id)])
    expect(cancelled.status).toBe(200)
    const after = await read(session.id)
    expect(after.status).toBe('cancelled')
    expect(after.invoice_id === null).toBe(outcome.kind === 'neutral')
    if (outcome.kind !== 'invoice') continue
    const invoice = (await api.call('GET', `/invoices/${outcome.invoiceId}`, { key: merchant.testKey })).body
    expect(invoice.status).toBe('cancelled')
  }
})

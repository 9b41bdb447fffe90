import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { isReopenable, planReopening } from '../../src/core/invoice/reopen.ts'
import { readPaymentRules } from '../../src/core/payment-rules.ts'
import { loadPaymentLink } from '../../src/db/checkout/payment-links.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { continueCheckout } from '../../src/flows/continue-checkout.ts'
import { readPaymentPage } from '../../src/flows/read-payment-page.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { randomBase62 } from '../../src/secrets/random-base62.ts'
import { createPricedApi, type PricedApi } from '../support/priced-api.ts'

/** 1 EUR = 1.1 USD at the bank and, unless the test says otherwise, at the source of the moment. */
const RATE = '1.099999890001'
const PRICE = { amount: '49.90', currency: 'EUR' } as const

let priced: PricedApi
let deps: Parameters<typeof continueCheckout>[0]
beforeAll(async () => {
  priced = await createPricedApi()
  deps = { ...priced.api.deps, marketOf: createMarketReader(priced.api.deps) }
})
beforeEach(() => priced.say({}))
afterAll(() => priced.stop())

const call = (method: string, path: string, body?: object) =>
  priced.api.call(method, path, { key: priced.merchant.liveKey, ...(body === undefined ? {} : { body }) })
const makeLink = async (fields: object) =>
  (await call('POST', '/payment-links', { name: 'Coffee', asset: 'LTC', ...fields })).body
const open = (slug: string, query: object = {}) => readPaymentPage(deps, { slug, ...query })
const press = (slug: string, query: object = {}) =>
  continueCheckout(deps, { slug, visit: randomBase62(22), asset: 'LTC', ...query })

/** The invoice that a press made, as the API shows it. */
async function bought(slug: string, query: object = {}) {
  const continued = await press(slug, query)
  if (continued.kind !== 'invoice') throw new Error(`no invoice: ${JSON.stringify(continued)}`)
  return (await call('GET', `/invoices/${continued.invoiceId}`)).body
}

test('a link in euros charges each buyer what they are worth when the buyer continues', async () => {
  const link = await makeLink({ price: { amount: '49.9', currency: 'EUR' } })
  expect(link).toMatchObject({ price: PRICE, usd_amount: null, allow_dynamic_amount: false })
  expect((await call('GET', `/payment-links/${link.id}`)).body).toEqual(link)
  expect(await open(link.slug)).toMatchObject({ kind: 'open', price: PRICE, usdCents: 5_489n })
  const rate = { usd_per_unit: RATE }
  expect(await bought(link.slug)).toMatchObject({
    usd_amount: '54.89',
    price: PRICE,
    price_rate: rate,
    amount_source: 'merchant',
    payment_link_id: link.id,
  })
  await priced.say({ coinbase: { EUR: '0.9' } })
  expect(await bought(link.slug)).toMatchObject({ usd_amount: '55.45', price: PRICE })
  const checks = new Map((await runAudit(priced.api.database.owner, [])).map((check) => [check.name, check]))
  for (const name of ['price_is_its_dollars', 'event_tells_what_was_settled'])
    expect(checks.get(name)?.findings, name).toEqual([])
})

test('without a rate a link in euros sells nothing, and says so for every coin', async () => {
  const link = await makeLink({ price: PRICE })
  await priced.say({ coinbase: { EUR: '0.5' } })
  const page = await open(link.slug)
  expect(page).toMatchObject({ kind: 'open', price: PRICE, usdCents: null })
  if (page.kind !== 'open') throw new Error('the page is not open')
  expect(page.coins.length).toBeGreaterThan(0)
  expect(page.coins.every(({ available, reason }) => !available && reason === 'rate_unavailable')).toBe(true)
  expect(await press(link.slug)).toEqual({ kind: 'asset_unavailable', reason: 'rate_unavailable' })
  const refused = await call('POST', '/payment-links', { name: 'Coffee', price: PRICE })
  expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
    503,
    'rate_unavailable',
    'price.currency',
  ])
})

test('dollars and a price take each other’s place on a link, and one of them stays', async () => {
  const { id } = await makeLink({ price: PRICE })
  const change = async (body: object) => {
    const { status, body: answer } = await call('PATCH', `/payment-links/${id}`, body)
    return status === 200
      ? [answer.usd_amount, answer.price]
      : [status, answer.error.code, answer.error.param]
  }
  expect(await change({ name: 'Tea' })).toEqual([null, PRICE])
  expect(await change({ usd_amount: null })).toEqual([null, PRICE])
  expect(await change({ price: null })).toEqual([400, 'parameter_invalid', 'usd_amount'])
  expect(await change({ usd_amount: '12' })).toEqual(['12.00', null])
  expect(await change({ price: null })).toEqual(['12.00', null])
  const pounds = { amount: '5.00', currency: 'GBP' }
  expect(await change({ price: pounds })).toEqual([null, pounds])
  expect(await change({ price: pounds, usd_amount: '5' })).toEqual([400, 'parameter_invalid', 'price'])
  expect(await change({ price: { amount: '0.10', currency: 'GBP' } })).toEqual([
    400,
    'amount_too_small',
    'price.amount',
  ])
  for (const body of [{ price: PRICE, usd_amount: '5' }, { price: { ...PRICE, currency: 'USD' } }])
    expect((await call('POST', '/payment-links', { name: 'Coffee', ...body })).status).toBe(400)
})

test('a buyer’s URL names an amount in any currency where the link takes one', async () => {
  const { slug } = await makeLink({ allow_dynamic_amount: true })
  const euros = { amount: '49.9', currency: 'EUR' }
  expect(await open(slug, euros)).toMatchObject({ kind: 'open', price: PRICE, usdCents: 5_489n })
  expect(await bought(slug, euros)).toMatchObject({
    usd_amount: '54.89',
    price: PRICE,
    amount_source: 'buyer',
  })
  for (const query of [{ amount: '5' }, { currency: 'EUR' }, { ...euros, usd: '5' }]) {
    expect(await open(slug, query)).toMatchObject({ kind: 'ask_amount', reason: 'invalid' })
    expect(await press(slug, query)).toMatchObject({ kind: 'bad_amount', reason: 'invalid' })
  }
  const fixed = await makeLink({ price: PRICE })
  expect(await open(fixed.slug, euros)).toMatchObject({ kind: 'bad_amount', reason: 'not_allowed' })
})

test('a session in euros fixes its dollars once, and its invoice has the same', async () => {
  const link = await makeLink({ allow_dynamic_amount: true })
  const sessions = `/payment-links/${link.id}/checkout-sessions`
  const order = { order_reference: 'order-1', price: { amount: '49.9', currency: 'EUR' } }
  const made = await call('POST', sessions, order)
  const shown = { usd_amount: '54.89', price: PRICE, price_rate: { usd_per_unit: RATE } }
  expect([made.status, made.body]).toMatchObject([201, shown])
  // The same order at another rate, and without one, is the same session.
  for (const coinbase of [{ EUR: '0.9' }, { EUR: '0.5' }]) {
    await priced.say({ coinbase })
    const again = await call('POST', sessions, order)
    expect([again.status, again.body]).toMatchObject([200, { ...shown, id: made.body.id, replayed: true }])
  }
  await priced.say({ coinbase: { EUR: '0.9' } })
  for (const other of [
    { price: { ...PRICE, amount: '49.91' } },
    { price: { ...PRICE, currency: 'GBP' } },
    { usd_amount: '54.89' },
  ]) {
    const refused = await call('POST', sessions, { order_reference: 'order-1', ...other })
    expect([refused.status, refused.body.error.code]).toEqual([409, 'order_reference_conflict'])
  }
})

test('the buyer of a session in euros pays the dollars of its creation', async () => {
  const link = await makeLink({ allow_dynamic_amount: true, duration_minutes: 180 })
  const sessions = `/payment-links/${link.id}/checkout-sessions`
  const { body: session } = await call('POST', sessions, { order_reference: 'order-2', price: PRICE })
  await priced.say({ coinbase: { EUR: '0.9' } })
  const token = new URL(session.checkout_url).searchParams.get('checkout_token') ?? ''
  const query = { checkoutToken: token }
  expect(await open(link.slug, query)).toMatchObject({ kind: 'open', price: PRICE, usdCents: 5_489n })
  expect(await open(link.slug, { ...query, amount: '1', currency: 'EUR' })).toEqual({ kind: 'neutral' })
  const invoice = await bought(link.slug, query)
  expect(invoice).toMatchObject({
    usd_amount: '54.89',
    price: PRICE,
    price_rate: session.price_rate,
    order_reference: 'order-2',
  })
})

test('a session is refused without a total, with two, and in a currency without a rate', async () => {
  const link = await makeLink({ allow_dynamic_amount: true })
  const refusal = async (body: object) => {
    const sessions = `/payment-links/${link.id}/checkout-sessions`
    const { status, body: answer } = await call('POST', sessions, { order_reference: 'order-3', ...body })
    return [status, answer.error?.code, answer.error?.param]
  }
  expect(await refusal({})).toEqual([400, 'parameter_missing', 'usd_amount'])
  expect(await refusal({ price: PRICE, usd_amount: '5' })).toEqual([400, 'parameter_invalid', 'price'])
  expect(await refusal({ price: { ...PRICE, amount: '0.10' } })).toEqual([
    400,
    'amount_too_small',
    'price.amount',
  ])
  await priced.say({ coinbase: { EUR: '0.5' } })
  expect(await refusal({ price: PRICE })).toEqual([503, 'rate_unavailable', 'price.currency'])
  await call('PATCH', `/payment-links/${link.id}`, { active: false })
  expect(await refusal({ price: PRICE })).toEqual([409, 'payment_link_inactive', null])
})

test('an expired invoice of a link reopens at the price that the link has now', async () => {
  const link = await makeLink({ price: PRICE })
  const { id } = await bought(link.slug)
  await call('PATCH', `/payment-links/${link.id}`, { price: { amount: '20', currency: 'EUR' } })
  const tenant = { merchantId: priced.merchant.id, livemode: true }
  const [stored, now] = await withTransaction(deps.pool, tenant, async (tx) => [
    await loadInvoice(tx, tenant, id),
    await loadPaymentLink(tx, tenant, link.id),
  ])
  if (stored === null) throw new Error('the invoice is gone')
  const invoice = { ...stored.invoice, expiredAtMs: stored.invoice.expiresAtMs }
  expect(isReopenable(invoice, now, { reopenExpired: false })).toBe(true)
  const market = { ...(await deps.marketOf(tenant)), rules: readPaymentRules({}) }
  expect(planReopening(invoice, now, market, priced.api.time.now.getTime())).toMatchObject({
    kind: 'planned',
    terms: { usdCents: 2_200n },
    price: { amount: '20.00', currency: 'EUR' },
  })
})

test('no login changes the price of a session, and no half of one gets in anywhere', async () => {
  const { owner, pools } = priced.api.database
  const link = await makeLink({ allow_dynamic_amount: true, price: PRICE })
  const sessions = `/payment-links/${link.id}/checkout-sessions`
  await call('POST', sessions, { order_reference: 'order-4', price: PRICE })
  for (const column of ['price_amount', 'price_currency', 'price_rate'])
    await expect(pools.api.query(`update checkout_session set ${column} = ${column}`)).rejects.toThrow(
      'permission denied',
    )
  for (const [table, odd, constraint] of [
    ['payment_link', `price_amount = 'NaN'`, 'payment_link_charge'],
    ['payment_link', `price_amount = null`, 'payment_link_charge'],
    ['payment_link', `price_currency = 'euro'`, 'payment_link_charge'],
    ['payment_link', `usd_cents = 5`, 'payment_link_charge'],
    [
      'payment_link',
      `price_amount = null, price_currency = null, allow_dynamic_amount = false`,
      'payment_link_charge',
    ],
    ['checkout_session', `price_amount = 'NaN'`, 'checkout_session_price_is_whole'],
    ['checkout_session', `price_rate = '{}'`, 'checkout_session_price_is_whole'],
    ['checkout_session', `price_currency = null`, 'checkout_session_price_is_whole'],
  ] as const)
    await expect(
      owner.query(`update ${table} set ${odd} where price_amount = '49.90' and merchant_id = $1`, [
        priced.merchant.id,
      ]),
      odd,
    ).rejects.toThrow(constraint)
})

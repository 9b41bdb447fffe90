import { afterAll, beforeAll, expect, test } from 'vitest'
import { setBranding } from '../../src/flows/branding.ts'
import { keepCurrencyRatesOnce } from '../../src/rates/keep-currency-rates.ts'
import { recordPayment } from '../compat/record-payment.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

/** What the statement says in the shop's own currency. */

const DAY_MS = 86_400_000

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: 100 })
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const rates = (dollars: string | null) => ({
  refresh: async () => {},
  quote: (currency: string) => {
    if (dollars === null || currency !== 'EUR') return null
    const at = api.time.now.toISOString()
    const sources = ['coinbase', 'ecb'].map((name) => ({ name, usdPerUnit: dollars, at }))
    return { rate: 1n, evidence: { usdPerUnit: dollars, quotedAt: at, sources } }
  },
})
const keep = (dollars: string | null) =>
  keepCurrencyRatesOnce({ pool: api.database.pools.api, rates: rates(dollars), clock: api.deps.clock })
const have = (homeCurrency: 'EUR' | 'JPY' | null) =>
  setBranding({ pool: api.database.pools.api, clock: api.deps.clock }, merchant.id, { homeCurrency })

async function pay(body: object): Promise<string> {
  const made = await api.call('POST', '/invoices', { key: merchant.testKey, body: { asset: 'LTC', ...body } })
  expect(made.status).toBe(201)
  await recordPayment(api, merchant, made.body.id, 'final')
  return made.body.id
}

async function linesOf(invoiceId: string) {
  const { body } = await api.call('GET', '/balances/entries?limit=100', { key: merchant.testKey })
  return body.data.filter((entry: { invoice_id: string }) => entry.invoice_id === invoiceId)
}

test('a line has its value at the first rate that was kept on its day, and says whose it is', async () => {
  await have('EUR')
  await keep('1.25')
  await keep('1.5')
  const [fee, credit] = await linesOf(await pay({ usd_amount: '10.00' }))
  const rate = {
    usd_per_unit: '1.25',
    quoted_at: api.time.now.toISOString(),
    sources: ['coinbase', 'ecb'].map((name) => ({
      name,
      usd_per_unit: '1.25',
      at: api.time.now.toISOString(),
    })),
  }
  expect(credit).toMatchObject({ usd_value: '10.00', home_value: { currency: 'EUR', amount: '8.00', rate } })
  expect(fee).toMatchObject({
    type: 'service_fee',
    usd_value: '-0.09',
    home_value: { amount: '-0.07', rate },
  })
})

test('a price in the shop’s currency comes in as that price, at the rate of its invoice', async () => {
  const id = await pay({ price: { amount: '49.99', currency: 'EUR' } })
  const invoice = (await api.call('GET', `/invoices/${id}`, { key: merchant.testKey })).body
  const [, credit] = await linesOf(id)
  expect(credit).toMatchObject({ home_value: { amount: '49.99', rate: invoice.price_rate } })
})

test('a day without a kept rate has no value, also once the next day has one', async () => {
  api.time.advance(DAY_MS)
  await keep(null)
  const id = await pay({ usd_amount: '10.00' })
  api.time.advance(DAY_MS)
  await keep('1.1')
  const [, credit] = await linesOf(id)
  expect(credit).toMatchObject({
    usd_value: '10.00',
    home_value: { currency: 'EUR', amount: null, rate: null },
  })
  await have('JPY')
  const [, inYen] = await linesOf(id)
  expect(inYen).toMatchObject({ home_value: { currency: 'JPY', amount: null, rate: null } })
})

test('a shop of dollars reads dollars alone', async () => {
  await have(null)
  const [, credit] = await linesOf(await pay({ usd_amount: '10.00' }))
  expect(credit).toMatchObject({ usd_value: '10.00', home_value: null })
})

test('no login changes or removes a kept rate', async () => {
  for (const statement of ['update currency_rate set rate = rate', 'delete from currency_rate'])
    await expect(api.database.pools.api.query(statement)).rejects.toThrow('permission denied')
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { isReopenable, planReopening } from '../../src/core/invoice/reopen.ts'
import { readPaymentRules } from '../../src/core/payment-rules.ts'
import { CURRENCIES, currencyDecimals } from '../../src/core/rates/currencies.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { type CurrencyRates, createCurrencyRates } from '../../src/rates/currency-rates.ts'
import { coinbaseRates, type FakeRates } from '../rates/fake-rates.ts'
import { START, type TestApi, type TestMerchant } from '../support/api.ts'
import { createPricedApi, type PricedApi, RATES_DAY } from '../support/priced-api.ts'

/** Units of each for one dollar: 1 EUR = 1.1 USD, as `usdPerUnit` of the evidence, rounded up. */
const EUR = { coinbase: '0.909091', rate: '1.099999890001' }
const MINUTE_MS = 60_000

let priced: PricedApi
let api: TestApi
let merchant: TestMerchant
let fake: FakeRates
let rates: CurrencyRates
beforeAll(async () => {
  priced = await createPricedApi()
  ;({ api, merchant, fake, rates } = priced)
})
beforeEach(() => say({}))
afterAll(() => priced.stop())

const say: PricedApi['say'] = (changes) => priced.say(changes)

const create = (body: object, options: { readonly key?: string; readonly once?: string } = {}) =>
  api.call('POST', '/invoices', {
    key: options.key ?? merchant.liveKey,
    body: { asset: 'LTC', ...body },
    ...(options.once === undefined ? {} : { headers: { 'idempotency-key': options.once } }),
  })
const inEuros = (amount: string, fields: object = {}) =>
  create({ price: { amount, currency: 'EUR' }, ...fields })
const refusalOf = async (body: object) => {
  const { status, body: answer } = await create(body)
  return [status, answer.error?.code, answer.error?.param]
}
const rowOf = async (id: string) =>
  (
    await api.database.owner.query(
      'select price_amount, price_currency, usd_cents from invoice where id = $1',
      [id],
    )
  ).rows[0]

test('an invoice in euros asks for the dollars that they are worth, and shows price, rate and sources', async () => {
  const made = await inEuros('49.9')
  const at = api.time.now.toISOString()
  const shown = {
    usd_amount: '54.89',
    expected_usd_amount: '54.89',
    price: { amount: '49.90', currency: 'EUR' },
    price_rate: {
      usd_per_unit: EUR.rate,
      quoted_at: at,
      sources: [
        { name: 'coinbase', usd_per_unit: EUR.rate, at },
        { name: 'ecb', usd_per_unit: '1.1', at: `${RATES_DAY}T00:00:00.000Z` },
      ],
    },
  }
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject(shown)
  // What is paid is the coin amount of those dollars.
  const same = await create({ usd_amount: '54.89' })
  expect(same.body).toMatchObject({ amount: made.body.amount, price: null, price_rate: null })
  const { id } = made.body
  expect((await api.call('GET', `/invoices/${id}`, { key: merchant.liveKey })).body).toEqual(made.body)
  const events = await api.call('GET', `/events?resource_id=${id}`, { key: merchant.liveKey })
  expect(events.body.data).toHaveLength(1)
  expect(events.body.data[0].data).toMatchObject(shown)
})

test('every currency can be asked for, with all its decimals, at its own rate', async () => {
  for (const currency of CURRENCIES) {
    const decimals = currencyDecimals(currency)
    const rate = rates.quote(currency, true)?.rate ?? 0n
    // About 20 dollars.
    const whole = (20n * 10n ** 12n) / rate + 1n
    const amount = decimals === 0 ? String(whole) : `${whole}.01`
    const made = await create({ price: { amount, currency } })
    expect(made.body, currency).toMatchObject({ price: { amount, currency } })
    const units = BigInt(amount.replace('.', ''))
    const scale = 10n ** BigInt(decimals + 10)
    const cents = (units * rate + scale - 1n) / scale
    expect(made.body.usd_amount.replace('.', ''), currency).toBe(String(cents))
  }
})

test('what is no price is refused by name, and never priced in another way', async () => {
  for (const [body, param] of [
    [{ price: { amount: '49.999', currency: 'EUR' } }, 'price.amount'],
    [{ price: { amount: '5000.5', currency: 'JPY' } }, 'price.amount'],
    [{ price: { amount: '1.0', currency: 'ISK' } }, 'price.amount'],
    [{ price: { amount: '-5', currency: 'EUR' } }, 'price.amount'],
    [{ price: { amount: '1e3', currency: 'EUR' } }, 'price.amount'],
    [{ price: { amount: 5, currency: 'EUR' } }, 'price.amount'],
    [{ price: { amount: '5', currency: 'eur' } }, 'price.currency'],
    [{ price: { amount: '5', currency: 'USD' } }, 'price.currency'],
    [{ price: { amount: '5', currency: 'KWD' } }, 'price.currency'],
    [{ price: { amount: '5', currency: 'EUR' }, usd_amount: '5' }, 'price'],
    [{ price: { amount: '5', currency: 'EUR' }, amount: '5' }, 'price'],
    [{ price: '5 EUR' }, 'price'],
    [{ price: null }, 'price'],
  ] as const)
    expect(await refusalOf(body), JSON.stringify(body)).toEqual([400, 'parameter_invalid', param])
  expect(await refusalOf({ price: { amount: '5' } })).toEqual([400, 'parameter_missing', 'price.currency'])
  expect(await refusalOf({ price: { currency: 'EUR' } })).toEqual([400, 'parameter_missing', 'price.amount'])
  expect(await refusalOf({ price: { amount: '5', currency: 'EUR', rate: '9' } })).toEqual([
    400,
    'parameter_unknown',
    'price.rate',
  ])
  const euros = (amount: string) => refusalOf({ price: { amount, currency: 'EUR' } })
  expect(await euros('0.4')).toEqual([400, 'amount_too_small', 'price.amount'])
  expect(await euros('0')).toEqual([400, 'amount_too_small', 'price.amount'])
  expect(await euros('90909.20')).toEqual([400, 'amount_too_large', 'price.amount'])
  expect(await euros('999999999999.99')).toEqual([400, 'amount_too_large', 'price.amount'])
  const { body } = await create({ price: { amount: '5', currency: 'USD' } })
  expect(body.error.message).toContain('US dollars are usd_amount')
})

test.each<[string, () => Promise<void>]>([
  ['the source of the moment lies', () => say({ coinbase: { EUR: '0.5' } })],
  ['the source of the moment is a thousand off', () => say({ coinbase: { EUR: '909.091' } })],
  ['the bank has redenominated it, and the market not yet', () => say({ ecb: { USD: '0.0011' } })],
  ['the two are more than 3% apart', () => say({ coinbase: { EUR: '0.8825' } })],
  ['the source of the moment no longer has it', () => say({ coinbase: { EUR: '' } })],
  ['its rate is nothing', () => say({ coinbase: { EUR: '0' } })],
  ['its rate is no number', () => say({ coinbase: { EUR: 'NaN' } })],
  [
    'the source of the moment has stopped for ten minutes',
    async () => {
      fake.answers = { coinbase: '', ecb: '' }
      api.time.advance(10 * MINUTE_MS + 1)
      await rates.refresh()
    },
  ],
  [
    'the source of the moment answers nonsense',
    async () => {
      fake.answers = { ...fake.answers, coinbase: '<html>' }
      api.time.advance(MINUTE_MS)
      await rates.refresh()
    },
  ],
  [
    'the bank answers nonsense',
    async () => {
      fake.answers = { ...fake.answers, ecb: '<html>' }
      api.time.advance(61 * MINUTE_MS)
      fake.answers.coinbase = coinbaseRates()
      await rates.refresh()
    },
  ],
])('there is no price in euros where %s, in either mode', async (_name, happens) => {
  await happens()
  for (const key of [merchant.liveKey, merchant.testKey]) {
    const { status, body } = await create({ price: { amount: '5', currency: 'EUR' } }, { key })
    expect([status, body.error?.code, body.error?.param]).toEqual([503, 'rate_unavailable', 'price.currency'])
    expect(body.error.message).toBe(
      'There is no trustworthy rate for EUR at the moment. Try again soon or give usd_amount.',
    )
    expect((await create({ usd_amount: '5' }, { key })).status).toBe(201)
  }
})

test('within 3% the rate of the moment is taken, and the other currencies are not touched', async () => {
  await say({ coinbase: { EUR: '0.8827', JPY: '1' } })
  expect((await inEuros('10')).body).toMatchObject({ usd_amount: '11.33' })
  expect(await refusalOf({ price: { amount: '1000', currency: 'JPY' } })).toEqual([
    503,
    'rate_unavailable',
    'price.currency',
  ])
})

test('a repeat has the first answer at every later rate, and another price under its key is refused', async () => {
  const price = { amount: '20', currency: 'EUR' }
  const first = await create({ price }, { once: 'k1' })
  await say({ coinbase: { EUR: '0.9' } })
  const again = await create({ price }, { once: 'k1' })
  expect([again.status, again.text]).toEqual([201, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  await say({ coinbase: { EUR: '5' } })
  expect((await create({ price }, { once: 'k1' })).text).toBe(first.text)
  await say({})
  for (const other of [
    { price: { ...price, amount: '20.01' } },
    { price: { ...price, amount: '20.00' } },
    { price: { ...price, currency: 'GBP' } },
    { usd_amount: first.body.usd_amount },
  ]) {
    const { status, body } = await create(other, { once: 'k1' })
    expect([status, body.error?.code]).toEqual([422, 'idempotency_key_reused'])
  }
})

test('many requests with one key make one invoice, of one price', async () => {
  const price = { amount: '30', currency: 'EUR' }
  const answers = await Promise.all(Array.from({ length: 30 }, () => create({ price }, { once: 'k2' })))
  const made = answers.filter(({ status }) => status === 201)
  expect(new Set(made.map(({ text }) => text)).size).toBe(1)
  expect(answers.filter(({ status }) => status !== 201).every(({ status }) => status === 409)).toBe(true)
})

test('an expired invoice reopens at the rate of then, and not at all where there is none', async () => {
  const { id } = (await inEuros('20')).body
  const tenant = { merchantId: merchant.id, livemode: true }
  const stored = await withTransaction(api.database.pools.api, tenant, (tx) => loadInvoice(tx, tenant, id))
  if (stored === null) throw new Error('the invoice is gone')
  const invoice = { ...stored.invoice, expiredAtMs: stored.invoice.expiresAtMs }
  expect(isReopenable(invoice, null, { reopenExpired: true })).toBe(true)
  const marketOf = createMarketReader(api.deps)
  const reopened = async () => {
    const market = { ...(await marketOf(tenant)), rules: readPaymentRules({}) }
    return planReopening(invoice, null, market, api.time.now.getTime())
  }
  await say({ coinbase: { EUR: '0.9' } })
  expect(await reopened()).toMatchObject({
    kind: 'planned',
    terms: { usdCents: 2_223n },
    price: { amount: '20.00', currency: 'EUR', rate: { usdPerUnit: '1.111111111112' } },
  })
  await say({ coinbase: { EUR: '0.5' } })
  expect(await reopened()).toMatchObject({ kind: 'unavailable', code: 'rate_unavailable', currency: 'EUR' })
})

test('in test mode without a source the table serves; live mode has no price then', async () => {
  const alone = createCurrencyRates({ urls: {}, clock: () => START })
  expect(alone.quote('EUR', true)).toBeNull()
  expect(alone.quote('JPY', false)).toEqual({
    rate: 6_700_000_000n,
    evidence: {
      usdPerUnit: '0.0067',
      quotedAt: START.toISOString(),
      sources: [{ name: 'sandbox', usdPerUnit: '0.0067', at: START.toISOString() }],
    },
  })
  await alone.stop()
})

test('no login changes a price, and no half of one or NaN gets in', async () => {
  const { id } = (await inEuros('20')).body
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const)
    for (const column of ['price_amount', 'price_currency', 'price_rate'])
      await expect(
        api.database.pools[role].query(`update invoice set ${column} = ${column} where id = $1`, [id]),
      ).rejects.toThrow('permission denied')
  for (const odd of [
    `price_amount = 'NaN'`,
    `price_amount = '-1'`,
    `price_amount = null`,
    `price_currency = null`,
    `price_currency = 'euro'`,
    `price_rate = null`,
    `price_rate = 'null'`,
    `price_rate = '{}'`,
    `price_rate = '{"usdPerUnit": "NaN"}'`,
    `price_rate = '{"usdPerUnit": "1e9"}'`,
    `price_rate = price_rate || jsonb_build_object('x', repeat('x', 5000))`,
    `usd_cents = null`,
  ])
    await expect(
      api.database.owner.query(`update invoice set ${odd} where id = $1`, [id]),
      odd,
    ).rejects.toThrow('invoice_price_is_whole')
  expect(await rowOf(id)).toEqual({ price_amount: '20.00', price_currency: 'EUR', usd_cents: 2_200n })
})

test('the audit names a price whose dollars are not what it is worth at its rate', async () => {
  const { owner } = api.database
  const findings = async () =>
    (await runAudit(owner, []))
      .filter(({ name }) => name === 'price_is_its_dollars')
      .flatMap((check) => check.findings.map(({ subject, detail }) => [subject, detail]))
  expect(await findings()).toEqual([])
  const { id } = (await inEuros('20')).body
  for (const [forged, detail] of [
    [`price_amount = '2000.00'`, 'asks for 2200 cents for 2000.00 EUR at 1.099999890001'],
    [`usd_cents = 2201`, 'asks for 2201 cents for 20.00 EUR at 1.099999890001'],
    [`price_rate = price_rate || '{"usdPerUnit": "1.2"}'`, 'asks for 2200 cents for 20.00 EUR at 1.2'],
  ] as const) {
    const before = `select price_amount, price_currency, price_rate, usd_cents from invoice where id = '${id}'`
    const { rows } = await owner.query(before)
    await owner.query(`update invoice set ${forged} where id = $1`, [id])
    expect(await findings(), forged).toEqual([[id, detail]])
    await owner.query(
      'update invoice set price_amount = $2, price_currency = $3, price_rate = $4, usd_cents = $5 where id = $1',
      [
        id,
        rows[0].price_amount,
        rows[0].price_currency,
        JSON.stringify(rows[0].price_rate),
        rows[0].usd_cents,
      ],
    )
  }
  expect(await findings()).toEqual([])
})

test('the audit names an event that tells another price than its invoice has', async () => {
  const { owner } = api.database
  const told = async () =>
    (await runAudit(owner, []))
      .filter(({ name }) => name === 'event_tells_what_was_settled')
      .flatMap(({ findings }) => findings.map(({ subject }) => subject))
  const { id } = (await inEuros('20')).body
  expect(await told()).toEqual([])
  const { rows } = await owner.query<{ id: string; body: Buffer }>(
    'select id, body from event where resource_id = $1',
    [id],
  )
  const [event] = rows
  if (event === undefined) throw new Error('no event')
  const write = (text: string) =>
    owner.query('update event set body = $2 where id = $1', [event.id, Buffer.from(text)])
  const whole = event.body.toString()
  for (const [from, to] of [
    ['"amount":"20.00","currency":"EUR"', '"amount":"20.00","currency":"JPY"'],
    ['"amount":"20.00","currency":"EUR"', '"amount":"2.00","currency":"EUR"'],
    ['"price":{"amount":"20.00","currency":"EUR"}', '"price":"20.00 EUR"'],
  ] as const) {
    expect(whole).toContain(from)
    await write(whole.replace(from, to))
    expect(await told(), to).toEqual([event.id])
  }
  // The release before, which may still run beside this one, tells no prices.
  await write(whole.replace('"price":{"amount":"20.00","currency":"EUR"},', ''))
  expect(await told()).toEqual([])
  await write(whole)
})

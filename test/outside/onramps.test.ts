import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseCoinbaseKey } from '../../src/config/config-onramps.ts'
import type { CardOrder, OnrampProvider } from '../../src/core/card/onramp-provider.ts'
import { type Onramps, openOnramps } from '../../src/onramp/open-onramps.ts'
import {
  COINBASE_KEY_ID,
  coinbaseKey,
  coinbaseWebhook,
  MOONPAY_KEYS,
  moonpayWebhook,
} from '../support/fake-onramps.ts'
import { HUGE, type Outside, PAGE, type Recorded, recordedAnswers, startOutside } from './outside.ts'

/** What the card providers document, read by the clients that offer them to buyers. */

const { answer, unused } = recordedAnswers('onramps')
const key = coinbaseKey('ed25519')
const ORDER: CardOrder = {
  reference: 'card_01jd8x5v7k0000000000000003',
  asset: 'USDC_BASE',
  amount: 50_000_000n,
  usdCents: 5_000n,
  address: '0x52908400098527886E0F7030069857D2E4169EE7',
  place: 'US-CA',
  clientAddress: null,
  returnUrl: 'https://pay.example.com/i/token',
}
const NOW_MS = Date.parse('2026-11-23T12:02:00Z')

let outside: Outside
let onramps: Onramps
beforeAll(async () => {
  outside = await startOutside()
})
beforeEach(() => {
  const keySecret = parseCoinbaseKey(key.secret)
  if (keySecret === null) throw new Error('no key')
  const { url: apiUrl } = outside
  const coinbase = { keyId: COINBASE_KEY_ID, keySecret, apiUrl, optionsUrl: apiUrl, webhookSecret: 'hook' }
  const moonpay = { ...MOONPAY_KEYS, apiUrl, widgetUrl: 'https://buy.moonpay.com', webhookKey: 'hook' }
  onramps = openOnramps({ coinbase, moonpay }, { clock: () => new Date(NOW_MS), deadlineMs: 30_000 })
})
afterEach(() => onramps.close())
afterAll(async () => {
  await outside.close()
  expect([...unused]).toEqual([])
})

function provider(id: string): OnrampProvider {
  const found = onramps.providers.find((one) => one.id === id)
  if (found === undefined) throw new Error(`no provider ${id}`)
  return found
}

type Given = Pick<Recorded, 'status' | 'body' | 'text'>

/** Answers each path that ends so; all else is as in a purchase that succeeds. */
function give(changed: { readonly [pathEnd: string]: Given } = {}): void {
  const answers: { readonly [pathEnd: string]: Given } = {
    '/buy/options': answer('coinbase buy options'),
    '/onramp/sessions': answer('coinbase session'),
    '/transactions': answer('coinbase transactions'),
    '/v3/currencies': answer('moonpay currencies'),
    '/v3/countries': answer('moonpay countries'),
    '/limits': answer('moonpay limits'),
    '/buy_quote': answer('moonpay quote'),
    ...changed,
  }
  outside.give(({ path }) => {
    const { pathname } = new URL(path, outside.url)
    return Object.entries(answers).find(([end]) => pathname.endsWith(end))?.[1] ?? { status: 404, text: '' }
  })
}

async function said(id: string): Promise<string> {
  const told = await provider(id).begin(ORDER)
  return told.kind === 'offered' ? 'offered' : `${told.kind}: ${told.reason}`
}

test('Coinbase’s options and session are an offer, with its quote or without', async () => {
  give()
  expect(await provider('coinbase').begin(ORDER)).toEqual({
    kind: 'offered',
    quote: { total: { amount: '51.25', currency: 'USD' }, fees: { amount: '1.25', currency: 'USD' } },
    minimum: { amount: '2.00', currency: 'USD' },
    amount: 50_000_000n,
    url: 'https://pay.coinbase.com/buy?sessionToken=made-up&defaultAsset=USDC',
    usableSeconds: 240,
  })
  give({ '/onramp/sessions': answer('coinbase session without a quote') })
  expect(await provider('coinbase').begin(ORDER)).toMatchObject({ kind: 'offered', quote: null })
  expect(await provider('coinbase').fault()).toBeNull()
})

test('in staging a session of the real page is no offer: it takes real money', async () => {
  give()
  const { url: apiUrl } = outside
  const keySecret = parseCoinbaseKey(key.secret)
  if (keySecret === null) throw new Error('no key')
  const coinbase = { keyId: COINBASE_KEY_ID, keySecret, apiUrl, optionsUrl: apiUrl, webhookSecret: null }
  const staging = openOnramps(
    { coinbase: { ...coinbase, staging: true }, moonpay: null },
    { clock: () => new Date(NOW_MS) },
  )
  expect(await staging.providers[0]?.begin(ORDER)).toMatchObject({
    kind: 'failed',
    reason: 'its page is the real one, which takes real money, and STAGING is 1',
  })
  await staging.close()
})

test('Coinbase’s transactions say what became of a purchase', async () => {
  give()
  expect(await provider('coinbase').transactionsOf?.(ORDER.reference)).toEqual({
    kind: 'reported',
    isBegun: true,
    transactions: [
      { transaction: '1ee7a7ec-0000-6032-ad91-0e2bacb52000', update: 'completed', address: null },
    ],
  })
})

test('MoonPay’s lists, limits and quote are an offer', async () => {
  give()
  expect(await provider('moonpay').begin(ORDER)).toMatchObject({
    kind: 'offered',
    quote: { total: { amount: '54.00', currency: 'USD' }, fees: { amount: '4.00', currency: 'USD' } },
    minimum: { amount: '20.00', currency: 'USD' },
    amount: 50_000_000n,
  })
  expect(await provider('moonpay').fault()).toBeNull()
})

test.each([
  ['coinbase', '/onramp/sessions', 'coinbase invalid request', 'failed: HTTP status 400, invalid_request'],
  ['coinbase', '/onramp/sessions', 'coinbase rate limited', 'failed: HTTP status 429, rate_limit_exceeded'],
  ['coinbase', '/onramp/sessions', 'coinbase region', 'refused: region'],
  ['coinbase', '/onramp/sessions', 'coinbase wrong key, in plain text', 'failed: HTTP status 401'],
  ['coinbase', '/buy/options', 'coinbase wrong key, in plain text', 'failed: HTTP status 401'],
  ['moonpay', '/limits', 'moonpay wrong key', 'failed: HTTP status 401, UnauthorizedError'],
  ['moonpay', '/v3/currencies', 'moonpay rate limited', 'failed: HTTP status 429, TooManyRequestsError'],
  ['moonpay', '/buy_quote', 'moonpay unknown currency', 'failed: HTTP status 404, NotFoundError'],
  ['moonpay', '/v3/countries', 'moonpay maintenance page', 'failed: HTTP status 503'],
])('%s, %s: %s is %s', async (id, path, recorded, expected) => {
  give({ [path]: answer(recorded) })
  expect(await said(id)).toBe(expected)
})

test.each([
  ['coinbase', '/buy/options', 'options'],
  ['coinbase', '/onramp/sessions', 'session'],
  ['moonpay', '/v3/countries', 'lists'],
  ['moonpay', '/limits', 'limits'],
  ['moonpay', '/buy_quote', 'quote'],
])('%s, %s: a page, an endless answer and one without its fields are no offer', async (id, path, named) => {
  const status = path === '/onramp/sessions' ? 201 : 200
  give({ [path]: { ...PAGE, status } })
  expect(await said(id)).toBe('failed: not JSON')
  give({ [path]: { status, text: ' '.repeat(9 * 1024 * 1024) } })
  expect(await said(id)).toMatch(/^failed: more than \d+ bytes$/)
  give({ [path]: { status, body: {} } })
  expect(await said(id)).toBe(`failed: its ${named} cannot be understood`)
})

test('transactions that cannot be read are no news', async () => {
  const ask = () => provider('coinbase').transactionsOf?.(ORDER.reference)
  for (const [given, reason] of [
    [PAGE, 'not JSON'],
    [HUGE, 'more than 65536 bytes'],
    [{ status: 200, body: {} }, 'its transactions cannot be understood'],
    [answer('coinbase rate limited'), 'HTTP status 429'],
    [answer('coinbase wrong key, in plain text'), 'HTTP status 401'],
  ] as const) {
    give({ '/transactions': given })
    expect(await ask()).toMatchObject({ kind: 'failed', reason })
  }
})

test('webhooks say which purchase they are about, and its outcome', () => {
  const read = (id: string, { body, headers }: ReturnType<typeof moonpayWebhook>) =>
    onramps.webhooks.get(id)?.({ headers: new Headers(headers), body: Buffer.from(body) }, NOW_MS)
  const about = { purchaseId: ORDER.reference, address: ORDER.address }
  const at = { atMs: NOW_MS }
  const hook = (name: string) => answer(name).body as object
  expect(read('coinbase', coinbaseWebhook('hook', hook('coinbase webhook, hosted'), at))).toMatchObject({
    update: { ...about, update: 'completed', transaction: '1ee7a7ec-0000-6032-ad91-0e2bacb52000' },
  })
  expect(read('coinbase', coinbaseWebhook('hook', hook('coinbase webhook, headless'), at))).toMatchObject({
    update: { ...about, update: 'pending', transaction: '1ee7a7ec-0000-6032-ad91-0e2bacb52001' },
  })
  expect(read('moonpay', moonpayWebhook('hook', hook('moonpay webhook'), NOW_MS))).toMatchObject({
    update: { ...about, update: 'completed', transaction: '354b1f46-0000-4ab4-8e3a-000000000000' },
  })
})

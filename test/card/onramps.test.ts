import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseCoinbaseKey } from '../../src/config/config-onramps.ts'
import type { CardOrder, OnrampProvider } from '../../src/core/card/onramp-provider.ts'
import { inspectCards } from '../../src/doctor/inspect-setup.ts'
import { type Onramps, openOnramps } from '../../src/onramp/open-onramps.ts'
import {
  COINBASE_KEY_ID,
  coinbaseKey,
  MOONPAY_KEYS,
  startFakeCoinbase,
  startFakeMoonpay,
  type Trouble,
} from '../support/fake-onramps.ts'

/** The providers against servers that check what the real ones check, and fail as they do. */

const ORDER: CardOrder = {
  reference: 'card_01jd8x5v7k0000000000000003',
  asset: 'USDC_BASE',
  amount: 49_990_001n,
  usdCents: 4_999n,
  address: '0x52908400098527886E0F7030069857D2E4169EE7',
  place: 'US-CA',
  clientAddress: '198.51.100.7',
  returnUrl: 'https://pay.example.com/i/token?lang=de',
}
const key = coinbaseKey('ed25519')
const other = coinbaseKey('ec')
/** For who never answers; all else may take as long as a loaded machine takes. */
const SHORT_DEADLINE_MS = 1_000

type Fake = Awaited<ReturnType<typeof startFakeMoonpay>>
let coinbase: Awaited<ReturnType<typeof startFakeCoinbase>>
let moonpay: Fake
let onramps: Onramps
beforeAll(async () => {
  coinbase = await startFakeCoinbase(key.publicKey)
  moonpay = await startFakeMoonpay()
})
beforeEach(async () => {
  await onramps?.close()
  // New ones keep no lists of those before.
  onramps = openWith(key.secret)
  for (const fake of [coinbase, moonpay]) {
    fake.trouble.clear()
    fake.requests.length = 0
  }
})
afterAll(async () => {
  await onramps?.close()
  await coinbase?.close()
  await moonpay?.close()
})

function openWith(secret: string, deadlineMs?: number): Onramps {
  const keySecret = parseCoinbaseKey(secret)
  if (keySecret === null) throw new Error('no key')
  const { url: apiUrl } = coinbase
  return openOnramps(
    {
      coinbase: { keyId: COINBASE_KEY_ID, keySecret, apiUrl, optionsUrl: apiUrl, webhookSecret: null },
      moonpay: { ...MOONPAY_KEYS, apiUrl: moonpay.url, widgetUrl: moonpay.url, webhookKey: null },
    },
    { clock: () => new Date(), ...(deadlineMs === undefined ? {} : { deadlineMs }) },
  )
}

function provider(id: string): OnrampProvider {
  const found = onramps.providers.find((one) => one.id === id)
  if (found === undefined) throw new Error(`no provider ${id}`)
  return found
}

test('providers without keys are not there', () => {
  const none = openOnramps({ coinbase: null, moonpay: null }, { clock: () => new Date() })
  expect(none.providers).toEqual([])
  expect([...none.webhooks.keys()]).toEqual([])
})

describe('Coinbase', () => {
  test('makes a session over exactly what is to pay, to the invoice’s own address, with its price and fees', async () => {
    const answer = await provider('coinbase').begin(ORDER)
    expect(answer).toEqual({
      kind: 'offered',
      quote: { total: { amount: '51.24', currency: 'USD' }, fees: { amount: '1.25', currency: 'USD' } },
      minimum: { amount: '5.00', currency: 'USD' },
      amount: 49_990_001n,
      url: `${coinbase.url}/buy?sessionToken=token1`,
      usableSeconds: 240,
    })
    expect(JSON.parse(coinbase.requests.at(-1)?.body ?? '')).toEqual({
      purchaseCurrency: 'USDC',
      destinationNetwork: 'base',
      destinationAddress: ORDER.address,
      purchaseAmount: '49.990001',
      paymentCurrency: 'USD',
      paymentMethod: 'CARD',
      country: 'US',
      subdivision: 'CA',
      redirectUrl: ORDER.returnUrl,
      clientIp: '198.51.100.7',
      partnerUserRef: ORDER.reference,
    })
  })

  test('signs with an older EC key too, and with another key gets nothing', async () => {
    const ec = await startFakeCoinbase(other.publicKey)
    const keySecret = parseCoinbaseKey(other.secret.replaceAll('\n', '\\n'))
    if (keySecret === null) throw new Error('no key')
    const settings = { keyId: COINBASE_KEY_ID, keySecret, apiUrl: ec.url, optionsUrl: ec.url }
    const own = openOnramps(
      { coinbase: { ...settings, webhookSecret: null }, moonpay: null },
      { clock: () => new Date() },
    )
    const wrong = openOnramps(
      {
        coinbase: { ...settings, apiUrl: coinbase.url, optionsUrl: coinbase.url, webhookSecret: null },
        moonpay: null,
      },
      { clock: () => new Date() },
    )
    try {
      expect(await own.providers[0]?.begin(ORDER)).toMatchObject({ kind: 'offered' })
      expect(await wrong.providers[0]?.begin(ORDER)).toEqual({
        kind: 'failed',
        reason: 'HTTP status 401, unauthorized',
      })
    } finally {
      await Promise.all([own.close(), wrong.close(), ec.close()])
    }
  })

  test('asks what is sold in a place once, and pays in dollars where it can', async () => {
    await provider('coinbase').begin({ ...ORDER, place: 'DE' })
    await Promise.all([1, 2].map(() => provider('coinbase').begin({ ...ORDER, place: 'FR' })))
    const paths = coinbase.requests.map(({ path }) => path)
    expect(paths.filter((path) => path.endsWith('/options'))).toHaveLength(2)
    const currencies = coinbase.requests
      .filter(({ body }) => body !== '')
      .map(({ body }) => JSON.parse(body).paymentCurrency)
    expect(currencies).toEqual(['USD', 'EUR', 'EUR'])
  })

  test('says why there is no offer: the place, the coin, too little, too much', async () => {
    const begin = (change: Partial<CardOrder>) => provider('coinbase').begin({ ...ORDER, ...change })
    const region = { kind: 'refused', reason: 'region', minimum: null }
    expect(await begin({ place: 'KP' })).toEqual(region)
    expect(await begin({ place: 'JP' })).toEqual(region)
    expect(await begin({ place: 'nowhere' })).toEqual(region)
    expect(await begin({ asset: 'BTC' })).toEqual({ kind: 'refused', reason: 'not_offered', minimum: null })
    expect(await begin({ usdCents: 499n })).toEqual({
      kind: 'refused',
      reason: 'below_minimum',
      minimum: { amount: '5.00', currency: 'USD' },
    })
    expect(await begin({ usdCents: 50_001n })).toMatchObject({ kind: 'refused', reason: 'above_maximum' })
    expect(coinbase.requests.filter(({ path }) => path.endsWith('/sessions'))).toEqual([])
    coinbase.trouble.set('/platform/v2/onramp/sessions', {
      status: 400,
      body: { errorType: 'guest_region_forbidden', errorMessage: 'no' },
    })
    expect(await begin({})).toEqual(region)
  })
})

describe('MoonPay', () => {
  test('gives a signed URL that its widget opens, over the amount rounded up to what it sells', async () => {
    const answer = await provider('moonpay').begin(ORDER)
    expect(answer).toMatchObject({
      kind: 'offered',
      quote: { total: { amount: '54.01', currency: 'USD' }, fees: { amount: '4.01', currency: 'USD' } },
      minimum: { amount: '20.00', currency: 'USD' },
      amount: 50_000_000n,
    })
    if (answer.kind !== 'offered') throw new Error('no offer')
    const url = new URL(answer.url)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      apiKey: MOONPAY_KEYS.apiKey,
      currencyCode: 'usdc_base',
      walletAddress: ORDER.address,
      baseCurrencyCode: 'usd',
      quoteCurrencyAmount: '50',
      lockAmount: 'true',
      externalTransactionId: ORDER.reference,
      redirectURL: ORDER.returnUrl,
      signature: url.searchParams.get('signature'),
    })
    expect(answer.url).not.toContain(MOONPAY_KEYS.secretKey)
    expect((await fetch(answer.url)).status).toBe(200)
    const changed = answer.url.replace(ORDER.address, '0x0000000000000000000000000000000000000001')
    expect((await fetch(changed)).status).toBe(403)
  })

  test('sells a token of Solana as that, not as the one of Ethereum, which has the bare ticker', async () => {
    const answer = await provider('moonpay').begin({ ...ORDER, asset: 'USDC_SOLANA' })
    if (answer.kind !== 'offered') throw new Error('no offer')
    expect(new URL(answer.url).searchParams.get('currencyCode')).toBe('usdc_sol')
    const other = await provider('moonpay').begin({ ...ORDER, asset: 'PYUSD_SOLANA' })
    expect(other).toMatchObject({ kind: 'refused', reason: 'not_offered' })
  })

  test('says why there is no offer: country, state, coin, too little, too much', async () => {
    const begin = (change: Partial<CardOrder>) => provider('moonpay').begin({ ...ORDER, ...change })
    const region = { kind: 'refused', reason: 'region', minimum: null }
    for (const place of ['GB', 'CA', 'JP', 'US-NY', 'US-LA'])
      expect(await begin({ place }), place).toEqual(region)
    expect(await begin({ asset: 'LTC', amount: 100_000_000n })).toEqual(region)
    for (const asset of ['BTC', 'SOL'] as const)
      expect(await begin({ asset, place: 'DE' })).toEqual({
        kind: 'refused',
        reason: 'not_offered',
        minimum: null,
      })
    expect(await begin({ amount: 19_000_000n })).toEqual({
      kind: 'refused',
      reason: 'below_minimum',
      minimum: { amount: '20.00', currency: 'USD' },
    })
    expect(await begin({ amount: 12_000_010_000n })).toMatchObject({
      kind: 'refused',
      reason: 'above_maximum',
    })
    expect(await begin({ asset: 'LTC', amount: 41_230_001n, place: 'DE' })).toMatchObject({
      kind: 'offered',
      amount: 41_240_000n,
    })
  })
})

/** Every path that a provider asks, and what comes of each kind of trouble there. */
const PATHS: { readonly [id: string]: readonly string[] } = {
  coinbase: ['/onramp/v1/buy/options', '/platform/v2/onramp/sessions'],
  moonpay: [
    '/v3/currencies',
    '/v3/countries',
    '/v3/currencies/usdc_base/limits',
    '/v3/currencies/usdc_base/buy_quote',
  ],
}
const TROUBLES: { readonly [name: string]: Trouble } = {
  'down (500)': { status: 500, body: { errorType: 'internal_server_error', errorMessage: 'oops' } },
  'busy (429)': { status: 429, body: { errorType: 'rate_limit_exceeded', errorMessage: 'slow down' } },
  'unauthorized (401)': { status: 401, body: { type: 'UnauthorizedError', message: 'no' } },
  'redirecting (302)': { status: 302, body: {} },
  slow: 'hang',
  reset: 'reset',
  'not JSON': { raw: '<html>maintenance</html>' },
  'cut short': { raw: '{"session":{"onra' },
  'of another shape': { status: 200, body: { session: { onrampUrl: 'javascript:alert(1)' } } },
  endless: { raw: `"${'x'.repeat(9 * 1024 * 1024)}"` },
}
test.each(
  Object.entries(PATHS).flatMap(([id, paths]) =>
    paths.flatMap((path) => Object.keys(TROUBLES).map((trouble) => [id, path, trouble] as const)),
  ),
)('%s: where %s is %s, there is no offer, soon, and no error', async (id, path, trouble) => {
  const fake = id === 'coinbase' ? coinbase : moonpay
  fake.trouble.set(path, TROUBLES[trouble] ?? null)
  if (trouble === 'slow') {
    await onramps.close()
    onramps = openWith(key.secret, SHORT_DEADLINE_MS)
  }
  expect(await provider(id).begin(ORDER)).toMatchObject({ kind: 'failed', reason: expect.any(String) })
  // What failed is not kept: the next buyer is served as soon as the provider is there again.
  fake.trouble.clear()
  expect(await provider(id).begin(ORDER)).toMatchObject({ kind: 'offered' })
})

test('Coinbase says what became of a purchase; no trouble of its is taken for news, or for none', async () => {
  const path = `/onramp/v1/buy/user/${ORDER.reference}/transactions`
  const ask = () => provider('coinbase').transactionsOf?.(ORDER.reference)
  const [wallet_address, status] = [ORDER.address, 'ONRAMP_TRANSACTION_STATUS_FAILED']
  coinbase.transactions.set(ORDER.reference, [
    { transaction_id: 't2', status: 'ONRAMP_TRANSACTION_STATUS_OF_ANOTHER_YEAR', wallet_address },
    { transaction_id: 't1', status, wallet_address },
  ])
  const told = { transaction: 't1', update: 'failed', address: ORDER.address }
  expect(await ask()).toEqual({ kind: 'reported', isBegun: true, transactions: [told] })
  coinbase.transactions.clear()
  expect(await ask()).toEqual({ kind: 'reported', isBegun: false, transactions: [] })
  const notThere = { status: 404, body: { errorType: 'not_found', errorMessage: 'no such path' } }
  await onramps.close()
  onramps = openWith(key.secret, SHORT_DEADLINE_MS)
  for (const [name, trouble] of Object.entries({ ...TROUBLES, 'not there (404)': notThere })) {
    coinbase.trouble.set(path, trouble)
    expect(await ask(), name).toMatchObject({ kind: 'failed', reason: expect.any(String) })
  }
  await onramps.close()
  onramps = openWith(other.secret)
  coinbase.trouble.clear()
  expect(await ask()).toMatchObject({ kind: 'failed', reason: 'HTTP status 401' })
})

test('a session without https or for less than requested is no offer; a rounder one says what it brings', async () => {
  const session = (onrampUrl: string, purchaseAmount: string) => ({
    status: 201,
    body: {
      session: { onrampUrl },
      quote: {
        paymentTotal: '50',
        paymentSubtotal: '49',
        paymentCurrency: 'USD',
        purchaseAmount,
        purchaseCurrency: 'USDC',
        destinationNetwork: 'base',
      },
    },
  })
  for (const [url, amount] of [
    ['javascript:alert(1)', '49.990001'],
    ['ftp://pay.example.com', '49.990001'],
    ['https://pay.example.com/buy', '49.99'],
  ] as const) {
    coinbase.trouble.set('/platform/v2/onramp/sessions', session(url, amount))
    expect(await provider('coinbase').begin(ORDER), url).toMatchObject({ kind: 'failed' })
  }
  coinbase.trouble.set('/platform/v2/onramp/sessions', session('https://pay.example.com', '50.00'))
  expect(await provider('coinbase').begin(ORDER)).toMatchObject({ kind: 'offered', amount: 50_000_000n })
})

test('doctor says of each provider whether it answers, and with which keys it does not', async () => {
  const keySecret = parseCoinbaseKey(key.secret)
  const wrongSecret = parseCoinbaseKey(other.secret)
  if (keySecret === null || wrongSecret === null) throw new Error('no key')
  const { url: apiUrl } = coinbase
  const own = { keyId: COINBASE_KEY_ID, keySecret, apiUrl, optionsUrl: apiUrl, webhookSecret: 'secret' }
  const moon = { ...MOONPAY_KEYS, apiUrl: moonpay.url, widgetUrl: moonpay.url, webhookKey: null }
  const clock = () => new Date()
  expect(await inspectCards({ coinbase: own, moonpay: moon }, clock)).toMatchObject([
    { kind: 'ok', text: 'Cards by Coinbase: answers' },
    { kind: 'notice' },
  ])
  const wrong = {
    coinbase: { ...own, keySecret: wrongSecret },
    moonpay: { ...moon, apiKey: 'pk_live_other' },
  }
  const findings = await inspectCards(wrong, clock)
  expect(findings.map(({ kind }) => kind)).toEqual(['fault', 'fault'])
  expect(findings[0]?.text).toContain('HTTP status 401, unauthorized')
  expect(findings[1]?.text).toContain('HTTP status 401, UnauthorizedError')
  expect(coinbase.requests.filter(({ path }) => path.endsWith('/sessions'))).toEqual([])
  expect(await inspectCards({ coinbase: null, moonpay: null }, clock)).toEqual([])
})

test('an invalid Coinbase key is refused before anything starts', () => {
  for (const text of [
    '',
    'x',
    Buffer.alloc(63).toString('base64'),
    '-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END',
  ])
    expect(parseCoinbaseKey(text)).toBeNull()
})

import { createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ASSET_IDS, type AssetId } from '../../src/core/assets.ts'
import { EXCHANGE_NAMES, type ExchangeName, exchangesAt } from '../../src/rates/exchanges.ts'
import { createPriceBook, type PriceBook } from '../../src/rates/price-book.ts'
import {
  type Behaviour,
  type FakeExchange,
  honestPrice,
  sendJson,
  startFakeExchange,
} from './fake-exchange.ts'
import { lies, timesThousand, turnedOver } from './lies.ts'

/** What a busy machine never comes near: an exchange that answers is heard. */
const PATIENCE_MS = 30_000
/** For exchanges that never end their answer, where those who do need not be heard in the same round. */
const HURRY_MS = 400
const ALL: readonly AssetId[] = ['BTC', 'LTC', 'ETH', 'ETH_BASE', 'USDC_BASE', 'SOL']

let nowMs: number
let fakes: { [name in ExchangeName]: FakeExchange }
let book: PriceBook
const warnings: object[] = []

beforeEach(async () => {
  nowMs = Date.parse('2026-03-01T12:00:00Z')
  warnings.length = 0
  const [coinbase, kraken, bitstamp] = await Promise.all(
    EXCHANGE_NAMES.map((name) => startFakeExchange(name, () => nowMs)),
  )
  if (coinbase === undefined || kraken === undefined || bitstamp === undefined) throw new Error('no fakes')
  fakes = { coinbase, kraken, bitstamp }
  book = bookOf(EXCHANGE_NAMES)
})
afterEach(async () => {
  await book.stop()
  await Promise.all(Object.values(fakes).map((fake) => fake.close()))
})

function bookOf(
  names: readonly ExchangeName[],
  { sandboxPrices = true, requestTimeoutMs = PATIENCE_MS } = {},
): PriceBook {
  const urls = Object.fromEntries(EXCHANGE_NAMES.map((name) => [name, fakes[name].url]))
  return createPriceBook({
    sources: exchangesAt(names, urls),
    sandboxPrices,
    clock: () => new Date(nowMs),
    requestTimeoutMs,
    refreshIntervalMs: 20,
    log: { info: () => {}, warn: (fields) => warnings.push(fields) },
  })
}

function priceOf(asset: AssetId, livemode = true): string {
  const quote = book.quote(asset, livemode)
  return quote.kind === 'quote' ? quote.evidence.usdPerUnit : 'unavailable'
}

function sourcesOf(asset: AssetId, livemode = true): string[] {
  const quote = book.quote(asset, livemode)
  return quote.kind === 'quote' ? quote.evidence.sources.map((source) => source.name) : []
}

/** From now on the book waits for no exchange that does not end its answer. */
async function hurry(): Promise<void> {
  await book.stop()
  book = bookOf(EXCHANGE_NAMES, { requestTimeoutMs: HURRY_MS })
}

/** The third exchange fails, and what was said before is too old: two are left, and one of them lies. */
async function onlyHonest(name: ExchangeName, liar: ExchangeName, lie: Behaviour): Promise<void> {
  for (const other of EXCHANGE_NAMES) {
    if (other !== name && other !== liar)
      fakes[other].behave({ respond: (_, response) => response.destroy() })
  }
  fakes[name].behave({})
  fakes[liar].behave(lie)
  nowMs += 61_000
  await book.refresh()
}

test('three exchanges price every coin, with evidence of what each said and when', async () => {
  await book.refresh()
  expect(ALL.map((asset) => priceOf(asset))).toEqual([
    '97000.5',
    '98.25',
    '3900.1',
    '3900.1',
    '0.9999',
    '201.3',
  ])
  const quote = book.quote('BTC', true)
  if (quote.kind !== 'quote') throw new Error(quote.reason)
  expect(quote.price).toBe(97_000_500_000_000_000n)
  expect(quote.evidence).toEqual({
    usdPerUnit: '97000.5',
    quotedAt: '2026-03-01T12:00:00.000Z',
    sources: EXCHANGE_NAMES.map((name) => ({ name, usdPerUnit: '97000.5', at: '2026-03-01T12:00:00.000Z' })),
  })
})

test('USDC is priced by the two exchanges that trade it, and is not taken for a dollar', async () => {
  fakes.kraken.behave({ price: (market) => (market === 'USDCUSD' ? '0.8800' : honestPrice(market)) })
  fakes.bitstamp.behave({ price: (market) => (market === 'usdcusd' ? '0.8810' : honestPrice(market)) })
  await book.refresh()
  expect(priceOf('USDC_BASE')).toBe('0.8805')
  expect(sourcesOf('USDC_BASE')).toEqual(['kraken', 'bitstamp'])
  expect(fakes.coinbase.requests.some((url) => url.includes('USDC'))).toBe(false)
})

test('a quote asks no exchange', async () => {
  await book.refresh()
  const before = EXCHANGE_NAMES.map((name) => fakes[name].requests.length)
  for (let index = 0; index < 100; index++) book.quote('BTC', true)
  expect(EXCHANGE_NAMES.map((name) => fakes[name].requests.length)).toEqual(before)
})

for (const [what, lie] of Object.entries(lies)) {
  test(`no quote from one honest exchange and one that answers with ${what}, in live or in test mode`, async () => {
    await hurry()
    for (const liar of ['kraken', 'bitstamp'] as const) {
      const honest = liar === 'kraken' ? 'bitstamp' : 'kraken'
      await onlyHonest(honest, liar, lie)
      for (const asset of ALL) {
        expect(priceOf(asset, true)).toBe('unavailable')
        expect(priceOf(asset, false)).toBe('unavailable')
      }
    }
    await onlyHonest('kraken', 'coinbase', lie)
    expect(priceOf('BTC', true)).toBe('unavailable')
  })

  test(`two honest exchanges outvote one that answers with ${what}`, async () => {
    await hurry()
    fakes.coinbase.behave(lie)
    const sources = async () => {
      await book.refresh()
      return sourcesOf('BTC')
    }
    // What came too late for one round is heard in the next; the liar is heard in none.
    await expect.poll(sources).toEqual(['kraken', 'bitstamp'])
    expect(priceOf('BTC')).toBe('97000.5')
  })
}

test('no quote where every exchange makes the same mistake of units', async () => {
  for (const mistake of [timesThousand, turnedOver]) {
    for (const name of EXCHANGE_NAMES) fakes[name].behave({ price: (market) => mistake(honestPrice(market)) })
    await book.refresh()
    expect(ALL.map((asset) => priceOf(asset))).toEqual(ALL.map(() => 'unavailable'))
  }
})

test('an exchange whose own time stands still is stale, though it answers', async () => {
  const frozenAt = nowMs
  await book.refresh()
  fakes.coinbase.behave({ timeMs: () => frozenAt })
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 500, {}) })
  nowMs += 60_000
  await book.refresh()
  expect(priceOf('BTC')).toBe('97000.5')
  nowMs += 1_000
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
  fakes.coinbase.behave({})
  await book.refresh()
  expect(priceOf('BTC')).toBe('97000.5')
})

test('an exchange whose time is ahead of ours by more than a minute is not believed', async () => {
  fakes.bitstamp.behave({ timeMs: () => nowMs + 61_000 })
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 500, {}) })
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
})

test('a price that nobody renews is used for sixty seconds and no longer', async () => {
  await book.refresh()
  nowMs += 59_000
  expect(priceOf('BTC')).toBe('97000.5')
  nowMs += 2_000
  expect(priceOf('BTC')).toBe('unavailable')
  await book.refresh()
  expect(priceOf('BTC')).toBe('97000.5')
})

test('an exchange that talks nonsense loses its last price at once; one that fails keeps it a minute', async () => {
  await book.refresh()
  fakes.coinbase.behave({ respond: (_, response) => sendJson(response, 503, {}) })
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 503, {}) })
  await book.refresh()
  expect(sourcesOf('BTC')).toEqual(['coinbase', 'kraken', 'bitstamp'])
  fakes.kraken.behave({ price: () => 'NaN' })
  fakes.bitstamp.behave({ price: (market) => timesThousand(honestPrice(market)) })
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
})

test('with two of three down there is no quote, and with one back there is', async () => {
  fakes.coinbase.behave({ respond: (_, response) => sendJson(response, 503, {}) })
  await fakes.bitstamp.close()
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
  expect(priceOf('BTC', false)).toBe('unavailable')
  fakes.coinbase.behave({})
  await book.refresh()
  expect(priceOf('BTC')).toBe('97000.5')
})

test('one coin without a price takes no other with it', async () => {
  const noLitecoin: Behaviour = {
    respond: (request, response, honest) =>
      /LTC/i.test(request.url ?? '') ? sendJson(response, 500, {}) : honest(),
  }
  for (const name of EXCHANGE_NAMES) fakes[name].behave(noLitecoin)
  await book.refresh()
  expect(priceOf('LTC')).toBe('unavailable')
  expect(priceOf('LTC', false)).toBe('unavailable')
  expect(priceOf('BTC')).toBe('97000.5')
})

test('an answer about another market is refused, where the exchange names it', async () => {
  fakes.coinbase.behave({ respond: (_, response) => sendJson(response, 500, {}) })
  const price = honestPrice('XBTUSD')
  const entry = { a: [price, '1', '1.0'], b: [price, '1', '1.0'], c: [price, '0.1'] }
  for (const result of [{ XXBTZEUR: entry }, { XXBTZUSD: entry, XETHZUSD: entry }, {}]) {
    fakes.kraken.behave({ respond: (_, response) => sendJson(response, 200, { error: [], result }) })
    await book.refresh()
    expect(priceOf('BTC')).toBe('unavailable')
  }
  fakes.kraken.behave({
    respond: (_, response) => sendJson(response, 200, { error: ['EQuery:Unknown asset pair'] }),
  })
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
  fakes.kraken.behave({})
  fakes.bitstamp.behave({
    respond: (_, response) =>
      sendJson(response, 200, {
        last: price,
        timestamp: String(nowMs / 1000),
        bid: price,
        ask: price,
        pair: 'ETH/USD',
      }),
  })
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
})

test('an order book whose bid is above its ask is no price', async () => {
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 500, {}) })
  fakes.bitstamp.behave({
    respond: (_, response) =>
      sendJson(response, 200, { last: '97000', timestamp: String(nowMs / 1000), bid: '97001', ask: '97000' }),
  })
  await book.refresh()
  expect(priceOf('BTC')).toBe('unavailable')
})

test('the built-in table serves test mode while no exchange can be reached, and live mode never', async () => {
  await Promise.all(EXCHANGE_NAMES.map((name) => fakes[name].close()))
  await book.refresh()
  const quote = book.quote('LTC', false)
  if (quote.kind !== 'quote') throw new Error(quote.reason)
  expect(quote.price).toBe(100_000_000_000_000n)
  expect(quote.evidence.sources).toEqual([
    { name: 'sandbox', usdPerUnit: '100', at: '2026-03-01T12:00:00.000Z' },
  ])
  expect(ALL.map((asset) => sourcesOf(asset, false))).toEqual(ALL.map(() => ['sandbox']))
  expect(ALL.map((asset) => priceOf(asset, true))).toEqual(ALL.map(() => 'unavailable'))
  expect(book.report().map((asset) => asset.status)).toEqual(ASSET_IDS.map(() => 'sandbox'))
})

test('an exchange behind a firewall that accepts connections and cuts them is not reached', async () => {
  const firewall = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => firewall.listen(0, '127.0.0.1', resolve))
  const address = firewall.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  await book.stop()
  book = createPriceBook({
    sources: exchangesAt(['coinbase', 'kraken'], {
      coinbase: `https://127.0.0.1:${address.port}`,
      // A plain HTTP server where TLS was expected.
      kraken: fakes.kraken.url.replace('http:', 'https:'),
    }),
    sandboxPrices: true,
    clock: () => new Date(nowMs),
    requestTimeoutMs: PATIENCE_MS,
  })
  await book.refresh()
  expect(sourcesOf('BTC', false)).toEqual(['sandbox'])
  expect(priceOf('BTC', true)).toBe('unavailable')
  await new Promise((resolve) => firewall.close(resolve))
})

test('without the built-in table test mode has no price either while no exchange can be reached', async () => {
  await book.stop()
  book = bookOf(EXCHANGE_NAMES, { sandboxPrices: false })
  await Promise.all(EXCHANGE_NAMES.map((name) => fakes[name].close()))
  await book.refresh()
  expect(priceOf('BTC', false)).toBe('unavailable')
})

test('the built-in table ends when an exchange answers again, and begins a minute after the last answer', async () => {
  await book.refresh()
  expect(sourcesOf('BTC', false)).toEqual(['coinbase', 'kraken', 'bitstamp'])
  await Promise.all(EXCHANGE_NAMES.map((name) => fakes[name].close()))
  await book.refresh()
  expect(sourcesOf('BTC', false)).toEqual(['coinbase', 'kraken', 'bitstamp'])
  nowMs += 61_000
  expect(sourcesOf('BTC', false)).toEqual(['sandbox'])
})

test('the report names for each coin its price, the age of each answer and the latest error', async () => {
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 502, {}) })
  await book.refresh()
  nowMs += 5_000
  const report = book.report().find((entry) => entry.asset === 'LTC')
  const good = { usdPerUnit: '98.25', ageMs: 5_000, fresh: true, lastError: null }
  expect(report).toEqual({
    asset: 'LTC',
    status: 'ok',
    usdPerUnit: '98.25',
    reason: null,
    sources: [
      { name: 'coinbase', ...good },
      { name: 'kraken', usdPerUnit: null, ageMs: null, fresh: false, lastError: 'HTTP status 502' },
      { name: 'bitstamp', ...good },
    ],
  })
})

test('an exchange that stays down is logged in one line for all its coins, not at every round', async () => {
  fakes.kraken.behave({ respond: (_, response) => sendJson(response, 502, {}) })
  for (let round = 0; round < 5; round++) await book.refresh()
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({ exchange: 'kraken', symbols: expect.arrayContaining(['BTC', 'LTC']) })
})

test('started, the book follows the market by itself; stopped, it asks no more', async () => {
  await book.start()
  expect(priceOf('BTC')).toBe('97000.5')
  for (const name of EXCHANGE_NAMES) {
    fakes[name].behave({ price: (market) => (/BTC|XBT/i.test(market) ? '90000' : honestPrice(market)) })
  }
  await expect.poll(() => priceOf('BTC'), { interval: 5 }).toBe('90000')
  await book.stop()
  const asked = fakes.kraken.requests.length
  await book.refresh()
  expect(fakes.kraken.requests.length).toBe(asked)
})

test('a start does not wait for exchanges that say nothing', async () => {
  await book.stop()
  for (const name of EXCHANGE_NAMES) fakes[name].behave({ respond: () => {} })
  const urls = Object.fromEntries(EXCHANGE_NAMES.map((name) => [name, fakes[name].url]))
  book = createPriceBook({
    sources: exchangesAt(EXCHANGE_NAMES, urls),
    sandboxPrices: true,
    clock: () => new Date(nowMs),
    requestTimeoutMs: PATIENCE_MS,
  })
  const before = performance.now()
  await book.start()
  expect(performance.now() - before).toBeLessThan(PATIENCE_MS / 2)
})

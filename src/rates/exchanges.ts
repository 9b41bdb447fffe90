import { z } from 'zod'
import type { PriceSymbol } from '../core/rates/plausible-price.ts'

export const EXCHANGE_NAMES = ['coinbase', 'kraken', 'bitstamp'] as const
export type ExchangeName = (typeof EXCHANGE_NAMES)[number]

/** What is taken from an exchange's answer. */
type Ticker = {
  /** Price of the last trade in US dollars, as the exchange wrote it. */
  readonly last: string
  /** Highest bid and lowest ask, where the exchange reports them. */
  readonly book: { readonly bid: string; readonly ask: string } | null
  /** The exchange's own time of the price. */
  readonly timeMs: number | null
}

type ReadTicker =
  | { readonly kind: 'ticker'; readonly ticker: Ticker }
  /** An error of the exchange's own, in the form that it documents. */
  | { readonly kind: 'declined'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string }

/** An exchange is data: where its public ticker stands, what it calls each market, how its answer reads. */
export type Exchange = {
  readonly name: ExchangeName
  readonly baseUrl: string
  /** Its name for the US dollar market of each coin; what has none is not traded there. */
  readonly markets: { readonly [name in PriceSymbol]?: string }
  pathOf(market: string): string
  read(body: unknown, market: string): ReadTicker
}

const decimalText = z.string().max(40)

// Coinbase Exchange REST API, "Get product ticker". `time` is the time of the last trade.
const coinbaseTicker = z.object({
  price: decimalText,
  time: z.iso.datetime({ offset: true }),
  bid: decimalText.optional(),
  ask: decimalText.optional(),
})

const coinbase: Exchange = {
  name: 'coinbase',
  baseUrl: 'https://api.exchange.coinbase.com',
  // Coinbase has no USDC-USD market: it changes one for the other at par, which says nothing of the price.
  markets: {
    BTC: 'BTC-USD',
    LTC: 'LTC-USD',
    ETH: 'ETH-USD',
    SOL: 'SOL-USD',
    USDT: 'USDT-USD',
    POL: 'POL-USD',
    PYUSD: 'PYUSD-USD',
  },
  pathOf: (market) => `/products/${market}/ticker`,
  read: (body) => {
    const parsed = coinbaseTicker.safeParse(body)
    if (!parsed.success) return refusedBy(parsed.error)
    const { price, time, bid, ask } = parsed.data
    return { kind: 'ticker', ticker: { last: price, book: bookOf(bid, ask), timeMs: Date.parse(time) } }
  },
}

// Kraken REST API, "Get Ticker Information": [price, lot volume] of the last trade in `c`, best ask and bid in
// `a` and `b`. It reports no time.
const krakenSide = z.tuple([decimalText]).rest(z.unknown())
const krakenTicker = z.object({
  error: z.array(z.string()),
  result: z
    .record(z.string(), z.object({ a: krakenSide.optional(), b: krakenSide.optional(), c: krakenSide }))
    .optional(),
})
/** Kraken answers under a market's long name, the older ones with X for coins and Z for money. */
const KRAKEN_LONG_NAMES: { readonly [market: string]: string } = {
  XBTUSD: 'XXBTZUSD',
  LTCUSD: 'XLTCZUSD',
  ETHUSD: 'XETHZUSD',
  USDTUSD: 'USDTZUSD',
}

const kraken: Exchange = {
  name: 'kraken',
  baseUrl: 'https://api.kraken.com',
  markets: {
    BTC: 'XBTUSD',
    LTC: 'LTCUSD',
    ETH: 'ETHUSD',
    USDC: 'USDCUSD',
    SOL: 'SOLUSD',
    USDT: 'USDTUSD',
    POL: 'POLUSD',
    PYUSD: 'PYUSDUSD',
  },
  // One market a request: an unknown one fails the whole list it stands in.
  pathOf: (market) => `/0/public/Ticker?pair=${market}`,
  read: (body, market) => {
    const parsed = krakenTicker.safeParse(body)
    if (!parsed.success) return refusedBy(parsed.error)
    // Kraken's messages begin with E for errors and W for warnings.
    const error = parsed.data.error.find((message) => message.startsWith('E'))
    if (error !== undefined) return { kind: 'declined', reason: `the exchange says ${error.slice(0, 80)}` }
    const markets = Object.entries(parsed.data.result ?? {})
    const [name, entry] = markets[0] ?? []
    if (markets.length !== 1 || entry === undefined) {
      return { kind: 'refused', reason: `${markets.length} markets in the answer` }
    }
    if (name !== market && name !== KRAKEN_LONG_NAMES[market]) {
      return { kind: 'refused', reason: 'the answer is about another market' }
    }
    return {
      kind: 'ticker',
      ticker: { last: entry.c[0], book: bookOf(entry.b?.[0], entry.a?.[0]), timeMs: null },
    }
  },
}

// Bitstamp HTTP API, "Ticker". `timestamp` is Unix seconds of the answer; newer answers name their `pair`.
const bitstampTicker = z.object({
  last: decimalText,
  timestamp: z.union([z.string().regex(/^[0-9]{1,12}$/), z.int().positive()]),
  bid: decimalText.optional(),
  ask: decimalText.optional(),
  pair: z.string().optional(),
})

const bitstamp: Exchange = {
  name: 'bitstamp',
  baseUrl: 'https://www.bitstamp.net',
  markets: {
    BTC: 'btcusd',
    LTC: 'ltcusd',
    ETH: 'ethusd',
    USDC: 'usdcusd',
    SOL: 'solusd',
    USDT: 'usdtusd',
    POL: 'polusd',
  },
  pathOf: (market) => `/api/v2/ticker/${market}/`,
  read: (body, market) => {
    const parsed = bitstampTicker.safeParse(body)
    if (!parsed.success) return refusedBy(parsed.error)
    const { last, timestamp, bid, ask, pair } = parsed.data
    if (pair !== undefined && pair.replace('/', '').toLowerCase() !== market) {
      return { kind: 'refused', reason: 'the answer is about another market' }
    }
    return { kind: 'ticker', ticker: { last, book: bookOf(bid, ask), timeMs: Number(timestamp) * 1000 } }
  },
}

const EXCHANGES: { readonly [name in ExchangeName]: Exchange } = { coinbase, kraken, bitstamp }

/** The named exchanges, each at its own address or at the one given in its place. */
export function exchangesAt(
  names: readonly ExchangeName[],
  baseUrls: { readonly [name in ExchangeName]?: string | null | undefined },
): Exchange[] {
  return names.map((name) => ({ ...EXCHANGES[name], baseUrl: baseUrls[name] ?? EXCHANGES[name].baseUrl }))
}

/** The whole address of a market's ticker. */
export function tickerUrl(exchange: Exchange, market: string): string {
  return exchange.baseUrl.replace(/\/+$/, '') + exchange.pathOf(market)
}

const bookOf = (bid: string | undefined, ask: string | undefined): Ticker['book'] =>
  bid === undefined || ask === undefined ? null : { bid, ask }

function refusedBy(error: z.ZodError): ReadTicker {
  const field = error.issues[0]?.path.join('.') ?? ''
  return { kind: 'refused', reason: `not the answer that is documented${field === '' ? '' : `: ${field}`}` }
}

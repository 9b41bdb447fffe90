import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { ExchangeName } from '../../src/rates/exchanges.ts'

/** How a fake exchange answers; `respond` takes over the whole answer. */
export type Behaviour = {
  /** Price of a coin, by the exchange's own market name. */
  price?: (market: string) => string
  /** The exchange's own time of the price. */
  timeMs?: () => number
  respond?: (request: IncomingMessage, response: ServerResponse, honest: () => void) => void
}

export type FakeExchange = {
  readonly url: string
  readonly requests: string[]
  behave(behaviour: Behaviour): void
  close(): Promise<void>
}

const KRAKEN_NAMES: { readonly [pair: string]: string } = {
  XBTUSD: 'XXBTZUSD',
  LTCUSD: 'XLTCZUSD',
  ETHUSD: 'XETHZUSD',
  USDTUSD: 'USDTZUSD',
}
const DEFAULT_PRICES: readonly (readonly [RegExp, string])[] = [
  [/BTC|XBT/i, '97000.50'],
  [/LTC/i, '98.25'],
  [/ETH/i, '3900.10'],
  [/USDC/i, '0.9999'],
  [/SOL/i, '201.3'],
  [/USDT/i, '1.0002'],
  [/POL/i, '0.4987'],
  [/PYUSD/i, '0.9998'],
]

/** The default price of a market, whatever the exchange calls it. */
export function honestPrice(market: string): string {
  const found = DEFAULT_PRICES.find(([name]) => name.test(market))
  if (found === undefined) throw new Error(`no price for ${market}`)
  return found[1]
}

/** A local server that answers as the exchange documents its public ticker, until it is told to lie. */
export async function startFakeExchange(name: ExchangeName, nowMs: () => number): Promise<FakeExchange> {
  let behaviour: Behaviour = {}
  const requests: string[] = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    requests.push(url)
    const honest = () => {
      const market = marketOf(name, url)
      if (market === null) return sendJson(response, 404, { message: 'NotFound' })
      const price = (behaviour.price ?? honestPrice)(market)
      sendJson(response, 200, answerOf(name, market, price, (behaviour.timeMs ?? nowMs)()))
    }
    if (behaviour.respond === undefined) honest()
    else behaviour.respond(request, response, honest)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    behave: (next) => {
      behaviour = next
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function marketOf(name: ExchangeName, url: string): string | null {
  switch (name) {
    case 'coinbase':
      return /^\/products\/((?:BTC|LTC|ETH|SOL|USDT|POL|PYUSD)-USD)\/ticker$/.exec(url)?.[1] ?? null
    case 'kraken':
      return /^\/0\/public\/Ticker\?pair=((?:XBT|LTC|ETH|SOL|USDC|USDT|POL|PYUSD)USD)$/.exec(url)?.[1] ?? null
    case 'bitstamp':
      return /^\/api\/v2\/ticker\/((?:btc|ltc|eth|sol|usdc|usdt|pol)usd)\/$/.exec(url)?.[1] ?? null
  }
}

export function answerOf(name: ExchangeName, market: string, price: string, timeMs: number): unknown {
  switch (name) {
    case 'coinbase':
      return {
        trade_id: 86326522,
        price,
        size: '0.00698254',
        time: new Date(timeMs).toISOString().replace('Z', '897Z'),
        bid: price,
        ask: price,
        volume: '53602.03940154',
        rfq_volume: '123.122',
      }
    case 'kraken':
      return {
        error: [],
        result: {
          [KRAKEN_NAMES[market] ?? market]: {
            a: [price, '1', '1.000'],
            b: [price, '1', '1.000'],
            c: [price, '0.00067643'],
            v: ['4083.67001100', '4412.73601799'],
            p: [price, price],
            t: [34619, 38907],
            l: [price, price],
            h: [price, price],
            o: price,
          },
        },
      }
    case 'bitstamp':
      return {
        timestamp: String(Math.floor(timeMs / 1000)),
        open: price,
        high: price,
        low: price,
        last: price,
        volume: '213.26801100',
        vwap: price,
        bid: price,
        ask: price,
        side: '0',
        open_24: price,
        percent_change_24: '13.57',
      }
  }
}

import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatPrice } from '../../src/core/money.ts'
import type { PriceSymbol } from '../../src/core/rates/plausible-price.ts'
import { type ExchangeName, exchangesAt } from '../../src/rates/exchanges.ts'
import { fetchPrice } from '../../src/rates/fetch-price.ts'
import { HUGE, type Outside, PAGE, recordedAnswers, type Script, startOutside } from './outside.ts'

/** What each exchange documents, read by the client that prices invoices. */

const { answer, unused } = recordedAnswers('prices')
const dispatcher = new Agent()
let outside: Outside
beforeAll(async () => {
  outside = await startOutside()
})
afterAll(async () => {
  await dispatcher.destroy()
  await outside.close()
  expect([...unused]).toEqual([])
})

async function heard(name: ExchangeName, given: ReturnType<Script>, symbol: PriceSymbol = 'BTC') {
  outside.give(() => given)
  const [exchange] = exchangesAt([name], { [name]: outside.url })
  const market = exchange?.markets[symbol]
  if (exchange === undefined || market === undefined) throw new Error('not traded there')
  const fetched = await fetchPrice(exchange, symbol, market, {
    dispatcher,
    timeoutMs: 30_000,
    signal: new AbortController().signal,
  })
  return fetched.kind === 'price'
    ? { price: formatPrice(fetched.price), exchangeTimeMs: fetched.exchangeTimeMs }
    : `${fetched.kind}: ${fetched.reason}`
}

test('each exchange’s ticker is the price of its last trade, and its own time', async () => {
  expect(await heard('coinbase', answer('coinbase ticker'))).toEqual({
    price: '97000.12',
    exchangeTimeMs: Date.parse('2026-11-23T11:59:58.123Z'),
  })
  expect(await heard('kraken', answer('kraken ticker under a long name'))).toEqual({
    price: '97001.3',
    exchangeTimeMs: null,
  })
  expect(await heard('kraken', answer('kraken ticker with a warning'), 'USDC')).toEqual({
    price: '1.0001',
    exchangeTimeMs: null,
  })
  expect(await heard('bitstamp', answer('bitstamp ticker'))).toEqual({
    price: '97001',
    exchangeTimeMs: 1_795_435_197_000,
  })
})

/** No answer leaves the exchange's last price good for its minute. */
test.each([
  ['coinbase', 'coinbase unknown product', 'no_answer: HTTP status 404'],
  ['coinbase', 'coinbase rate limited', 'no_answer: HTTP status 429'],
  ['kraken', 'kraken unknown pair', 'no_answer: the exchange says EQuery:Unknown asset pair'],
  ['kraken', 'kraken rate limited', 'no_answer: the exchange says EGeneral:Too many requests'],
  ['kraken', 'kraken maintenance', 'no_answer: the exchange says EService:Unavailable'],
  ['bitstamp', 'bitstamp unknown market', 'no_answer: HTTP status 404'],
  ['bitstamp', 'bitstamp rate limited', 'no_answer: HTTP status 400'],
] as const)('%s, %s: %s', async (name, recorded, said) => {
  expect(await heard(name, answer(recorded))).toBe(said)
})

describe.each([
  ['coinbase', 'coinbase ticker', 'price'],
  ['kraken', 'kraken ticker under a long name', 'result.XXBTZUSD.c'],
  ['bitstamp', 'bitstamp ticker', 'last'],
] as const)('%s', (name, recorded, field) => {
  test('a page, an endless answer and one that lacks its price are no prices', async () => {
    expect(await heard(name, PAGE)).toBe('bad_answer: not JSON')
    expect(await heard(name, HUGE)).toBe('bad_answer: more than 65536 bytes')
    const body = structuredClone(answer(recorded).body)
    remove(body, field.split('.'))
    expect(await heard(name, { status: 200, body })).toBe(
      `bad_answer: not the answer that is documented: ${field}`,
    )
  })
})

function remove(body: unknown, [first = '', ...rest]: readonly string[]): void {
  const object = body as { [field: string]: unknown }
  if (rest.length === 0) delete object[first]
  else remove(object[first], rest)
}

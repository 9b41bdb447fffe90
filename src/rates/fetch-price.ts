import { Agent, buildConnector, type Dispatcher, request } from 'undici'
import { type PriceSymbol, parsePlausiblePrice } from '../core/rates/plausible-price.ts'
import { type Exchange, tickerUrl } from './exchanges.ts'

/** A whole answer, headers and body. The connection itself has its own, shorter limit. */
export const REQUEST_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000
const CONNECTIONS_PER_EXCHANGE = 6
/** A ticker is under a kilobyte, a list of all currencies some twenty. */
const BODY_BYTES_MAX = 64 * 1024

export type FetchedPrice =
  | { readonly kind: 'price'; readonly price: bigint; readonly exchangeTimeMs: number | null }
  | FetchFailure

type FetchFailure =
  /** The exchange answered, and what it says cannot be. */
  | { readonly kind: 'bad_answer'; readonly reason: string }
  /** The exchange is there, and did not answer this time: an error of its own, too slow, cut short. */
  | { readonly kind: 'no_answer'; readonly reason: string }
  /** Nobody answered: no route, no name, no connection. */
  | { readonly kind: 'unreachable'; readonly reason: string }

type FetchOptions = {
  readonly dispatcher: Dispatcher
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly headers?: { readonly accept: string }
}

/** Asks one exchange for one coin's price. Never throws for what the outside does. */
export async function fetchPrice(
  exchange: Exchange,
  symbol: PriceSymbol,
  market: string,
  options: FetchOptions,
): Promise<FetchedPrice> {
  const fetched = await fetchText(tickerUrl(exchange, market), options)
  if (fetched.kind !== 'text') return fetched
  try {
    return priceOf(exchange, symbol, market, JSON.parse(fetched.text))
  } catch (error) {
    if (error instanceof SyntaxError) return { kind: 'bad_answer', reason: 'not JSON' }
    throw error
  }
}

/** The whole answer of an address, at most 64 KiB of it. Never throws for what the outside does. */
export async function fetchText(
  url: string,
  options: FetchOptions,
): Promise<{ readonly kind: 'text'; readonly text: string } | FetchFailure> {
  const deadline = AbortSignal.timeout(options.timeoutMs)
  try {
    const response = await request(url, {
      dispatcher: options.dispatcher,
      signal: AbortSignal.any([deadline, options.signal]),
      // Coinbase refuses requests that do not say what made them.
      headers: { accept: 'application/json', 'user-agent': 'paylink', ...options.headers },
    })
    // A body that is given up emits an error of its own; what matters of it was reported by then.
    response.body.on('error', () => {})
    // A redirect is not followed and is no answer.
    if (response.statusCode !== 200) {
      response.body.destroy()
      return { kind: 'no_answer', reason: `HTTP status ${response.statusCode}` }
    }
    const text = await readCapped(response.body)
    if (text === null) return { kind: 'bad_answer', reason: `more than ${BODY_BYTES_MAX} bytes` }
    return { kind: 'text', text }
  } catch (error) {
    return failureOf(error)
  }
}

async function readCapped(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function priceOf(exchange: Exchange, symbol: PriceSymbol, market: string, answer: unknown): FetchedPrice {
  const read = exchange.read(answer, market)
  if (read.kind === 'refused') return { kind: 'bad_answer', reason: read.reason }
  if (read.kind === 'declined') return { kind: 'no_answer', reason: read.reason }
  const { last, book, timeMs } = read.ticker
  const price = parsePlausiblePrice(symbol, last)
  if (price === null) return { kind: 'bad_answer', reason: `no plausible price: ${JSON.stringify(last)}` }
  if (book !== null) {
    const bid = parsePlausiblePrice(symbol, book.bid)
    const ask = parsePlausiblePrice(symbol, book.ask)
    // A bid above the ask is no market but a broken feed.
    if (bid === null || ask === null || bid > ask)
      return { kind: 'bad_answer', reason: 'an order book turned over' }
  }
  return { kind: 'price', price, exchangeTimeMs: timeMs }
}

/** No connection came about, TLS included. The reason is that of its cause. */
class NotConnected extends Error {
  override name = 'NotConnected'
}

/** Connections to exchanges. They distinguish a failure to connect from every later failure. */
export function openExchangeConnections(): Agent {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS })
  return new Agent({
    connections: CONNECTIONS_PER_EXCHANGE,
    pipelining: 1,
    connect: (options, done) =>
      connect(options, (error, socket) => {
        if (error === null) done(null, socket)
        else done(new NotConnected('no connection', { cause: error }), null)
      }),
  })
}

function failureOf(error: unknown): FetchFailure {
  if (error instanceof NotConnected) {
    return { kind: 'unreachable', reason: errorCode(error.cause) ?? 'no connection' }
  }
  if (error instanceof Error && error.name === 'TimeoutError')
    return { kind: 'no_answer', reason: 'too slow' }
  return { kind: 'no_answer', reason: errorCode(error) ?? 'the connection failed' }
}

/** The code of an error, or of the first of several: a name with two addresses fails with one error for each. */
function errorCode(error: unknown): string | null {
  if (error instanceof AggregateError) return errorCode(error.errors[0])
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return null
}

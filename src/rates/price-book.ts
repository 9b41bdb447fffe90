import type { Dispatcher } from 'undici'
import { ASSET_IDS, ASSETS, type AssetId } from '../core/assets.ts'
import type { RateEvidence } from '../core/invoice/types.ts'
import { formatPrice } from '../core/money.ts'
import {
  type AgreedPrice,
  agreePrice,
  isFresh,
  type Observation,
  PRICE_AGE_MS_MAX,
} from '../core/rates/median.ts'
import { PRICE_SYMBOLS, type PriceSymbol, parsePlausiblePrice } from '../core/rates/plausible-price.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import type { Exchange } from './exchanges.ts'
import { type FetchedPrice, fetchPrice, openExchangeConnections, REQUEST_TIMEOUT_MS } from './fetch-price.ts'

type Quote =
  | {
      readonly kind: 'quote'
      /** 10⁻¹² US dollar per coin. */
      readonly price: bigint
      readonly evidence: RateEvidence
    }
  | { readonly kind: 'unavailable'; readonly reason: string }

/** One exchange's latest price of one coin. */
type SourceReport = {
  readonly name: string
  readonly usdPerUnit: string | null
  /** Since the last good answer arrived. */
  readonly ageMs: number | null
  readonly fresh: boolean
  /** Why the latest request gave no price; null where it gave one. */
  readonly lastError: string | null
}

export type AssetPriceReport = {
  readonly asset: AssetId
  /** How a live invoice would be priced; `sandbox` if only test invoices can be, from the built-in table. */
  readonly status: 'ok' | 'sandbox' | 'unavailable'
  readonly usdPerUnit: string | null
  readonly reason: string | null
  readonly sources: readonly SourceReport[]
}

/** The prices of all coins, kept fresh in the background: a quote reads memory and waits for nobody. */
export type PriceBook = {
  quote(asset: AssetId, livemode: boolean): Quote
  /** Every asset, for `/rates`, `/readyz` and `paylink doctor`. */
  report(): AssetPriceReport[]
  /** Asks every exchange once; resolves when all have answered or failed. */
  refresh(): Promise<void>
  /** Starts refreshing; resolves when the first round is complete, or has taken too long to wait for. */
  start(): Promise<void>
  stop(): Promise<void>
}

type PriceBookOptions = {
  readonly sources: readonly Exchange[]
  /** Whether test mode may use the built-in table while no exchange can be reached. */
  readonly sandboxPrices: boolean
  readonly clock: Clock
  readonly log?: PriceLog
  readonly refreshIntervalMs?: number
  readonly requestTimeoutMs?: number
  /** How it pauses between two rounds. */
  readonly pause?: Pause
}

type PriceLog = {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

const REFRESH_INTERVAL_MS = 15_000
/** Each pause is shortened by up to this share, so that many processes do not ask in step. */
const REFRESH_JITTER = 0.2
const FIRST_ROUND_WAIT_MS = 2_000
const NOT_REQUESTED = 'not asked yet'

/** One exchange's view of one coin. */
type Feed = {
  readonly exchange: Exchange
  readonly symbol: PriceSymbol
  readonly market: string
  observation: Observation | null
  /** When the exchange last answered anything at all, useful or not. */
  receivedAtMs: number | null
  lastError: string | null
}

export function createPriceBook(options: PriceBookOptions): PriceBook {
  const { clock } = options
  const feeds = feedsOf(options.sources)
  const agent = openExchangeConnections()
  const stopping = new AbortController()
  let round: Promise<void> | undefined
  let refreshing: Promise<void> | undefined

  const refresh = (): Promise<void> => {
    // One round at a time: a caller that arrives during one shares it.
    round ??= runRound(feeds, options, agent, stopping.signal).finally(() => {
      round = undefined
    })
    return round
  }
  const { refreshIntervalMs = REFRESH_INTERVAL_MS, pause = pauseUnless } = options
  const keepFresh = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await refresh()
      await pause(stopping.signal, refreshIntervalMs * (1 - Math.random() * REFRESH_JITTER))
    }
  }

  return {
    quote: (asset, livemode) =>
      quoteOf(feeds, options, ASSETS[asset].priceSymbol, livemode, clock().getTime()),
    report: () => ASSET_IDS.map((asset) => reportOf(feeds, options, asset, clock().getTime())),
    refresh,
    start: async () => {
      let waiting: NodeJS.Timeout | undefined
      const timeout = new Promise<void>((resolve) => {
        waiting = setTimeout(resolve, FIRST_ROUND_WAIT_MS)
      })
      const first = refresh()
      refreshing = keepFresh()
      await Promise.race([first, timeout])
      clearTimeout(waiting)
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([round, refreshing])
      await agent.destroy()
    },
  }
}

function feedsOf(exchanges: readonly Exchange[]): Feed[] {
  return exchanges.flatMap((exchange) =>
    PRICE_SYMBOLS.flatMap((symbol): Feed[] => {
      const market = exchange.markets[symbol]
      if (market === undefined) return []
      return [{ exchange, symbol, market, observation: null, receivedAtMs: null, lastError: NOT_REQUESTED }]
    }),
  )
}

async function runRound(
  feeds: readonly Feed[],
  options: PriceBookOptions,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<void> {
  const timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
  const changes = await Promise.all(
    feeds.map(async (feed): Promise<Change | null> => {
      const fetched = await fetchPrice(feed.exchange, feed.symbol, feed.market, {
        dispatcher,
        timeoutMs,
        signal,
      })
      return signal.aborted ? null : record(feed, fetched, options.clock().getTime())
    }),
  )
  if (options.log !== undefined) logChanges(changes, options.log)
}

/** A feed whose state changed: it failed, failed differently, or (null) recovered. */
type Change = { readonly exchange: string; readonly symbol: PriceSymbol; readonly fault: string | null }

/** Logs only changes, one line per exchange and fault: an exchange that is down for a day says so once. */
function logChanges(changes: readonly (Change | null)[], log: PriceLog): void {
  const lines = new Map<string, { exchange: string; fault: string | null; symbols: PriceSymbol[] }>()
  for (const change of changes) {
    if (change === null) continue
    const { exchange, symbol, fault } = change
    const line = lines.get(`${exchange} ${fault}`) ?? { exchange, fault, symbols: [] }
    line.symbols.push(symbol)
    lines.set(`${exchange} ${fault}`, line)
  }
  for (const { exchange, fault, symbols } of lines.values()) {
    if (fault === null) log.info({ exchange, symbols }, 'the exchange has prices again')
    else log.warn({ exchange, symbols, reason: fault }, 'no price from the exchange')
  }
}

function record(feed: Feed, fetched: FetchedPrice, nowMs: number): Change | null {
  const about = { exchange: feed.exchange.name, symbol: feed.symbol }
  if (fetched.kind !== 'unreachable') feed.receivedAtMs = nowMs
  if (fetched.kind === 'price') {
    const isBack = feed.lastError !== null && feed.lastError !== NOT_REQUESTED
    feed.observation = {
      source: feed.exchange.name,
      price: fetched.price,
      receivedAtMs: nowMs,
      exchangeTimeMs: fetched.exchangeTimeMs,
    }
    feed.lastError = null
    return isBack ? { ...about, fault: null } : null
  }
  const isNew = feed.lastError !== fetched.reason
  feed.lastError = fetched.reason
  // After a mere failure to answer, the last price stays good for its minute; after a nonsensical answer, nothing
  // this exchange said is.
  if (fetched.kind === 'bad_answer') feed.observation = null
  return isNew ? { ...about, fault: fetched.reason } : null
}

function quoteOf(
  feeds: readonly Feed[],
  options: PriceBookOptions,
  symbol: PriceSymbol,
  livemode: boolean,
  nowMs: number,
): Quote {
  const agreed = agree(feeds, symbol, nowMs)
  if (agreed.kind === 'agreed')
    return { kind: 'quote', price: agreed.price, evidence: evidenceOf(agreed, nowMs) }
  if (livemode || !sandboxServes(feeds, options, nowMs)) return agreed
  const price = sandboxPrice(symbol)
  const usdPerUnit = formatPrice(price)
  const at = new Date(nowMs).toISOString()
  return {
    kind: 'quote',
    price,
    evidence: { usdPerUnit, quotedAt: at, sources: [{ name: SANDBOX_SOURCE, usdPerUnit, at }] },
  }
}

function agree(feeds: readonly Feed[], symbol: PriceSymbol, nowMs: number): AgreedPrice {
  const ofSymbol = feeds.filter((feed) => feed.symbol === symbol)
  const observations = ofSymbol.flatMap((feed) => (feed.observation === null ? [] : [feed.observation]))
  const agreed = agreePrice(observations, nowMs)
  if (agreed.kind === 'agreed' || observations.length === ofSymbol.length) return agreed
  return {
    kind: 'unavailable',
    reason: `${observations.length} of ${ofSymbol.length} exchanges gave a price`,
  }
}

/**
 * The built-in table is used only while no exchange can be reached. An exchange that answers nonsense was reached,
 * and its nonsense means no quote.
 */
function sandboxServes(feeds: readonly Feed[], options: PriceBookOptions, nowMs: number): boolean {
  const someoneAnswers = feeds.some(
    (feed) => feed.receivedAtMs !== null && Math.abs(nowMs - feed.receivedAtMs) <= PRICE_AGE_MS_MAX,
  )
  return options.sandboxPrices && !someoneAnswers
}

function evidenceOf(agreed: Extract<AgreedPrice, { kind: 'agreed' }>, nowMs: number): RateEvidence {
  return {
    usdPerUnit: formatPrice(agreed.price),
    quotedAt: new Date(nowMs).toISOString(),
    sources: agreed.used.map((observation) => ({
      name: observation.source,
      usdPerUnit: formatPrice(observation.price),
      at: new Date(observation.exchangeTimeMs ?? observation.receivedAtMs).toISOString(),
    })),
  }
}

function reportOf(
  feeds: readonly Feed[],
  options: PriceBookOptions,
  asset: AssetId,
  nowMs: number,
): AssetPriceReport {
  const symbol = ASSETS[asset].priceSymbol
  const live = quoteOf(feeds, options, symbol, true, nowMs)
  const test = quoteOf(feeds, options, symbol, false, nowMs)
  const shown = live.kind === 'quote' ? live : test
  return {
    asset,
    status: live.kind === 'quote' ? 'ok' : test.kind === 'quote' ? 'sandbox' : 'unavailable',
    usdPerUnit: shown.kind === 'quote' ? shown.evidence.usdPerUnit : null,
    reason: live.kind === 'quote' ? null : live.reason,
    sources: feeds.filter((feed) => feed.symbol === symbol).map((feed) => sourceReportOf(feed, nowMs)),
  }
}

function sourceReportOf(feed: Feed, nowMs: number): SourceReport {
  const { observation } = feed
  return {
    name: feed.exchange.name,
    usdPerUnit: observation === null ? null : formatPrice(observation.price),
    ageMs: observation === null ? null : nowMs - observation.receivedAtMs,
    fresh: observation !== null && isFresh(observation, nowMs),
    lastError: feed.lastError,
  }
}

/** Round prices for test mode on a machine without a network. They are no market's. */
const SANDBOX_USD: { readonly [name in PriceSymbol]: string } = {
  BTC: '100000',
  LTC: '100',
  ETH: '4000',
  USDC: '1',
  SOL: '200',
  USDT: '1',
  POL: '0.5',
  PYUSD: '1',
}

const SANDBOX_SOURCE = 'sandbox'

/** 10⁻¹² US dollar per coin. */
function sandboxPrice(symbol: PriceSymbol): bigint {
  const price = parsePlausiblePrice(symbol, SANDBOX_USD[symbol])
  if (price === null) throw new Error(`the sandbox price of ${symbol} is not plausible`)
  return price
}

import {
  CURRENCIES,
  confirmedRates,
  type DollarsPerCurrency,
  ROUND_DOLLARS,
} from '../core/rates/currencies.ts'
import type { Clock } from '../runtime/clock.ts'
import { repeat } from '../runtime/repeat.ts'
import { fetchText, openExchangeConnections, REQUEST_TIMEOUT_MS } from './fetch-price.ts'
import { RATE_SHEETS, type RateSheet } from './rate-sheets.ts'

/** About what currencies are worth, kept fresh in the background. Nothing is charged or booked by it. */
export type CurrencyRates = {
  /** In live mode only what two sources agree on; in test mode a built-in table while neither can be reached. */
  dollarsPerCurrency(livemode: boolean): DollarsPerCurrency
  /** Asks each source that is due; resolves when all have answered or failed. */
  refresh(): Promise<void>
  /** Of each source, why it gave nothing; null where it gave rates. */
  report(): readonly { readonly name: string; readonly fault: string | null }[]
  start(): void
  stop(): Promise<void>
}

type CurrencyRatesOptions = {
  /** Other base addresses of the sources. */
  readonly urls: { readonly [name in RateSheet['name']]?: string | null }
  readonly clock: Clock
  readonly log?: { warn(fields: object, message: string): void }
}

/** How often it is looked whether a source is due; one that failed always is. */
const LOOK_INTERVAL_MS = 60_000
const NOT_REQUESTED = 'not asked yet'

/** What one source last said. */
class Page {
  readonly sheet: RateSheet
  fault: string | null = NOT_REQUESTED
  #dollarsPer: DollarsPerCurrency = new Map()
  #atMs = Number.NEGATIVE_INFINITY
  #answeredMs = Number.NEGATIVE_INFINITY

  constructor(sheet: RateSheet) {
    this.sheet = sheet
  }

  isDue(nowMs: number): boolean {
    return this.fault !== null || Math.abs(nowMs - this.#answeredMs) >= this.sheet.everyMs
  }

  /** Whether it was there, useful or not, since its last rates could still count. */
  wasThere(nowMs: number): boolean {
    return Math.abs(nowMs - this.#answeredMs) <= this.sheet.goodForMs
  }

  freshRates(nowMs: number): DollarsPerCurrency {
    return Math.abs(nowMs - this.#atMs) <= this.sheet.goodForMs ? this.#dollarsPer : new Map()
  }

  /** A mere failure to answer leaves the last rates as they are; nonsense takes them away. */
  record(fetched: Awaited<ReturnType<typeof fetchText>>, nowMs: number): void {
    if (fetched.kind !== 'unreachable') this.#answeredMs = nowMs
    if (fetched.kind === 'unreachable' || fetched.kind === 'no_answer') {
      this.fault = fetched.reason
      return
    }
    const rates = fetched.kind === 'text' ? this.sheet.read(fetched.text) : null
    this.#dollarsPer = rates?.dollarsPer ?? new Map()
    this.#atMs = rates?.atMs ?? nowMs
    if (rates !== null)
      this.fault = Math.abs(nowMs - this.#atMs) > this.sheet.goodForMs ? 'the rates are of another day' : null
    else this.fault = fetched.kind === 'text' ? 'not the answer that is documented' : fetched.reason
  }
}

export function createCurrencyRates({ urls, clock, log }: CurrencyRatesOptions): CurrencyRates {
  const agent = openExchangeConnections()
  const pageOf = (sheet: RateSheet) => new Page({ ...sheet, baseUrl: urls[sheet.name] ?? sheet.baseUrl })
  const [moment, day] = [pageOf(RATE_SHEETS.moment), pageOf(RATE_SHEETS.day)]
  const pages = [moment, day]

  const ask = async (page: Page, signal: AbortSignal): Promise<void> => {
    const { baseUrl, path, name } = page.sheet
    const before = page.fault
    const headers = { accept: 'application/json, text/xml' }
    const options = { dispatcher: agent, timeoutMs: REQUEST_TIMEOUT_MS, signal, headers }
    const fetched = await fetchText(baseUrl.replace(/\/+$/, '') + path, options)
    if (signal.aborted) return
    page.record(fetched, clock().getTime())
    if (page.fault !== null && page.fault !== before)
      log?.warn(
        { source: name, reason: page.fault },
        'no currency rates: buyers read prices in dollars alone',
      )
  }
  const refresh = async (signal = new AbortController().signal): Promise<void> => {
    const nowMs = clock().getTime()
    await Promise.all(pages.filter((page) => page.isDue(nowMs)).map((page) => ask(page, signal)))
  }
  let loop: { stop(): Promise<void> } | undefined

  return {
    dollarsPerCurrency: (livemode) => {
      const nowMs = clock().getTime()
      if (!livemode && !pages.some((page) => page.wasThere(nowMs))) return ROUND_RATES
      return confirmedRates(moment.freshRates(nowMs), day.freshRates(nowMs))
    },
    refresh: () => refresh(),
    report: () => pages.map(({ sheet, fault }) => ({ name: sheet.name, fault })),
    start: () => {
      loop = repeat(refresh, {
        everyMs: LOOK_INTERVAL_MS,
        onError: (error) => log?.warn({ err: error }, 'currency rates could not be read'),
      })
    },
    stop: async () => {
      await loop?.stop()
      await agent.destroy()
    },
  }
}

const ROUND_RATES: DollarsPerCurrency = new Map(
  CURRENCIES.map((currency) => [currency, ROUND_DOLLARS[currency]]),
)

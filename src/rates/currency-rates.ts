import type { CurrencyQuote } from '../core/invoice/price.ts'
import type { RateEvidence } from '../core/invoice/types.ts'
import { formatPrice } from '../core/money.ts'
import {
  type Currency,
  confirmedRates,
  type DollarsPerCurrency,
  ROUND_RATES,
} from '../core/rates/currencies.ts'
import type { Clock } from '../runtime/clock.ts'
import { repeat } from '../runtime/repeat.ts'
import { fetchText, openExchangeConnections, REQUEST_TIMEOUT_MS } from './fetch-price.ts'
import { RATE_SHEETS, type RateSheet } from './rate-sheets.ts'

/** What currencies are worth, kept fresh in the background: a quote reads memory and waits for nobody. */
export type CurrencyRates = {
  /** In live mode only what two sources agree on; in test mode a built-in table while neither can be reached. */
  dollarsPerCurrency(livemode: boolean): DollarsPerCurrency
  /** One of these rates with what each source said; null where there is none. */
  quote(currency: Currency, livemode: boolean): CurrencyQuote | null
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

/** How often it is looked whether a source is due; one that failed always is, for nothing is priced without it. */
const LOOK_INTERVAL_MS = 15_000
const NOT_REQUESTED = 'not asked yet'

/** What one source last said. */
class Page {
  readonly sheet: RateSheet
  fault: string | null = NOT_REQUESTED
  #dollarsPer: DollarsPerCurrency = new Map()
  #atMs = Number.NEGATIVE_INFINITY
  #respondedAtMs = Number.NEGATIVE_INFINITY

  constructor(sheet: RateSheet) {
    this.sheet = sheet
  }

  isDue(nowMs: number): boolean {
    return this.fault !== null || Math.abs(nowMs - this.#respondedAtMs) >= this.sheet.everyMs
  }

  /** Whether it was there, useful or not, since its last rates could still count. */
  wasThere(nowMs: number): boolean {
    return Math.abs(nowMs - this.#respondedAtMs) <= this.sheet.goodForMs
  }

  /** What it said of a currency, and when that was true. */
  saidOf(currency: Currency): RateEvidence['sources'] {
    const dollars = this.#dollarsPer.get(currency)
    if (dollars === undefined) return []
    return [sourceOf(this.sheet.name, dollars, this.#atMs)]
  }

  freshRates(nowMs: number): DollarsPerCurrency {
    return Math.abs(nowMs - this.#atMs) <= this.sheet.goodForMs ? this.#dollarsPer : new Map()
  }

  /** A mere failure to answer leaves the last rates as they are; nonsense takes them away. */
  record(fetched: Awaited<ReturnType<typeof fetchText>>, nowMs: number): void {
    if (fetched.kind !== 'unreachable') this.#respondedAtMs = nowMs
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
        'no currency rates: no invoice is priced in other currencies, and buyers read dollars alone',
      )
  }
  const refresh = async (signal = new AbortController().signal): Promise<void> => {
    const nowMs = clock().getTime()
    await Promise.all(pages.filter((page) => page.isDue(nowMs)).map((page) => ask(page, signal)))
  }
  let loop: { stop(): Promise<void> } | undefined
  const usesTable = (livemode: boolean, nowMs: number) =>
    !livemode && !pages.some((page) => page.wasThere(nowMs))
  const ratesAt = (livemode: boolean, nowMs: number): DollarsPerCurrency =>
    usesTable(livemode, nowMs) ? ROUND_RATES : confirmedRates(moment.freshRates(nowMs), day.freshRates(nowMs))

  return {
    dollarsPerCurrency: (livemode) => ratesAt(livemode, clock().getTime()),
    quote: (currency, livemode) => {
      const nowMs = clock().getTime()
      const rate = ratesAt(livemode, nowMs).get(currency)
      if (rate === undefined) return null
      const sources = usesTable(livemode, nowMs)
        ? [sourceOf(TABLE, rate, nowMs)]
        : pages.flatMap((page) => page.saidOf(currency))
      return {
        rate,
        evidence: { usdPerUnit: formatPrice(rate), quotedAt: new Date(nowMs).toISOString(), sources },
      }
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

/** What test mode calls its built-in table, as for coins. */
const TABLE = 'sandbox'

const sourceOf = (name: string, dollars: bigint, atMs: number) => ({
  name,
  usdPerUnit: formatPrice(dollars),
  at: new Date(atMs).toISOString(),
})

import { z } from 'zod'
import { PRICE_UNIT, parsePrice, rateOf } from '../core/money.ts'
import { CURRENCIES, type Currency, type DollarsPerCurrency } from '../core/rates/currencies.ts'

/** The rates of one answer, and when they were true; null: now. */
type SheetRates = { readonly dollarsPer: DollarsPerCurrency; readonly atMs: number | null }

/** A list of many currencies' rates in one answer. */
export type RateSheet = {
  readonly name: 'coinbase' | 'ecb'
  readonly baseUrl: string
  readonly path: string
  /** It is asked again so long after an answer. */
  readonly everyMs: number
  /** Its rates count so long from the time that they were true. */
  readonly goodForMs: number
  /** Null where the text is not what is documented. */
  read(text: string): SheetRates | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

// Coinbase App API, "Get Exchange Rates": units of each currency for one of the base currency.
const coinbaseAnswer = z.object({
  data: z.object({ currency: z.literal('USD'), rates: z.record(z.string(), z.unknown()) }),
})

const coinbase: RateSheet = {
  name: 'coinbase',
  baseUrl: 'https://api.coinbase.com',
  path: '/v2/exchange-rates?currency=USD',
  everyMs: MINUTE_MS,
  goodForMs: 10 * MINUTE_MS,
  read: (text) => {
    const parsed = coinbaseAnswer.safeParse(jsonOf(text))
    if (!parsed.success) return null
    const { rates } = parsed.data.data
    return { dollarsPer: dollarsPer(PRICE_UNIT, (currency) => unitsOf(rates[currency])), atMs: null }
  },
}

// European Central Bank, "Euro foreign exchange reference rates" (XML, daily): units of each currency for one euro.
// New ones come at about 16:00 CET on working days; over Easter and New Year the last ones are five days old.
const ecb: RateSheet = {
  name: 'ecb',
  baseUrl: 'https://www.ecb.europa.eu',
  path: '/stats/eurofxref/eurofxref-daily.xml',
  everyMs: HOUR_MS,
  goodForMs: 7 * 24 * HOUR_MS,
  read: (text) => {
    const atMs = Date.parse(/<Cube time=["'](\d{4}-\d\d-\d\d)["']/.exec(text)?.[1] ?? '')
    const entries = text.matchAll(/<Cube currency=["']([A-Z]{3})["'] rate=["']([\d.]{1,20})["']/g)
    const units = Object.fromEntries([...entries].map(([, currency = '', rate = '']) => [currency, rate]))
    const dollarsPerEuro = unitsOf(units.USD)
    if (Number.isNaN(atMs) || dollarsPerEuro === null) return null
    const unitsPerEuro = (currency: Currency) => unitsOf(currency === 'EUR' ? '1' : units[currency])
    return { dollarsPer: dollarsPer(dollarsPerEuro, unitsPerEuro), atMs }
  },
}

/** The rates of the moment, and the central bank's of the day that confirm them. */
export const RATE_SHEETS = { moment: coinbase, day: ecb } as const

/** What one of each currency is worth, where so many units of it are worth `dollars`. */
function dollarsPer(dollars: bigint, unitsFor: (currency: Currency) => bigint | null): DollarsPerCurrency {
  return new Map(
    CURRENCIES.flatMap((currency) => {
      const units = unitsFor(currency)
      return units === null ? [] : [[currency, rateOf(dollars, units)] as const]
    }),
  )
}

/** In 10⁻¹²; null where the text is no plain decimal number above zero. */
const unitsOf = (text: unknown): bigint | null => (typeof text === 'string' ? parsePrice(text) : null)

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

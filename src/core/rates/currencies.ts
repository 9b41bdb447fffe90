import { parsePrice } from '../money.ts'

/**
 * What a price may be in besides US dollars (ISO 4217): what the European Central Bank publishes a reference rate for,
 * with about how many dollars it is worth, for test mode while no rates can be read.
 */
export const ROUND_DOLLARS = {
  AUD: '0.65',
  BRL: '0.18',
  CAD: '0.72',
  CHF: '1.2',
  CNY: '0.14',
  CZK: '0.045',
  DKK: '0.15',
  EUR: '1.1',
  GBP: '1.25',
  HKD: '0.128',
  HUF: '0.0028',
  IDR: '0.000061',
  ILS: '0.28',
  INR: '0.0115',
  ISK: '0.008',
  JPY: '0.0067',
  KRW: '0.00072',
  MXN: '0.054',
  MYR: '0.24',
  NOK: '0.1',
  NZD: '0.58',
  PHP: '0.0175',
  PLN: '0.27',
  RON: '0.23',
  SEK: '0.105',
  SGD: '0.77',
  THB: '0.031',
  TRY: '0.024',
  ZAR: '0.057',
} as const

export type Currency = keyof typeof ROUND_DOLLARS

export const CURRENCIES = Object.keys(ROUND_DOLLARS) as readonly Currency[]

/** ISO 4217, list one (SIX Financial Information), "minor unit" 0; all others of these currencies have 2. */
const WITHOUT_MINOR_UNIT: readonly string[] = ['ISK', 'JPY', 'KRW']

/** Digits after the decimal point that an amount of the currency may have. */
export const currencyDecimals = (currency: Currency | 'USD'): number =>
  WITHOUT_MINOR_UNIT.includes(currency) ? 0 : 2

/** 10⁻¹² US dollar that one of each currency is worth. */
export type DollarsPerCurrency = ReadonlyMap<Currency, bigint>

/** The table of test mode. */
export const ROUND_RATES: DollarsPerCurrency = new Map(
  CURRENCIES.map((currency) => [currency, parsePrice(ROUND_DOLLARS[currency]) ?? 0n]),
)

/** How far a rate of the moment may lie from the central bank's of the day, in hundredths of it. */
const DRIFT_PERCENT_MAX = 3n

/** The rates of the moment that the reference rates of the day confirm. */
export function confirmedRates(moment: DollarsPerCurrency, day: DollarsPerCurrency): DollarsPerCurrency {
  return new Map(
    [...moment].filter(([currency, dollars]) => {
      const reference = day.get(currency)
      if (reference === undefined) return false
      const drift = dollars > reference ? dollars - reference : reference - dollars
      return drift * 100n <= reference * DRIFT_PERCENT_MAX
    }),
  )
}

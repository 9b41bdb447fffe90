import { COINS, type PaymentAsset } from '../../core/assets.ts'
import type { FiatAmount } from '../../core/card/onramp-provider.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import { formatCoinAmount, formatFiat, formatUsd, parseFiat, readableAmount } from '../../core/money.ts'
import { CURRENCIES, currencyDecimals } from '../../core/rates/currencies.ts'
import type { Language } from './language.ts'

const CURRENCY_FORMATS = new Map<string, Intl.NumberFormat>()
const TIME_FORMATS = new Map<string, Intl.DateTimeFormat>()
/** From here on a deadline may lie on another day, and the page names the day. */
const SAME_DAY_WINDOW_MS = 6 * 60 * 60_000
const MINUTES_PER_HOUR = 60
const SECONDS_PER_MINUTE = 60
const CENT_DECIMALS = 2

/** `0.4123 LTC`, `5.50 USDC`: digits as one types them into a wallet. */
export function coin(asset: PaymentAsset, units: bigint): string {
  const { decimals, symbol } = COINS[asset]
  return `${readableAmount(formatCoinAmount(units, decimals), symbol)} ${symbol}`
}

/** Six digits compare as well as the eighteen of ether; a dollar coin keeps its cents. */
const NEARLY = new Intl.NumberFormat('en', {
  maximumSignificantDigits: 6,
  maximumFractionDigits: CENT_DECIMALS,
  roundingPriority: 'morePrecision',
  useGrouping: false,
})

/** `≈ 0.0199976 ETH`: to choose by, not to send. */
export function nearCoin(asset: PaymentAsset, units: bigint): string {
  const { decimals, symbol } = COINS[asset]
  const near = NEARLY.format(decimal(formatCoinAmount(units, decimals)))
  return `≈ ${readableAmount(near, symbol)} ${symbol}`
}

/** `$49.99` in the language's own notation. */
export function usd(language: Language, cents: bigint): string {
  return isolated(language, currencyFormat(language, 2).format(decimal(formatUsd(cents))))
}

/** What was asked for, in the shop's own currency where it has a price in it; null where it was coins. */
export function total(
  language: Language,
  { price, usdCents }: { readonly price: FiatAmount | null; readonly usdCents: bigint | null },
): string | null {
  if (price !== null) return fiat(language, price)
  return usdCents === null ? null : usd(language, usdCents)
}

/** About how much of the price is still to pay, in the shop's own currency and in US dollars. */
export function nearDue(language: Language, { price, usdCents, remaining, amount }: CheckoutView): string {
  const dollars = usd(language, ((usdCents ?? 0n) * remaining) / amount)
  if (price === null || remaining === amount) return `≈ ${dollars}`
  const decimals = currencyDecimals(price.currency)
  const units = ((parseFiat(price.amount, decimals) ?? 0n) * remaining) / amount
  return `≈ ${fiat(language, { ...price, amount: formatFiat(units, decimals) })} · ${dollars}`
}

/** A price of one coin, to the cent; finer where it is worth little, and of a currency. */
export function usdPrice(language: Language, usdPerUnit: string, of: 'coin' | 'currency' = 'coin'): string {
  const format = currencyFormat(language, of === 'currency' || usdPerUnit.startsWith('0.') ? 6 : 2)
  return isolated(language, format.format(decimal(usdPerUnit)))
}

const FIAT_FORMATS = new Map<string, Intl.NumberFormat>()

/** An amount of any currency as a shop or provider wrote it, in the language's own notation. */
export function fiat(language: Language, { amount, currency }: FiatAmount): string {
  // Custom writes some currencies without the decimals that they have: none may be lost.
  const decimals = /\.(?!0+$)/.test(amount) ? decimalsOf(currency) : undefined
  const key = `${language.tag} ${currency} ${decimals}`
  let format = FIAT_FORMATS.get(key)
  if (format === undefined) {
    const locale = language.direction === 'rtl' ? 'en' : language.locale
    const digits = decimals === undefined ? {} : { minimumFractionDigits: decimals }
    format = new Intl.NumberFormat(locale, { style: 'currency', currency, ...digits })
    FIAT_FORMATS.set(key, format)
  }
  return isolated(language, format.format(decimal(amount)))
}

const decimalsOf = (name: string): number | undefined => {
  const currency = CURRENCIES.find((each) => each === name)
  return currency === undefined ? undefined : currencyDecimals(currency)
}

/** `14:05 UTC`, with the day where it may not be today's. The page's script replaces it by the buyer's own time. */
export function utcTime(language: Language, ms: number, style: TimeStyle): string {
  const key = `${language.tag} ${style}`
  let format = TIME_FORMATS.get(key)
  if (format === undefined) {
    const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
    const day = style === 'day' ? ({ day: 'numeric', month: 'short', year: 'numeric' } as const) : {}
    format = new Intl.DateTimeFormat(language.locale, { ...day, ...time, timeZone: 'UTC' })
    TIME_FORMATS.set(key, format)
  }
  return `${format.format(ms)} UTC`
}

type TimeStyle = 'time' | 'day'

/** How a deadline is written: with its day where the window is long. */
export function deadlineStyle(createdAtMs: number, deadlineMs: number): TimeStyle {
  return deadlineMs - createdAtMs > SAME_DAY_WINDOW_MS ? 'day' : 'time'
}

/** Left to right, whatever stands around it (UAX #9). */
const isolated = (language: Language, amount: string): string =>
  language.direction === 'rtl' ? `\u2066${amount}\u2069` : amount

/** `15 minutes`, `1 hour`: a payment window in the language's own words. */
export function duration(language: Language, minutes: number): string {
  const isWhole = minutes % MINUTES_PER_HOUR === 0
  return new Intl.NumberFormat(language.locale, {
    style: 'unit',
    unit: isWhole ? 'hour' : 'minute',
    unitDisplay: 'long',
  }).format(isWhole ? minutes / MINUTES_PER_HOUR : minutes)
}

/** `13 sec`, `2 min`: about how long something takes. */
export function brief(language: Language, seconds: number): string {
  const inMinutes = seconds >= SECONDS_PER_MINUTE
  return new Intl.NumberFormat(language.locale, {
    style: 'unit',
    unit: inMinutes ? 'minute' : 'second',
    unitDisplay: 'short',
    maximumFractionDigits: 0,
  }).format(inMinutes ? seconds / SECONDS_PER_MINUTE : seconds)
}

function currencyFormat(language: Language, decimals: number): Intl.NumberFormat {
  const key = `${language.tag} ${decimals}`
  let format = CURRENCY_FORMATS.get(key)
  if (format === undefined) {
    // In a right-to-left sentence a dollar sign would move to the other side; English notation keeps it in place.
    const locale = language.direction === 'rtl' ? 'en' : language.locale
    format = new Intl.NumberFormat(locale, {
      style: 'currency',
      currency: 'USD',
      maximumFractionDigits: decimals,
    })
    CURRENCY_FORMATS.set(key, format)
  }
  return format
}

/** `Intl` formats decimal strings exactly, without a floating point number between, but its types ask for a proof. */
function decimal(text: string): `${number}` {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text)) throw new Error(`not a decimal number: ${text}`)
  return text as `${number}`
}

/**
 * Money is a `bigint` of the smallest unit (satoshi, wei, US cent) inside, and a canonical decimal string at
 * the edge. No floating point number ever holds money.
 */

const CANONICAL = /^(0|[1-9][0-9]{0,59})(?:\.([0-9]{1,18}))?$/
const FIAT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,4}))?$/
const USD = /^(0|[1-9][0-9]{0,5})(?:\.([0-9]{1,2}))?$/

/** Prices are kept as integers of 10⁻¹² US dollar per coin, or per unit of another currency. */
const PRICE_SCALE = 12
/** One US dollar as a price. */
export const PRICE_UNIT = 10n ** BigInt(PRICE_SCALE)

/** US cents of a string such as `49.99`, or null where it is not in the grammar of a dollar amount. */
export function parseUsd(text: string): bigint | null {
  const match = USD.exec(text)
  if (match === null) return null
  return BigInt(match[1] ?? '') * 100n + BigInt((match[2] ?? '').padEnd(2, '0'))
}

/** `4999n` → `49.99`: always two decimals. */
export const formatUsd = (cents: bigint): string => formatFiat(cents, 2)

/**
 * Smallest units of an amount of a currency such as `49.9`, or null where it is no such amount or has more decimals than
 * the currency.
 */
export function parseFiat(text: string, decimals: number): bigint | null {
  const match = FIAT.exec(text)
  const fraction = match?.[2] ?? ''
  if (match === null || fraction.length > decimals) return null
  return BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`)
}

const DECIMAL_COMMA = /^([0-9]+),([0-9]+)$/
/** `1,234` is a thousand to some and one and a bit to others. */
const THOUSANDS = /^[1-9][0-9]{0,2},[0-9]{3}$/

/**
 * An amount as a person types it, with a point: `12,50` becomes `12.50` where a comma can mean nothing else. What it cannot
 * be sure of stays as it is, for the API to refuse.
 */
export function typedAmount(text: string, decimals: number): string {
  const typed = text.trim()
  const [, whole, fraction = ''] = DECIMAL_COMMA.exec(typed) ?? []
  if (whole === undefined || fraction.length > decimals || THOUSANDS.test(typed)) return typed
  return `${whole}.${fraction}`
}

/** The inverse of `parseFiat`: always as many decimals as the currency has. */
export function formatFiat(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  return decimals === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
}

/**
 * Base units of a canonical coin amount: no sign, exponent, leading zero or trailing zero, and no more
 * decimals than the coin has. Null for anything else.
 */
export function parseCoinAmount(text: string, decimals: number): bigint | null {
  const match = CANONICAL.exec(text)
  if (match === null) return null
  const fraction = match[2] ?? ''
  if (fraction.length > decimals || fraction.endsWith('0')) return null
  return BigInt(match[1] ?? '') * 10n ** BigInt(decimals) + BigInt(fraction.padEnd(decimals, '0') || '0')
}

/** Base units as a canonical decimal string in coin units: no trailing zeros, no exponent. */
export function formatCoinAmount(units: bigint, decimals: number): string {
  const fixed = formatFiat(units, decimals)
  return decimals === 0 ? fixed : fixed.replace(/\.?0+$/, '')
}

/** Tickers of dollar coins. Beside the registry, which would make the script of every checkout page longer. */
const DOLLAR_COINS: ReadonlySet<string> = new Set(['USDC', 'USDT', 'PYUSD'])

/** A coin amount as it is read: a dollar coin's with at least two decimals, `5.50`, and every digit that it has. */
export function readableAmount(amount: string, symbol: string): string {
  if (!DOLLAR_COINS.has(symbol)) return amount
  const [whole, fraction = ''] = amount.split('.')
  return `${whole}.${fraction.padEnd(2, '0')}`
}

/**
 * A price such as `97123.45` as an integer of 10⁻¹² US dollar. Digits beyond the twelfth decimal are cut.
 * Null where the text is not a plain positive decimal number.
 */
export function parsePrice(text: string): bigint | null {
  const match = /^([0-9]{1,15})(?:\.([0-9]{1,30}))?$/.exec(text)
  if (match === null) return null
  const fraction = (match[2] ?? '').slice(0, PRICE_SCALE).padEnd(PRICE_SCALE, '0')
  const price = BigInt(match[1] ?? '') * PRICE_UNIT + BigInt(fraction)
  return price > 0n ? price : null
}

/** The inverse of `parsePrice`: canonical, without trailing zeros. */
export function formatPrice(price: bigint): string {
  return formatCoinAmount(price, PRICE_SCALE)
}

/**
 * What one of a currency is worth where `units` of it are worth `dollars`, all in 10⁻¹². Rounded **up** to 10⁻¹² dollar:
 * towards more dollars for the merchant.
 */
export const rateOf = (dollars: bigint, units: bigint): bigint => divideUp(dollars * PRICE_UNIT, units)

/**
 * US cents that are worth at least `units` of a currency's smallest unit at `rate` (10⁻¹² US dollar for one of the
 * currency), rounded **up** to the cent, once: cents = ⌈units × rate × 100 ÷ (10^decimals × 10¹²)⌉.
 */
export const usdCentsFor = (units: bigint, rate: bigint, decimals: number): bigint =>
  divideUp(units * rate * 100n, 10n ** BigInt(decimals) * PRICE_UNIT)

/**
 * Smallest units of a currency that US cents are worth at `rate` (10⁻¹² US dollar for one of the currency), to the nearest
 * one: units = cents × 10^decimals × 10¹² ÷ (100 × rate).
 */
export const fiatForUsd = (usdCents: bigint, rate: bigint, decimals: number): bigint =>
  shareOf(usdCents * 10n ** BigInt(decimals), PRICE_UNIT, 100n * rate)

/** `whole × part ÷ of`, to the nearest unit, halves up. None may be below zero. */
export const shareOf = (whole: bigint, part: bigint, of: bigint): bigint =>
  (2n * whole * part + of) / (2n * of)

/** Of positive numbers. */
const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

/**
 * The coin amount that is worth at least `usdCents` at `price`, rounded **up** to the coin's smallest unit,
 * once: units = ⌈cents × 10^decimals × 10¹² ÷ (100 × price)⌉.
 */
export function coinAmountForUsd(usdCents: bigint, price: bigint, decimals: number): bigint {
  return divideUp(usdCents * 10n ** BigInt(decimals) * PRICE_UNIT, 100n * price)
}

/** What a coin amount is worth in US cents at `price`, rounded down. */
export function usdValueOf(units: bigint, price: bigint, decimals: number): bigint {
  return (units * price * 100n) / (10n ** BigInt(decimals) * PRICE_UNIT)
}

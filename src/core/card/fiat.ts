import type { FiatAmount } from './onramp-provider.ts'

/** Providers quote in money of many kinds: kept in 10⁻⁸ of its unit, which is finer than any of them writes. */
const SCALE = 8
export const FIAT_UNIT = 10n ** BigInt(SCALE)
const FIAT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,18}))?$/
const CURRENCY = /^[A-Z]{3}$/

/** 10⁻⁸ units of a plain decimal number, cut after the eighth decimal; null for anything else. */
export function parseFiat(text: string): bigint | null {
  const match = FIAT.exec(text)
  if (match === null) return null
  return BigInt(match[1] ?? '') * FIAT_UNIT + BigInt((match[2] ?? '').slice(0, SCALE).padEnd(SCALE, '0'))
}

/** Rounded up to hundredths, so that nobody is charged more than they were shown. */
export function fiatOf(units: bigint, currency: string): FiatAmount {
  const hundredth = FIAT_UNIT / 100n
  const cents = (units + hundredth - 1n) / hundredth
  return { amount: `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`, currency }
}

/** An ISO 4217 code, as `Intl` takes one. */
export const isCurrency = (text: string): boolean => CURRENCY.test(text)

/** US cents in 10⁻⁸ dollars, to compare with what a provider writes. */
export const fiatOfCents = (cents: bigint): bigint => cents * (FIAT_UNIT / 100n)

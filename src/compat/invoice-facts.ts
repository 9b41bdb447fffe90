import type { z } from 'zod'
import { isReturnUrl } from '../core/checkout/return-url.ts'
import { returnUrl } from '../wire/fields.ts'
import type { ASSET_NAMES, invoiceView } from '../wire/invoice.ts'

export type Invoice = z.output<typeof invoiceView>
/** An invoice as events carry it: they are stored, and the buyer's link is a secret. */
export type InvoiceSnapshot = Omit<Invoice, 'checkout_url'>
export type AssetName = (typeof ASSET_NAMES)[number]
export type Metadata = { readonly [name: string]: unknown }

/** What older services call our assets: the ticker, and where two networks share one, the one that shops there had. */
export const TICKERS: { readonly [ticker: string]: AssetName } = {
  BTC: 'BTC',
  LTC: 'LTC',
  ETH: 'ETH',
  SOL: 'SOL',
  USDC: 'USDC_BASE',
}

const TICKER_OF: { readonly [asset in AssetName]: string } = {
  BTC: 'BTC',
  LTC: 'LTC',
  ETH: 'ETH',
  ETH_BASE: 'ETH',
  USDC_BASE: 'USDC',
  SOL: 'SOL',
}
export const tickerOf = (asset: AssetName): string => TICKER_OF[asset]

export const isObject = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Dollars as older services take them: a number or a text, `10`, `10.5` or `10.00`. Null for what is no such amount. */
export function usdOf(amount: unknown): string | null {
  const text = typeof amount === 'number' ? String(amount) : amount
  const match = typeof text === 'string' ? /^0*(\d{1,12})(?:\.(\d{1,2})0*)?$/.exec(text) : null
  return match === null ? null : `${match[1]}.${(match[2] ?? '').padEnd(2, '0')}`
}

/** Coins, canonical: without zeros at the end. Null for what is no decimal. */
export function coinsOf(amount: unknown): string | null {
  const text = typeof amount === 'number' ? String(amount) : amount
  const match = typeof text === 'string' ? /^0*(\d{1,30})(?:\.(\d{0,30}?)0*)?$/.exec(text) : null
  if (match === null) return null
  return match[2] === undefined || match[2] === '' ? (match[1] ?? null) : `${match[1]}.${match[2]}`
}

/** The shop's own order number, by which its invoice is found again: texts and numbers alone. */
export function referenceOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' && [...text].length <= 255 ? text : undefined
}

/** An address that the API will take; what it would not is left in the metadata alone. */
export function emailOf(value: unknown): string | undefined {
  const isAddress = typeof value === 'string' && /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+$/.test(value)
  return isAddress && value.length <= 254 ? value : undefined
}

/** A page that a buyer may be sent back to; what is none stays in the metadata, to be read again. */
export const returnUrlOf = (value: unknown): string | undefined =>
  typeof value === 'string' && returnUrl.safeParse(value).success && isReturnUrl(value, true)
    ? value
    : undefined

export const unixSeconds = (time: string): number => Math.floor(Date.parse(time) / 1_000)

/** Whether all that was asked for has been seen, final or not. */
export const isCovered = (invoice: Pick<Invoice, 'amount_remaining'>): boolean =>
  invoice.amount_remaining === '0'

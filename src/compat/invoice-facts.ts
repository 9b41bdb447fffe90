import type { z } from 'zod'
import { type AssetId, COINS } from '../core/assets.ts'
import { formatFiat } from '../core/money.ts'
import { CURRENCIES, type Currency, currencyDecimals } from '../core/rates/currencies.ts'
import type { invoiceView } from '../wire/invoice.ts'

export type Invoice = z.output<typeof invoiceView>
/** An invoice as events carry it: without the buyer's link, which is a secret and must not be stored. */
export type InvoiceSnapshot = Omit<Invoice, 'checkout_url' | 'payment_link_name'>
/** What may have arrived: more than may be asked for. */
type PaidAssetName = Invoice['payments'][number]['asset']
export type Metadata = { readonly [name: string]: unknown }

/** Assets by the tickers of other services. Where two networks share a ticker, it means the one that those services had. */
export const TICKERS: { readonly [ticker: string]: AssetId } = {
  BTC: 'BTC',
  LTC: 'LTC',
  ETH: 'ETH',
  SOL: 'SOL',
  USDC: 'USDC_BASE',
  USDT: 'USDT_ETHEREUM',
  POL: 'POL_POLYGON',
}

export const tickerOf = (asset: PaidAssetName): string => COINS[asset].symbol

export const isObject = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A shop's total in US dollars or a currency that prices may be in, as our `POST /invoices` takes it. */
export type Total =
  | { readonly usd_amount: string }
  | { readonly price: { readonly amount: string; readonly currency: Currency } }

/** The total in a currency, by its code; null where the amount is none, undefined where no price may be in the currency. */
export function totalIn(code: string, amount: unknown): Total | null | undefined {
  if (code === 'USD') {
    const usd = fiatOf(amount, 2)
    return usd === null ? null : { usd_amount: usd }
  }
  const currency = CURRENCIES.find((each) => each === code)
  if (currency === undefined) return undefined
  const rounded = fiatOf(amount, currencyDecimals(currency))
  return rounded === null ? null : { price: { amount: rounded, currency } }
}

/** What a shop asked for, as it asked; events of before there were prices name none. */
export const requestedPrice = ({ price, usd_amount }: Pick<InvoiceSnapshot, 'price' | 'usd_amount'>) =>
  price ?? (usd_amount === null ? null : { amount: usd_amount, currency: 'USD' })

/**
 * Money as other services take it, a number or a string (`10`, `10.5`, `10.0000`), with so many decimals; null for anything
 * else. A shop's total that was never rounded is, half up, as the shop shows it to the buyer.
 */
function fiatOf(amount: unknown, decimals: number): string | null {
  const text = typeof amount === 'number' ? String(amount) : amount
  const match = typeof text === 'string' ? /^0*(\d{1,12})(?:\.(\d{1,30}))?$/.exec(text) : null
  if (match === null) return null
  const more = decimals + 1
  const tenths = BigInt(`${match[1]}${(match[2] ?? '').slice(0, more).padEnd(more, '0')}`)
  return formatFiat((tenths + 5n) / 10n, decimals)
}

/** An amount in coins in canonical form, without trailing zeros; null if it is not a decimal. */
export function coinsOf(amount: unknown): string | null {
  const text = typeof amount === 'number' ? String(amount) : amount
  const match = typeof text === 'string' ? /^0*(\d{1,30})(?:\.(\d{0,30}?)0*)?$/.exec(text) : null
  if (match === null) return null
  return match[2] === undefined || match[2] === '' ? (match[1] ?? null) : `${match[1]}.${match[2]}`
}

/**
 * An optional text as other services take it: a number is one too, and nothing, or an empty one, is none. Our API says what
 * is wrong with any other value.
 */
export function textOf(value: unknown): unknown {
  if (value === null || value === '') return undefined
  return typeof value === 'number' ? String(value) : value
}

const DESCRIPTION_LENGTH_MAX = 500

/**
 * What the buyer pays for, as our API takes it: one line, cut where it is too long. No shop is refused for what other
 * services only keep: what is no text says nothing.
 */
export function descriptionOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.replace(/[\p{Cc}\s]+/gu, ' ').trim() : ''
  return text === '' ? undefined : [...text].slice(0, DESCRIPTION_LENGTH_MAX).join('')
}

export const unixSeconds = (time: string): number => Math.floor(Date.parse(time) / 1_000)

/** Whether the whole amount has been seen, final or not. */
export const isCovered = (invoice: Pick<Invoice, 'amount_remaining'>): boolean =>
  invoice.amount_remaining === '0'

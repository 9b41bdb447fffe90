import type { Invoice } from 'paylink-sdk'
import type { InvoiceSnapshot } from 'paylink-sdk/webhooks'

/** What an invoice is to cost: Vendure's amount in minor units, and its currency (ISO 4217). */
export type Price = { readonly minor: number; readonly currency: string }

/** The price as a decimal number: 1999 with two decimals is `19.99`, and 1200 yen, kept as 120000, are `1200`. */
export function decimalOf(minor: number, precision: number): string {
  const digits = String(minor).padStart(precision + 1, '0')
  const whole = digits.slice(0, digits.length - precision)
  const fraction = digits.slice(digits.length - precision).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** What Paylink can ask for, in minor units: an amount that the currency has no coins for is rounded up, to cover all. */
export function payableOf({ minor, currency }: Price, precision: number): Price {
  const { maximumFractionDigits: decimals = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions()
  const coin = 10 ** Math.max(0, precision - decimals)
  return { minor: Math.ceil(minor / coin) * coin, currency }
}

export const currencyOf = ({ price }: Pick<Invoice | InvoiceSnapshot, 'price'>): string =>
  price?.currency ?? 'USD'

/** What an invoice asked for; null where that is not an amount of money that the shop can keep. */
export function priceOf(
  { price, usd_amount }: Pick<Invoice | InvoiceSnapshot, 'price' | 'usd_amount'>,
  precision: number,
): Price | null {
  const { amount, currency } = price ?? { amount: usd_amount ?? '', currency: 'USD' }
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(amount) ?? []
  if (whole === undefined || /[^0]/.test(fraction.slice(precision))) return null
  const minor = Number(whole + fraction.slice(0, precision).padEnd(precision, '0'))
  return Number.isSafeInteger(minor) ? { minor, currency } : null
}

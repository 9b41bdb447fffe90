import type { Invoice } from '../api/types.ts'
import { coins, money, usd } from './money.ts'

/** What a shopkeeper calls it: their own reference, else the customer, else its payment link; else a part of its id. */
export const invoiceName = (invoice: Invoice): string =>
  invoice.external_reference ??
  invoice.order_reference ??
  invoice.customer_email ??
  invoice.payment_link_name ??
  `…${invoice.id.slice(-8)}`

/** What was asked for: the shop's own currency, else dollars, else coins. */
export function invoiceAmount({ price, usd_amount, amount, asset }: Invoice): string {
  // An API of the release before knows no price.
  if (price) return money(price)
  return usd_amount === null ? coins(amount, asset) : usd(usd_amount)
}

/** `$49.99 from anna@example.com`, `$49.99 for order-1042`, `$49.99 for Coffee`. */
export function invoiceTitle(invoice: Invoice): string {
  const { customer_email, external_reference, order_reference, payment_link_name } = invoice
  const amount = invoiceAmount(invoice)
  if (customer_email !== null) return `${amount} from ${customer_email}`
  const reference = external_reference ?? order_reference ?? payment_link_name
  return reference === null ? `Invoice of ${amount}` : `${amount} for ${reference}`
}

import type { Invoice } from '../api/types.ts'
import { coins, usd } from './money.ts'

/** What a shopkeeper calls it: their own reference, else the customer; an id only where it has neither. */
export const invoiceName = ({ id, external_reference, order_reference, customer_email }: Invoice): string =>
  external_reference ?? order_reference ?? customer_email ?? `…${id.slice(-8)}`

export const invoiceAmount = ({ usd_amount, amount, asset }: Invoice): string =>
  usd_amount === null ? coins(amount, asset) : usd(usd_amount)

/** `$49.99 from anna@example.com`, `$49.99 for order-1042`; `link`: the name of its payment link. */
export function invoiceTitle(invoice: Invoice, link?: string): string {
  const { customer_email, external_reference, order_reference } = invoice
  const amount = invoiceAmount(invoice)
  if (customer_email !== null) return `${amount} from ${customer_email}`
  const reference = external_reference ?? order_reference ?? link
  return reference === undefined ? `Invoice of ${amount}` : `${amount} for ${reference}`
}

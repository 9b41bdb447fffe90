import type { Invoice } from '../api/types.ts'
import { coinAndSymbol, coins, totalOf } from './money.ts'

const DESCRIPTION_SHOWN_MAX = 60

/** What is paid for, short enough for a title; null where nobody said. An API of the release before knows no description. */
function itemOf({ description, payment_link_name }: Invoice): string | null {
  if (!description) return payment_link_name
  const letters = [...description]
  if (letters.length <= DESCRIPTION_SHOWN_MAX) return description
  return `${letters.slice(0, DESCRIPTION_SHOWN_MAX).join('').trimEnd()}…`
}

/** What a shopkeeper calls it: their own reference, else the customer, else what is paid for; else a part of its id. */
export const invoiceName = (invoice: Invoice): string =>
  invoice.external_reference ??
  invoice.order_reference ??
  invoice.customer_email ??
  itemOf(invoice) ??
  `…${invoice.id.slice(-8)}`

/** An amount of what was asked for, with its network unless several will do. An API of the release before knows but one. */
export const askedCoins = ({ asset, also_accepts }: Invoice, amount: string): string =>
  also_accepts?.length > 0 ? coinAndSymbol(amount, asset) : coins(amount, asset)

/** What was asked for: the shop's own currency, else dollars, else coins. */
export const invoiceAmount = (invoice: Invoice): string =>
  totalOf(invoice) ?? askedCoins(invoice, invoice.amount)

/** `$49.99 from anna@example.com`, `$49.99 for order-1042`, `$49.99 for Coffee`. */
export function invoiceTitle(invoice: Invoice): string {
  const { customer_email, external_reference, order_reference } = invoice
  const amount = invoiceAmount(invoice)
  if (customer_email !== null) return `${amount} from ${customer_email}`
  const reference = external_reference ?? order_reference ?? itemOf(invoice)
  return reference === null ? `Invoice of ${amount}` : `${amount} for ${reference}`
}

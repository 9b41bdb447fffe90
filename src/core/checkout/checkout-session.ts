import { type CurrencyQuote, priceInDollars } from '../invoice/price.ts'
import { deriveStatus, wasSettled } from '../invoice/status.ts'
import type { Invoice, InvoicePrice } from '../invoice/types.ts'
import { parseUsd } from '../money.ts'
import type { Currency } from '../rates/currencies.ts'
import { readStrictUrl } from '../strict-url.ts'
import type { Charge } from './buyer-amount.ts'

/** One order on a payment link. */
export type CheckoutSession = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly paymentLinkId: string
  readonly orderReference: string
  readonly usdCents: bigint
  /** What `usdCents` was computed from when the session was made; null where dollars were asked for. */
  readonly price: InvoicePrice | null
  /** The payment window as it was asked for; null where the link or the merchant decided. */
  readonly requestedMinutes: number | null
  /** Of its invoice. */
  readonly returnUrl: string | null
  readonly createdAtMs: number
  /** The final deadline of any payment; nothing renews it. */
  readonly expiresAtMs: number
  readonly cancelledAtMs: number | null
  /** The invoice it became when the buyer continued. */
  readonly invoiceId: string | null
}

const SESSION_STATUSES = ['active', 'completed', 'expired', 'cancelled'] as const
type SessionStatus = (typeof SESSION_STATUSES)[number]

/**
 * What a session is at `nowMs` (spec §3). Without payments it ends by its own deadline or a cancellation; with
 * payments it follows its invoice, which may be settled by what arrives within the horizon after the deadline.
 */
export function sessionStatus(
  session: CheckoutSession,
  invoice: Invoice | null,
  nowMs: number,
): SessionStatus {
  const byTime = nowMs >= session.expiresAtMs ? 'expired' : 'active'
  if (invoice === null) return session.cancelledAtMs === null ? byTime : 'cancelled'
  // Once completed it stays so: the invoice reports what later leaves the chain.
  if (wasSettled(invoice)) return 'completed'
  if (session.cancelledAtMs !== null || invoice.cancelledAtMs !== null) return 'cancelled'
  switch (deriveStatus(invoice)) {
    case 'awaiting_payment':
      return byTime
    case 'expired':
      return 'expired'
    default:
      return 'active'
  }
}

/** Whether a buyer who comes back with the session's URL is shown anything at all. */
export function isSessionShown(session: CheckoutSession, invoice: Invoice | null, nowMs: number): boolean {
  const status = sessionStatus(session, invoice, nowMs)
  return status === 'active' || status === 'completed' || (invoice !== null && hasPayments(invoice))
}

/** Money has come for the invoice, whatever it means for it. Dust is none. */
function hasPayments(invoice: Invoice): boolean {
  return invoice.payments.some((payment) => !payment.dust)
}

/** A charge as a session stores it, in dollars of the moment; null where those cannot be had. */
export function sessionTotal(
  charge: Charge,
  rateOf: (currency: Currency) => CurrencyQuote | null,
): Pick<CheckoutSession, 'usdCents' | 'price'> | null {
  if (charge.kind === 'usd') return { usdCents: parseUsd(charge.usdAmount) ?? 0n, price: null }
  const dollars = priceInDollars(charge.price, rateOf)
  return dollars.kind === 'priced'
    ? { usdCents: parseUsd(dollars.usdAmount) ?? 0n, price: dollars.price }
    : null
}

/**
 * Whether another request for the same order reference asks for the same checkout (spec §3): link, amount,
 * duration as it was asked for, and mode. A price is the same whatever the rate of the moment makes of it.
 */
export function isSameCheckout(
  session: CheckoutSession,
  request: Pick<CheckoutSession, 'paymentLinkId' | 'requestedMinutes' | 'livemode'> & {
    readonly charge: Charge
  },
): boolean {
  return (
    session.paymentLinkId === request.paymentLinkId &&
    isSameCharge(session, request.charge) &&
    session.requestedMinutes === request.requestedMinutes &&
    session.livemode === request.livemode
  )
}

function isSameCharge({ usdCents, price }: CheckoutSession, charge: Charge): boolean {
  if (charge.kind === 'usd') return price === null && usdCents === parseUsd(charge.usdAmount)
  const { amount, currency } = charge.price
  return price !== null && price.amount === amount && price.currency === currency
}

/** Where a shop that is being built runs: on the machine of whoever builds it. */
const OWN_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/** Stands for the invoice's id in the page that a buyer is sent back to. */
export const INVOICE_ID_PLACEHOLDER = '{INVOICE_ID}'

/** The page that the buyer of this invoice is sent back to. */
export const returnUrlOf = (template: string, invoiceId: string): string =>
  template.replaceAll(INVOICE_ID_PLACEHOLDER, invoiceId)

/**
 * Whether a buyer may be sent back to this page of the shop: https, and in test mode also http on the own machine. It
 * is the merchant's word, given with its key and stored: nothing that a buyer's URL says leads anywhere.
 */
export function isReturnUrl(text: string, livemode: boolean): boolean {
  const read = readStrictUrl(text, ['https:', 'http:'])
  if (read.kind === 'refused') return false
  return read.url.protocol === 'https:' || (!livemode && OWN_MACHINE.test(read.url.hostname))
}

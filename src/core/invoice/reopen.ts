import { ASSETS } from '../assets.ts'
import { ownCharge, type PaymentLink, windowMinutesOf } from '../checkout/payment-link.ts'
import { formatCoinAmount, formatUsd } from '../money.ts'
import { DOLLARS } from '../token-symbols.ts'
import type { Market } from './market.ts'
import { type InvoicePlan, planInvoice, type RequestedTotal } from './plan.ts'
import { deriveStatus } from './status.ts'
import { isTranslated } from './translated.ts'
import type { Invoice } from './types.ts'

const MS_PER_MINUTE = 60_000

/** Whether the buyer may reopen an expired invoice at the current price. */
export function isReopenable(
  invoice: Invoice,
  link: Pick<PaymentLink, 'active' | 'usdCents' | 'price' | 'allowDynamicAmount'> | null,
  rules: { readonly reopenExpired: boolean },
): boolean {
  if (deriveStatus(invoice) !== 'expired') return false
  if (invoice.payments.some((payment) => !payment.dust)) return false
  // A session's deadline is final; its merchant opens another one.
  if (invoice.checkoutSessionId !== null) return false
  // Money on an invoice that the shop has never seen would pay for no order.
  if (isTranslated(invoice)) return false
  if (invoice.paymentLinkId === null) return rules.reopenExpired
  if (link === null || !link.active) return false
  return invoice.amountSource === 'buyer' ? link.allowDynamicAmount : ownCharge(link) !== null
}

/**
 * The terms of the new invoice: what the old one asked for, or what its link charges now, at the price of the moment, and
 * at the rate of the moment where that was in another currency, with a window of its own.
 */
export function planReopening(
  invoice: Invoice,
  link: PaymentLink | null,
  market: Market,
  nowMs: number,
): InvoicePlan {
  const { alsoAccepts, tokenRates } = invoice
  const asset = tokenRates === null ? invoice.asset : DOLLARS
  const minutes = link === null ? market.rules.windowMinutes : windowMinutesOf(link, market.rules)
  return planInvoice(
    { ...requestedBy(invoice, link), asset, onAnyNetwork: alsoAccepts.length > 0 },
    { ...market, nowMs, expiresAtMs: nowMs + minutes * MS_PER_MINUTE },
  )
}

function requestedBy(
  { price, usdCents, amount, asset, amountSource }: Invoice,
  link: Pick<PaymentLink, 'usdCents' | 'price'> | null,
): RequestedTotal {
  // What the merchant charges now: an old invoice may not keep a price that they have changed.
  const current = link === null || amountSource === 'buyer' ? null : ownCharge(link)
  if (current !== null) return current
  if (price !== null) return { kind: 'price', price }
  if (usdCents !== null) return { kind: 'usd', usdAmount: formatUsd(usdCents) }
  return { kind: 'coin', amount: formatCoinAmount(amount, ASSETS[asset].decimals) }
}

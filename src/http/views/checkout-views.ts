import {
  type CheckoutSession,
  isReturnUrl,
  returnUrlOf,
  sessionStatus,
} from '../../core/checkout/checkout-session.ts'
import type { PaymentLink } from '../../core/checkout/payment-link.ts'
import { type InvoiceView, renderInvoice, renderPrice, renderRate } from '../../core/invoice/render.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { isoTime } from '../../core/iso-time.ts'
import { formatUsd } from '../../core/money.ts'
import { invoiceToken, sessionToken } from '../../secrets/checkout-token.ts'
import { RETURN_URL_LENGTH_MAX } from '../../wire/fields.ts'
import type { ApiDeps } from '../api/deps.ts'
import type { NetworkView } from '../api/network-states.ts'
import { ApiProblem } from '../api/problem.ts'

/** A payment link as the API shows it. */
export function paymentLinkViewOf(deps: Pick<ApiDeps, 'baseUrl'>, link: PaymentLink) {
  return {
    id: link.id,
    object: 'payment_link' as const,
    livemode: link.livemode,
    name: link.name,
    slug: link.slug,
    url: link.till === null ? linkUrl(deps, link) : `${deps.baseUrl}/till/${link.slug}`,
    usd_amount: link.usdCents === null ? null : formatUsd(link.usdCents),
    price: link.price,
    asset: link.asset,
    allow_dynamic_amount: link.allowDynamicAmount,
    buyer_amount:
      link.buyerAmount === null ? null : { ...link.buyerAmount, suggested: [...link.buyerAmount.suggested] },
    till:
      link.till === null ? null : { ...link.till, items: [...link.till.items], tips: [...link.till.tips] },
    duration_minutes: link.durationMinutes,
    active: link.active,
    created_at: isoTime(link.createdAtMs),
  }
}

/** A checkout session as the API shows it, with the secret link for its buyer. */
export function checkoutSessionViewOf(
  deps: Pick<ApiDeps, 'baseUrl' | 'keyring' | 'clock'>,
  found: { session: CheckoutSession; link: PaymentLink; invoice: Invoice | null },
  replayed = false,
) {
  const { session, link, invoice } = found
  const { merchantId, livemode, id: sessionId } = session
  const token = sessionToken(deps.keyring, { merchantId, livemode, sessionId }, session)
  return {
    id: session.id,
    object: 'checkout_session' as const,
    livemode: session.livemode,
    payment_link_id: session.paymentLinkId,
    order_reference: session.orderReference,
    return_url: session.returnUrl,
    usd_amount: formatUsd(session.usdCents),
    price: renderPrice(session.price),
    price_rate: renderRate(session.price?.rate ?? null),
    status: sessionStatus(session, invoice, deps.clock().getTime()),
    invoice_id: session.invoiceId,
    expires_at: isoTime(session.expiresAtMs),
    checkout_url: `${linkUrl(deps, link)}?checkout_token=${token}`,
    replayed,
    created_at: isoTime(session.createdAtMs),
  }
}

const linkUrl = (deps: Pick<ApiDeps, 'baseUrl'>, link: PaymentLink): string =>
  `${deps.baseUrl}/l/${link.slug}`

/** As long as every invoice's id. */
const ID_SHAPE = `inv_${'0'.repeat(26)}`

/** Throws the 400 for a page that no buyer is sent back to. */
export function refuseReturnUrl(url: string | undefined, livemode: boolean): void {
  if (url === undefined) return
  if (returnUrlOf(url, ID_SHAPE).length > RETURN_URL_LENGTH_MAX) {
    throw new ApiProblem('parameter_invalid', {
      param: 'return_url',
      message: `Must have at most ${RETURN_URL_LENGTH_MAX} characters with the invoice’s id in it.`,
    })
  }
  if (isReturnUrl(url, livemode)) return
  const own = livemode ? '' : ', or http on localhost in test mode'
  throw new ApiProblem('parameter_invalid', {
    param: 'return_url',
    message: `Must be a whole https URL without user name, password or blanks${own}.`,
  })
}

/** An invoice as the API shows it, with the secret link for its buyer. `linkNames`: of payment links, by id. */
export function invoiceViewOf(
  deps: Pick<ApiDeps, 'baseUrl' | 'keyring'>,
  networks: NetworkView,
  invoice: Invoice,
  linkNames: ReadonlyMap<string | null, string>,
): InvoiceView & { payment_link_name: string | null; checkout_url: string } {
  const { merchantId, livemode, id: invoiceId } = invoice
  const token = invoiceToken(deps.keyring, { merchantId, livemode, invoiceId })
  return {
    ...renderInvoice(invoice, networks.networkFacts),
    payment_link_name: linkNames.get(invoice.paymentLinkId) ?? null,
    checkout_url: `${deps.baseUrl}/i/${token}`,
  }
}

import type { PaymentPage, PaymentPageQuery } from '../core/checkout/checkout-pages.ts'
import { isSessionShown } from '../core/checkout/checkout-session.ts'
import { coinOffers } from '../core/checkout/coin-offers.ts'
import {
  chargeOf,
  dollars,
  namesCharge,
  type RequestedCharge,
  SLUG_PATTERN,
  windowMinutesOf,
} from '../core/checkout/payment-link.ts'
import type { Market } from '../core/invoice/market.ts'
import { findLinkOwner, loadPaymentLink } from '../db/checkout/payment-links.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { isSessionToken, readSessionToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { loadWholeSession } from './steps/load-session.ts'

type ReadPaymentPageDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly keyring: Keyring
  readonly marketOf: (tenant: Tenant) => Promise<Market>
}

const NEUTRAL: PaymentPage = { kind: 'neutral' }

/** What the page of a payment link or checkout session shows. Reads only: opening it makes nothing. */
export async function readPaymentPage(
  deps: ReadPaymentPageDeps,
  request: PaymentPageQuery,
): Promise<PaymentPage> {
  if (!SLUG_PATTERN.test(request.slug)) return NEUTRAL
  const { checkoutToken, slug, ...requested } = request
  if (checkoutToken === undefined) return readPlainLink(deps, slug, requested)
  // A session's total is the merchant's: a URL that names another beside it was changed.
  return namesCharge(requested) ? NEUTRAL : readSessionPage(deps, slug, checkoutToken)
}

async function readSessionPage(deps: ReadPaymentPageDeps, slug: string, token: string): Promise<PaymentPage> {
  const reference = readSessionToken(deps.keyring, token)
  if (reference === null) return NEUTRAL
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  const market = await deps.marketOf(tenant)
  return withTransaction(deps.pool, tenant, async (tx): Promise<PaymentPage> => {
    const found = await loadWholeSession(tx, tenant, reference.sessionId)
    if (found === null || found.link.slug !== slug) return NEUTRAL
    const { session, link, invoice } = found
    const nowMs = deps.clock().getTime()
    if (!isSessionToken(deps.keyring, token, reference, session)) return NEUTRAL
    if (!isSessionShown(session, invoice, nowMs)) return NEUTRAL
    if (invoice !== null) return { kind: 'invoice', tenant, invoiceId: invoice.id }
    return {
      kind: 'open',
      tenant,
      merchantName: await nameOf(tx, tenant),
      linkName: link.name,
      order: session.orderReference,
      usdCents: session.usdCents,
      price: session.price,
      takesAmount: false,
      buyerAmount: null,
      expiresAtMs: session.expiresAtMs,
      durationMinutes: windowMinutesOf(link, market.rules, session.requestedMinutes),
      ...coinOffers(market, dollars(session.usdCents), link.asset, nowMs),
    }
  })
}

async function readPlainLink(
  deps: ReadPaymentPageDeps,
  slug: string,
  requested: RequestedCharge,
): Promise<PaymentPage> {
  const owner = await findLinkOwner(deps.pool, slug)
  if (owner === null) return NEUTRAL
  const { tenant, linkId } = owner
  const market = await deps.marketOf(tenant)
  return withTransaction(deps.pool, tenant, async (tx): Promise<PaymentPage> => {
    const link = await loadPaymentLink(tx, tenant, linkId)
    if (link === null || !link.active || link.till !== null) return NEUTRAL
    const charge = chargeOf(link, requested, market.currencyRateOf)
    if (charge.kind === 'bad_amount' && !link.allowDynamicAmount) return { ...charge, tenant }
    const shop = { tenant, merchantName: await nameOf(tx, tenant), linkName: link.name }
    const { buyerAmount } = link
    if (charge.kind === 'bad_amount')
      return { kind: 'ask_amount', ...shop, reason: charge.reason, buyerAmount }
    return {
      kind: 'open',
      ...shop,
      order: null,
      usdCents: charge.usdCents,
      price: charge.charge.kind === 'price' ? charge.charge.price : null,
      takesAmount: link.allowDynamicAmount,
      buyerAmount,
      expiresAtMs: null,
      durationMinutes: windowMinutesOf(link, market.rules),
      ...coinOffers(market, charge.charge, link.asset, deps.clock().getTime()),
    }
  })
}

async function nameOf(tx: Parameters<typeof loadMerchantName>[0], tenant: Tenant): Promise<string> {
  const name = await loadMerchantName(tx, tenant.merchantId)
  if (name === null) throw new Error(`a link belongs to ${tenant.merchantId}, which does not exist`)
  return name
}

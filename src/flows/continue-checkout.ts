import { createHash } from 'node:crypto'
import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { AssetId } from '../core/assets.ts'
import type { Charge } from '../core/checkout/buyer-amount.ts'
import type { ContinuedCheckout, ContinueRequest } from '../core/checkout/checkout-pages.ts'
import { isSessionShown } from '../core/checkout/checkout-session.ts'
import { type AssetRefused, coinOffers } from '../core/checkout/coin-offers.ts'
import {
  type BadAmountReason,
  chargeOf,
  dollars,
  namesCharge,
  type PaymentLink,
  SLUG_PATTERN,
  windowMinutesOf,
} from '../core/checkout/payment-link.ts'
import { saleOf } from '../core/checkout/till.ts'
import type { Market } from '../core/invoice/market.ts'
import { type InvoicePlan, planInvoice } from '../core/invoice/plan.ts'
import { markAssetPicked } from '../db/checkout/card-purchases.ts'
import { setSessionInvoice } from '../db/checkout/checkout-sessions.ts'
import { findLinkOwner, loadPaymentLink } from '../db/checkout/payment-links.ts'
import { findInvoiceOfVisit, lockVisit, setInvoiceVisit } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { isSessionToken, readSessionToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { commitNewInvoice, type NewInvoiceDetails } from './steps/commit-new-invoice.ts'
import { loadWholeSession } from './steps/load-session.ts'
import type { OpenInvoiceLimit } from './steps/open-invoice-limit.ts'

const MS_PER_MINUTE = 60_000

type ContinueCheckoutDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly issuedAddresses: IssuedAddressCheck
  readonly openInvoices: OpenInvoiceLimit
  readonly serviceFeeBps: number
  readonly keyring: Keyring
  readonly marketOf: (tenant: Tenant) => Promise<Market>
  readonly notifier: { deliveriesWaiting(): void }
}

type Outcome = ContinuedCheckout & { readonly deliveries?: number }
const NEUTRAL: Outcome = { kind: 'neutral' }
const VISIT_PATTERN = /^[0-9A-Za-z]{22}$/

/**
 * The buyer presses Continue. A session becomes one invoice however often and however quickly that happens, with
 * the session's own deadline. A plain link becomes one invoice for each rendering of its page, which `visit` names: a
 * second press, a form sent again and a page gone back to lead to the invoice that the first press created, whatever
 * has become of it.
 */
export async function continueCheckout(
  deps: ContinueCheckoutDeps,
  request: ContinueRequest,
): Promise<ContinuedCheckout> {
  if (!SLUG_PATTERN.test(request.slug)) return NEUTRAL
  const { deliveries = 0, ...continued } = await outcomeOf(deps, request)
  if (deliveries > 0) deps.notifier.deliveriesWaiting()
  return continued
}

function outcomeOf(deps: ContinueCheckoutDeps, request: ContinueRequest): Promise<Outcome> {
  const { checkoutToken } = request
  if (checkoutToken === undefined) return continuePlainLink(deps, request)
  return namesCharge(request) ? Promise.resolve(NEUTRAL) : continueSession(deps, request, checkoutToken)
}

async function continueSession(
  deps: ContinueCheckoutDeps,
  request: ContinueRequest,
  token: string,
): Promise<Outcome> {
  const reference = readSessionToken(deps.keyring, token)
  if (reference === null) return NEUTRAL
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  const [market, isLimitReached] = await Promise.all([
    deps.marketOf(tenant),
    deps.openInvoices.isReached(tenant, 'shop'),
  ])
  return withTransaction(deps.pool, tenant, async (tx): Promise<Outcome> => {
    const found = await loadWholeSession(tx, tenant, reference.sessionId, { forUpdate: true })
    if (found === null || found.link.slug !== request.slug) return NEUTRAL
    const { session, link, invoice } = found
    const nowMs = deps.clock().getTime()
    if (!isSessionToken(deps.keyring, token, reference, session)) return NEUTRAL
    if (!isSessionShown(session, invoice, nowMs)) return NEUTRAL
    if (invoice !== null) return { kind: 'invoice', tenant, invoiceId: invoice.id }
    const total = dollars(session.usdCents)
    const asset = request.asset ?? link.asset
    if (asset === null) return NEUTRAL
    const planned = planFor(total, asset, market, nowMs, session.expiresAtMs)
    // The session has fixed the dollars of its price; the invoice shows both.
    const plan = planned.kind === 'planned' ? { ...planned, price: session.price } : planned
    const created = await makeInvoice(
      deps,
      tx,
      { tenant, market, isLimitReached, plan },
      {
        ...linkDetails(link),
        orderReference: session.orderReference,
        checkoutSessionId: session.id,
        returnUrl: session.returnUrl,
      },
    )
    if (created.kind === 'invoice' && !(await setSessionInvoice(tx, tenant, session.id, created.invoiceId)))
      throw new Error(`session ${session.id} was continued without holding its row`)
    await markPicked(tx, tenant, request, created)
    return created
  })
}

async function continuePlainLink(deps: ContinueCheckoutDeps, request: ContinueRequest): Promise<Outcome> {
  if (!VISIT_PATTERN.test(request.visit ?? '')) return { kind: 'no_visit' }
  const digest = createHash('sha256')
    .update(request.visit ?? '')
    .digest()
  const owner = await findLinkOwner(deps.pool, request.slug)
  if (owner === null) return NEUTRAL
  const { tenant, linkId } = owner
  const [market, isLimitReached] = await Promise.all([
    deps.marketOf(tenant),
    deps.openInvoices.isReached(tenant, 'buyer'),
  ])
  return withTransaction(deps.pool, tenant, async (tx): Promise<Outcome> => {
    const link = await loadPaymentLink(tx, tenant, linkId)
    // A till sells by its own page alone, and no other link's page sells like a till.
    if (link === null || !link.active || (link.till === null) !== (request.sale === undefined)) return NEUTRAL
    await lockVisit(tx, tenant, digest)
    const before = await findInvoiceOfVisit(tx, tenant, { paymentLinkId: linkId, digest })
    if (before !== null) return { kind: 'invoice', tenant, invoiceId: before }
    const asked = askedOf(link, request, market.currencyRateOf)
    if (asked.kind === 'bad_amount') return { ...asked, tenant }
    if (asked.kind !== 'charge') return asked
    const nowMs = deps.clock().getTime()
    const expiresAtMs = nowMs + windowMinutesOf(link, market.rules) * MS_PER_MINUTE
    const asset = request.asset ?? firstCoin(market, asked.charge, link.asset, nowMs)
    if (asset === null) return { kind: 'asset_unavailable', reason: 'asset_unavailable' }
    const plan = planFor(asked.charge, asset, market, nowMs, expiresAtMs)
    const created = await makeInvoice(
      deps,
      tx,
      { tenant, market, isLimitReached, plan },
      {
        ...linkDetails(link),
        ...asked.details,
      },
    )
    if (created.kind === 'invoice' && !(await setInvoiceVisit(tx, tenant, created.invoiceId, digest)))
      throw new Error(`invoice ${created.invoiceId} was made by two visits`)
    await markPicked(tx, tenant, request, created)
    return created
  })
}

type Asked =
  | {
      readonly kind: 'charge'
      readonly charge: Charge
      readonly details: Partial<Pick<NewInvoiceDetails, 'amountSource' | 'description' | 'metadata'>>
    }
  | { readonly kind: 'bad_amount'; readonly reason: BadAmountReason }
  | { readonly kind: 'sale_changed' | 'sale_refused' }

/** What a press asks for: what staff sold at a till, or what the link charges. */
function askedOf(link: PaymentLink, request: ContinueRequest, rateOf: Market['currencyRateOf']): Asked {
  if (link.till === null || request.sale === undefined) {
    const charged = chargeOf(link, request, rateOf)
    return charged.kind === 'bad_amount'
      ? charged
      : { kind: 'charge', charge: charged.charge, details: { amountSource: charged.amountSource } }
  }
  const sale = saleOf(link.till, request.sale)
  if (sale.kind !== 'sale') return { kind: sale.kind === 'changed' ? 'sale_changed' : 'sale_refused' }
  const { charge, description, metadata } = sale
  return { kind: 'charge', charge, details: { amountSource: 'merchant', description, metadata } }
}

/** The coin that a till begins with: the link's, else the merchant's, else the first that can be had. */
function firstCoin(market: Market, charge: Charge, wanted: AssetId | null, nowMs: number): AssetId | null {
  const { coins, defaultAsset } = coinOffers(market, charge, wanted, nowMs)
  const usable = coins.filter(({ available }) => available)
  // Where none can be had the usual one says why.
  return (usable.find(({ asset }) => asset === defaultAsset) ?? usable[0])?.asset ?? defaultAsset
}

async function markPicked(tx: Tx, tenant: Tenant, request: ContinueRequest, created: Outcome): Promise<void> {
  if (request.picked === true && created.kind === 'invoice')
    await markAssetPicked(tx, tenant, created.invoiceId)
}

const planFor = (
  charge: Charge,
  asset: AssetId,
  market: Market,
  nowMs: number,
  expiresAtMs: number,
): InvoicePlan => planInvoice({ ...charge, asset }, { ...market, nowMs, expiresAtMs })

/** The buyer chose the coin on the page and may choose again. */
const linkDetails = (link: PaymentLink): NewInvoiceDetails => ({
  allowAssetSelection: true,
  customerEmail: null,
  externalReference: null,
  description: null,
  metadata: null,
  paymentLinkId: link.id,
})

async function makeInvoice(
  {
    issuedAddresses,
    openInvoices,
    serviceFeeBps,
  }: Pick<ContinueCheckoutDeps, 'issuedAddresses' | 'openInvoices' | 'serviceFeeBps'>,
  tx: Tx,
  {
    tenant,
    market,
    isLimitReached,
    plan,
  }: {
    readonly tenant: Tenant
    readonly market: Market
    /** The merchant has as many open invoices as it may have. */
    readonly isLimitReached: boolean
    readonly plan: InvoicePlan
  },
  details: NewInvoiceDetails,
): Promise<Outcome> {
  const unavailable = (reason: AssetRefused['reason']): Outcome => ({ kind: 'asset_unavailable', reason })
  if (plan.kind === 'unavailable') return unavailable(plan.code)
  if (plan.kind === 'refused') {
    if (plan.code === 'parameter_invalid') throw new Error('a stored amount is no dollar amount')
    return unavailable(plan.code)
  }
  if (isLimitReached) return unavailable('asset_unavailable')
  const { networkFacts } = market
  const created = await commitNewInvoice(tx, {
    tenant,
    plan,
    details,
    networkFacts,
    issuedAddresses,
    serviceFeeBps,
    requestId: null,
  })
  if (created.kind === 'no_address') return unavailable('asset_unavailable')
  const { deliveries } = await created.written
  openInvoices.created(tenant, details.checkoutSessionId === undefined ? 'buyer' : 'shop')
  return { kind: 'invoice', tenant, invoiceId: created.invoice.id, deliveries }
}

import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { ASSET_IDS, type AssetId } from '../core/assets.ts'
import { type CardWaiting, cardAsset, cardWaiting } from '../core/card/card-purchase.ts'
import { isSessionShown } from '../core/checkout/checkout-session.ts'
import { type CoinOffer, coinOffers } from '../core/checkout/coin-offers.ts'
import {
  type BadAmountReason,
  chargeOf,
  type PaymentLink,
  SLUG_PATTERN,
  windowMinutesOf,
} from '../core/checkout/payment-link.ts'
import { parseId } from '../core/ids.ts'
import type { Market } from '../core/invoice/market.ts'
import type { NetworkFacts } from '../core/invoice/render.ts'
import { isReopenable } from '../core/invoice/reopen.ts'
import { isSwitchable } from '../core/invoice/switch.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { type Receipt, receiptOf } from '../core/receipt/receipt.ts'
import { loadBranding, loadLogo, type StoredBranding } from '../db/checkout/branding.ts'
import { loadCardStanding } from '../db/checkout/card-purchases.ts'
import { findLinkOwner, loadPaymentLink } from '../db/checkout/payment-links.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { isSessionToken, readInvoiceToken, readSessionToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { loadWholeSession } from './steps/load-session.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

type ReadCheckoutDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
  readonly clock: Clock
  readonly marketOf: (tenant: Tenant) => Promise<Market>
  /** Whether anybody sells a coin for cards in a mode. */
  readonly sellsForCards: (asset: AssetId, livemode: boolean) => boolean
}

/** What a buyer's page is made of. */
type CheckoutFacts = {
  readonly invoice: Invoice
  readonly merchantName: string
  readonly networkFacts: NetworkFacts
  /** What the buyer may pay with instead; empty where the coin is settled. */
  readonly otherCoins: readonly CoinOffer[]
  /** The buyer may have it again at the current price. */
  readonly reopenable: boolean
  /** What a card would buy, and what is known of the purchase that the buyer went away for. */
  readonly card: { readonly asset: AssetId | null; readonly waiting: CardWaiting | null }
}

/**
 * Reads what a checkout URL's token opens. Null for a token that was changed, made up, or whose invoice is not
 * there: the caller must not tell these apart. A token that opens nothing costs no query.
 */
export async function readCheckout(deps: ReadCheckoutDeps, token: string): Promise<CheckoutFacts | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return null
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  const found = await withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadShownInvoice(tx, tenant, reference.invoiceId, deps.issuedAddresses)
    const merchantName = await loadMerchantName(tx, tenant.merchantId)
    if (stored === null || merchantName === null) return null
    const { invoice } = stored
    const link = await linkToReopen(tx, tenant, invoice)
    // Where nobody sells for cards there is nothing to ask.
    const hasCards = ASSET_IDS.some((asset) => deps.sellsForCards(asset, tenant.livemode))
    const standing = hasCards ? await loadCardStanding(tx, tenant, invoice.id) : NO_STANDING
    return { invoice, merchantName, link, standing }
  })
  if (found === null) return null
  const { invoice, merchantName, link, standing } = found
  const market = await deps.marketOf(tenant)
  const nowMs = deps.clock().getTime()
  const otherCoins = otherCoinsOf(invoice, market, nowMs)
  const others = otherCoins.filter(({ available }) => available).map(({ asset }) => asset)
  const sells = (asset: AssetId) => deps.sellsForCards(asset, invoice.livemode)
  return {
    invoice,
    merchantName,
    networkFacts: market.networkFacts,
    otherCoins,
    reopenable: isReopenable(invoice, link, market.rules),
    card: {
      asset: cardAsset(invoice, { picked: standing.picked, others, sells }),
      waiting: cardWaiting(standing.left, invoice, nowMs),
    },
  }
}

const NO_STANDING = { picked: false, left: null }

/** The link of an expired invoice, which decides whether there can be another. */
async function linkToReopen(tx: Tx, tenant: Tenant, invoice: Invoice): Promise<PaymentLink | null> {
  if (invoice.expiredAtMs === null || invoice.paymentLinkId === null) return null
  return loadPaymentLink(tx, tenant, invoice.paymentLinkId)
}

function otherCoinsOf(invoice: Invoice, market: Market, nowMs: number): readonly CoinOffer[] {
  if (invoice.usdCents === null || !isSwitchable(invoice, nowMs)) return []
  const { coins } = coinOffers(market, invoice.usdCents, invoice.asset, nowMs)
  return coins.filter(({ asset }) => asset !== invoice.asset)
}

type ReadPaymentPageDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly keyring: Keyring
  readonly marketOf: (tenant: Tenant) => Promise<Market>
}

/** What a buyer's URL of a payment link says. */
type PaymentPageRequest = {
  readonly slug: string
  readonly checkoutToken?: string | undefined
  /** The amount of the compatibility mode, as it stands in the URL. */
  readonly usd?: string | undefined
}

type PaymentPage =
  /** Unknown, inactive, changed, swapped, expired or cancelled: one page, which does not say what of these. */
  | { readonly kind: 'neutral' }
  /** The buyer has continued before: the page is that invoice's. */
  | { readonly kind: 'invoice'; readonly tenant: Tenant; readonly invoiceId: string }
  | {
      readonly kind: 'bad_amount'
      readonly tenant: Tenant
      readonly merchantName: string
      readonly linkName: string
      readonly reason: BadAmountReason
    }
  | {
      readonly kind: 'open'
      readonly tenant: Tenant
      readonly merchantName: string
      readonly linkName: string
      readonly usdCents: bigint
      readonly amountSource: 'merchant' | 'buyer'
      /** Of a checkout session; null where the window begins with Continue. */
      readonly expiresAtMs: number | null
      readonly durationMinutes: number
      readonly defaultAsset: AssetId | null
      readonly coins: readonly CoinOffer[]
    }

const NEUTRAL: PaymentPage = { kind: 'neutral' }

/** What the page of a payment link or checkout session shows. Reads only: opening it makes nothing. */
export async function readPaymentPage(
  deps: ReadPaymentPageDeps,
  request: PaymentPageRequest,
): Promise<PaymentPage> {
  if (!SLUG_PATTERN.test(request.slug)) return NEUTRAL
  const { checkoutToken, usd, slug } = request
  if (checkoutToken === undefined) return readPlainLink(deps, slug, usd)
  // A session's total is the merchant's: a URL that names another beside it was changed.
  return usd === undefined ? readSessionPage(deps, slug, checkoutToken) : NEUTRAL
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
      usdCents: session.usdCents,
      amountSource: 'merchant',
      expiresAtMs: session.expiresAtMs,
      durationMinutes: windowMinutesOf(link, market.rules, session.askedMinutes),
      ...coinOffers(market, session.usdCents, link.asset, nowMs),
    }
  })
}

async function readPlainLink(
  deps: ReadPaymentPageDeps,
  slug: string,
  usd: string | undefined,
): Promise<PaymentPage> {
  const owner = await findLinkOwner(deps.pool, slug)
  if (owner === null) return NEUTRAL
  const { tenant, linkId } = owner
  const market = await deps.marketOf(tenant)
  return withTransaction(deps.pool, tenant, async (tx): Promise<PaymentPage> => {
    const link = await loadPaymentLink(tx, tenant, linkId)
    if (link === null || !link.active) return NEUTRAL
    const about = { tenant, merchantName: await nameOf(tx, tenant), linkName: link.name }
    const charge = chargeOf(link, usd)
    if (charge.kind === 'bad_amount') return { ...charge, ...about }
    return {
      kind: 'open',
      ...about,
      usdCents: charge.usdCents,
      amountSource: charge.amountSource,
      expiresAtMs: null,
      durationMinutes: windowMinutesOf(link, market.rules),
      ...coinOffers(market, charge.usdCents, link.asset, deps.clock().getTime()),
    }
  })
}

async function nameOf(tx: Parameters<typeof loadMerchantName>[0], tenant: Tenant): Promise<string> {
  const name = await loadMerchantName(tx, tenant.merchantId)
  if (name === null) throw new Error(`a link belongs to ${tenant.merchantId}, which does not exist`)
  return name
}

export type ReadReceiptDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
  /** Origin of the site, which says who issued it. */
  readonly baseUrl: string
}

/** The receipt of the paid invoice that a checkout token opens; null for everything else, whatever the reason. */
export function readReceipt(deps: ReadReceiptDeps, token: string): Promise<Receipt | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return Promise.resolve(null)
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  return withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadShownInvoice(tx, tenant, reference.invoiceId, deps.issuedAddresses)
    const merchantName = await loadMerchantName(tx, tenant.merchantId)
    if (stored === null || merchantName === null) return null
    return receiptOf(stored.invoice, merchantName, deps.baseUrl)
  })
}

/** How a merchant's pages look, in both modes. */
export function readBranding(pool: Pool, merchantId: string): Promise<StoredBranding> {
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadBranding(tx, merchantId))
}

/** A merchant's logo; null for an id that is none, a merchant without one, or a digest of another picture. */
export async function readLogo(
  pool: Pool,
  merchantId: string,
  digest: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (parseId('merchant', merchantId) === null) return null
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadLogo(tx, merchantId, digest))
}

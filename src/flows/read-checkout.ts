import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { ASSET_IDS, type AssetId } from '../core/assets.ts'
import { cardAsset, cardWaiting, isUnderWay } from '../core/card/card-purchase.ts'
import type { CheckoutFacts } from '../core/checkout/checkout-pages.ts'
import { type CoinOffer, coinOffers } from '../core/checkout/coin-offers.ts'
import { dollars } from '../core/checkout/payment-link.ts'
import type { Market } from '../core/invoice/market.ts'
import { isReopenable } from '../core/invoice/reopen.ts'
import { isAskedFor } from '../core/invoice/status.ts'
import { isSwitchable } from '../core/invoice/switch.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { loadCardProgress } from '../db/checkout/card-purchases.ts'
import { loadPaymentLink } from '../db/checkout/payment-links.ts'
import { hasReceiptRequest } from '../db/checkout/receipt-requests.ts'
import { findLiveX402Authorization } from '../db/invoices/x402-authorizations.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { readInvoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
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
  /** Whether there is a mail server for receipts. */
  readonly sendsReceipts: boolean
}

/**
 * Reads what a checkout URL's token opens. Null for a token that was changed, made up, or whose invoice is not
 * there: the caller must answer alike to all three. A token that opens nothing costs no query.
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
    const { paymentLinkId } = invoice
    const link = paymentLinkId === null ? null : await loadPaymentLink(tx, tenant, paymentLinkId)
    // Where nobody sells for cards there is nothing to ask.
    const hasCards = ASSET_IDS.some((asset) => deps.sellsForCards(asset, tenant.livemode))
    const progress = hasCards ? await loadCardProgress(tx, tenant, invoice.id) : NO_PROGRESS
    // By the invoice's own row, and only where it could be opened anew.
    const isExpired = deps.clock().getTime() > invoice.expiresAtMs && invoice.payments.length === 0
    const isCarried = isExpired && (await findLiveX402Authorization(tx, tenant, invoice.id)) !== null
    const mayRequest = deps.sendsReceipts && invoice.paidAtMs === null && invoice.cancelledAtMs === null
    const hasRequested = mayRequest && (await hasReceiptRequest(tx, tenant, invoice.id))
    return { invoice, merchantName, link, progress, isCarried, mayRequest, hasRequested }
  })
  if (found === null) return null
  const { invoice, merchantName, link, progress, isCarried, mayRequest, hasRequested } = found
  const market = await deps.marketOf(tenant)
  const nowMs = deps.clock().getTime()
  const waiting = cardWaiting(progress.left, invoice, nowMs)
  const bought = isUnderWay(waiting) ? waiting : null
  const otherCoins = otherCoinsOf(invoice, market, nowMs).filter(
    ({ asset }) => bought === null || bought.asset === asset,
  )
  const others = otherCoins.filter(({ available }) => available).map(({ asset }) => asset)
  const sells = (asset: AssetId) => deps.sellsForCards(asset, invoice.livemode)
  return {
    invoice,
    merchantName,
    linkName: link?.name ?? null,
    tillSlug: link === null || link.till === null ? null : link.slug,
    networkFacts: market.networkFacts,
    otherCoins,
    reopenable: bought === null && !isCarried && isReopenable(invoice, link, market.rules),
    card: {
      asset: bought !== null ? null : cardAsset(invoice, { picked: progress.picked, others, sells }),
      waiting,
    },
    receipt: !(mayRequest && market.rules.receiptEmails) ? null : hasRequested ? 'requested' : 'offered',
  }
}

const NO_PROGRESS = { picked: false, left: [] }

function otherCoinsOf(invoice: Invoice, market: Market, nowMs: number): readonly CoinOffer[] {
  if (invoice.usdCents === null || !isSwitchable(invoice, nowMs)) return []
  const { coins } = coinOffers(market, dollars(invoice.usdCents), invoice.asset, nowMs)
  return coins.filter(({ asset }) => !isAskedFor(invoice, asset))
}

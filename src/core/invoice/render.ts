import { ASSETS, type AssetId, COINS, type Network, networkOf } from '../assets.ts'
import { type ChainIdentity, paymentUri } from '../checkout/payment-uri.ts'
import { countOf } from '../finality.ts'
import { isoTime, isoTimeOrNull } from '../iso-time.ts'
import { formatCoinAmount, formatUsd } from '../money.ts'
import { addressOf } from './address-of.ts'
import { countPayments, dustOf, shownPayments } from './shown.ts'
import { amountsOf, deriveStatus, remainingIn, reviewReasonOf, statusReasonOf } from './status.ts'
import type { ChainReading, CurrencyAmount, Invoice, Payment, RateEvidence } from './types.ts'

/** What rendering needs to know about the networks, apart from the invoice. */
export type NetworkFacts = {
  /** Height of the network's tip as far as it was read; null where nothing is known. */
  tipHeightOf(network: Network): number | null
  /** How payment links name a test network that is not the public one. */
  readonly identityOf?: ChainIdentities | undefined
}

export type ChainIdentities = (network: Network) => ChainIdentity | undefined

export type InvoiceView = ReturnType<typeof renderInvoice>

/**
 * An invoice as merchants see it. The API adds the buyer's link, because its token is a secret and events are stored.
 */
export function renderInvoice(invoice: Invoice, networkFacts: NetworkFacts) {
  const { decimals } = ASSETS[invoice.asset]
  const amounts = amountsOf(invoice)
  const usdAmount = invoice.usdCents === null ? null : formatUsd(invoice.usdCents)
  const uriIn = (asset: AssetId) =>
    paymentUri({
      asset,
      livemode: invoice.livemode,
      address: addressOf(invoice, asset),
      // Of what is paid, the link is that of its amount.
      amount: remainingIn(amounts.remaining > 0n ? invoice : unpaid(invoice), asset),
      identity: networkFacts.identityOf?.(networkOf(asset, invoice.livemode)),
    })
  return {
    id: invoice.id,
    object: 'invoice' as const,
    livemode: invoice.livemode,
    status: deriveStatus(invoice),
    status_reason: statusReasonOf(invoice),
    review_reason: reviewReasonOf(invoice),
    usd_amount: usdAmount,
    price: renderPrice(invoice.price),
    price_rate: renderRate(invoice.price?.rate ?? null),
    amount_source: invoice.amountSource,
    asset: invoice.asset,
    amount: formatCoinAmount(invoice.amount, decimals),
    amount_detected: formatCoinAmount(amounts.detected, decimals),
    amount_confirmed: formatCoinAmount(amounts.confirmed, decimals),
    amount_remaining: formatCoinAmount(amounts.remaining, decimals),
    address: invoice.address,
    payment_uri: uriIn(invoice.asset),
    also_accepts: invoice.alsoAccepts.map((asset) => ({
      asset,
      payment_uri: uriIn(asset),
      address: addressOf(invoice, asset),
      amount_remaining: formatCoinAmount(remainingIn(invoice, asset), ASSETS[asset].decimals),
    })),
    rate: renderRate(invoice.rate),
    token_rates: renderTokenRates(invoice),
    allow_asset_selection: invoice.allowAssetSelection,
    customer_email: invoice.customerEmail,
    external_reference: invoice.externalReference,
    order_reference: invoice.orderReference,
    description: invoice.description,
    expected_usd_amount: invoice.amountSource === 'merchant' ? usdAmount : null,
    checkout_session_id: invoice.checkoutSessionId,
    payment_link_id: invoice.paymentLinkId,
    metadata: invoice.metadata,
    return_url: invoice.returnUrl,
    expires_at: isoTime(invoice.expiresAtMs),
    created_at: isoTime(invoice.createdAtMs),
    paid_at: isoTimeOrNull(invoice.paidAtMs),
    expiry_reading: renderReading(invoice),
    cancelled_at: isoTimeOrNull(invoice.cancelledAtMs),
    reopened_from: invoice.reopenedFrom,
    payments: shownPayments(invoice).map((payment) => renderPayment(payment, networkFacts)),
    payments_count: countPayments(invoice),
    dust: dustOf(invoice).map(({ asset, count, amount }) => ({
      asset,
      transfers_count: count,
      amount: formatCoinAmount(amount, COINS[asset].decimals),
    })),
  }
}

const unpaid = (invoice: Invoice): Invoice => ({ ...invoice, payments: [], blockSums: [] })

/** At what each token counts, where dollars of any issuer are asked for. */
function renderTokenRates({ tokenRates }: Invoice) {
  return Object.entries(tokenRates ?? {}).flatMap(([symbol, rate]) => {
    const rendered = renderRate(rate ?? null)
    return rendered === null ? [] : [{ symbol, ...rendered }]
  })
}

export const renderPrice = (price: CurrencyAmount | null): CurrencyAmount | null =>
  price === null ? null : { amount: price.amount, currency: price.currency }

export function renderRate(rate: RateEvidence | null) {
  if (rate === null) return null
  return {
    usd_per_unit: rate.usdPerUnit,
    quoted_at: rate.quotedAt,
    sources: rate.sources.map(({ name, usdPerUnit, at }) => ({ name, usd_per_unit: usdPerUnit, at })),
  }
}

/** Which blocks were read before the invoice was called unpaid, from whom, and until when. */
function renderReading({ expiryReading: reading }: Invoice) {
  if (reading === null) return null
  return {
    ...renderTip(reading),
    providers: [...reading.providers],
    others: (reading.others ?? []).map(renderTip),
  }
}

const renderTip = (reading: Omit<ChainReading, 'providers'>) => ({
  network: reading.network,
  tip_height: reading.tipHeight,
  tip_hash: reading.tipHash,
  read_at: isoTime(reading.readAtMs),
})

export function renderPayment(payment: Payment, networkFacts: NetworkFacts) {
  return {
    id: payment.id,
    asset: payment.asset,
    txid: payment.txid,
    output_index: payment.outputIndex,
    amount: formatCoinAmount(payment.amount, COINS[payment.asset].decimals),
    transfers_count: payment.transfers,
    status: payment.status,
    confirmations: confirmationsOf(payment, networkFacts.tipHeightOf(payment.network)),
    confirmations_required: countOf(payment.finality),
    finality: typeof payment.finality === 'number' ? ('blocks' as const) : payment.finality,
    late: payment.late,
    review_reason: payment.reviewReason,
    detected_at: isoTime(payment.detectedAtMs),
    confirmed_at: isoTimeOrNull(payment.confirmedAtMs),
  }
}

/** Blocks on top of and including the payment's own; at least what its status already proves. */
function confirmationsOf(payment: Payment, tipHeight: number | null): number {
  if (payment.block === null) return 0
  const proven = payment.status === 'confirmed' ? (countOf(payment.finality) ?? 1) : 1
  return Math.max(proven, tipHeight === null ? 0 : tipHeight - payment.block.height + 1)
}

import type { z } from 'zod'
import { ASSETS, COINS, isAssetId } from '../../core/assets.ts'
import { BTCPAY_KEY } from '../../core/invoice/translated.ts'
import { formatPrice, PRICE_UNIT, parsePrice, rateOf } from '../../core/money.ts'
import type { assetView } from '../../wire/account.ts'
import {
  type Invoice,
  type InvoiceSnapshot,
  isCovered,
  isObject,
  type Metadata,
  requestedPrice,
  TICKERS,
  tickerOf,
  unixSeconds,
} from '../invoice-facts.ts'

type Asset = z.output<typeof assetView>

/** Payments count for ten minutes after the deadline; later ones wait for the merchant. */
const MONITORING_MINUTES = 10

type GreenfieldStatus = {
  readonly status: 'New' | 'Processing' | 'Expired' | 'Invalid' | 'Settled'
  readonly additionalStatus: 'None' | 'PaidLate' | 'PaidPartial' | 'Marked' | 'PaidOver'
}

/** Our one status as Greenfield's two. `now` decides whether a partial payment can still be completed there. */
export function greenfieldStatusOf(invoice: InvoiceSnapshot, now: Date): GreenfieldStatus {
  switch (invoice.status) {
    case 'awaiting_payment':
      return { status: 'New', additionalStatus: 'None' }
    case 'payment_detected':
    case 'confirming':
      return isCovered(invoice)
        ? { status: 'Processing', additionalStatus: 'None' }
        : { status: 'New', additionalStatus: 'PaidPartial' }
    case 'partially_paid':
      return {
        status: Date.parse(invoice.expires_at) > now.getTime() ? 'New' : 'Expired',
        additionalStatus: 'PaidPartial',
      }
    case 'paid':
      return { status: 'Settled', additionalStatus: 'None' }
    case 'overpaid':
      return { status: 'Settled', additionalStatus: 'PaidOver' }
    case 'expired':
      return { status: 'Expired', additionalStatus: 'None' }
    case 'cancelled':
      return { status: 'Invalid', additionalStatus: 'Marked' }
    case 'manual_review':
      return reviewStatus(invoice)
    default:
      return invoice.status satisfies never
  }
}

/** Money that a person must decide on: late money never settles there either, and value that left its block may return. */
function reviewStatus(invoice: InvoiceSnapshot): GreenfieldStatus {
  if (invoice.review_reason === 'reorged') return { status: 'Processing', additionalStatus: 'None' }
  if (invoice.review_reason === 'cancelled') return { status: 'Invalid', additionalStatus: 'PaidLate' }
  return { status: 'Expired', additionalStatus: 'PaidLate' }
}

/** The shop's own metadata, without the key that the translation adds. */
export function ownMetadata(invoice: Pick<Invoice, 'metadata'>): Metadata {
  const { [BTCPAY_KEY]: _, ...own } = invoice.metadata ?? {}
  return own
}

/** An invoice as Greenfield's `InvoiceData`. */
export function invoiceData(invoice: Invoice, storeId: string, now: Date) {
  const kept = invoice.metadata?.[BTCPAY_KEY]
  const checkout = isObject(kept) ? kept : {}
  const [created, expires] = [unixSeconds(invoice.created_at), unixSeconds(invoice.expires_at)]
  return {
    id: invoice.id,
    storeId,
    ...(requestedPrice(invoice) ?? { amount: invoice.amount, currency: tickerOf(invoice.asset) }),
    type: 'Standard',
    checkoutLink: invoice.checkout_url,
    createdTime: created,
    expirationTime: expires,
    monitoringExpiration: expires + MONITORING_MINUTES * 60,
    ...greenfieldStatusOf(invoice, now),
    availableStatusesForManualMarking: markable(invoice),
    archived: false,
    metadata: ownMetadata(invoice),
    checkout: {
      redirectURL: checkout.redirectURL ?? null,
      redirectAutomatically: checkout.redirectAutomatically ?? false,
      defaultPaymentMethod: methodOf(invoice),
      paymentMethods: [methodOf(invoice)],
      expirationMinutes: Math.round((expires - created) / 60),
      monitoringMinutes: MONITORING_MINUTES,
      speedPolicy: 'MediumSpeed',
      paymentTolerance: 0,
      defaultLanguage: checkout.defaultLanguage ?? null,
    },
  }
}

/** Coins that came later to a ticker of another are named apart, `USDC-ETHEREUM`: the service's own USDC is that on Base. */
export const methodOf = ({ asset }: Pick<Invoice['payments'][number], 'asset'>): string => {
  const ticker = tickerOf(asset)
  const isLater = isAssetId(asset) && !ASSETS[asset].isOnByDefault && TICKERS[ticker] !== asset
  return `${ticker}-${isLater ? COINS[asset].chain.toUpperCase() : 'CHAIN'}`
}

/** The statuses that `POST …/status` accepts for this invoice now. */
function markable({ status }: Invoice): string[] {
  if (status === 'awaiting_payment' || status === 'expired') return ['Invalid']
  return ['partially_paid', 'overpaid', 'manual_review'].includes(status) ? ['Settled'] : []
}

/** The coins that an invoice may name, the default coin first: as BTCPay 1 has them, by name, and each as BTCPay 2 has it. */
export function storePaymentMethods(assets: readonly Asset[]) {
  const accepted = new Map(assets.map((one) => [one.asset, one]))
  const methods = Object.values(TICKERS).flatMap((asset) => accepted.get(asset) ?? [])
  methods.sort((one, other) => Number(other.is_default) - Number(one.is_default))
  return Object.fromEntries(
    methods.map((one) => {
      const id = methodOf(one)
      const cryptoCode = tickerOf(one.asset)
      return [id, { paymentMethodId: id, cryptoCode, enabled: true, data: {}, config: {} }]
    }),
  )
}

const PAYMENT_STATUS = {
  detected: 'Processing',
  confirming: 'Processing',
  confirmed: 'Settled',
  replaced: 'Invalid',
  reorged: 'Invalid',
} as const

/** The invoice's present coin and what was paid in it, as Greenfield's one payment method. */
export function paymentMethods(invoice: Invoice) {
  const method = methodOf(invoice)
  const { symbol } = ASSETS[invoice.asset]
  const sameCoin = (invoice.also_accepts ?? []).filter(({ asset }) => ASSETS[asset].symbol === symbol)
  const addresses = new Map<string, string>([
    ...sameCoin.map(({ asset, address }): [string, string] => [asset, address]),
    [invoice.asset, invoice.address],
  ])
  return [
    {
      paymentMethodId: method,
      // The name of the same field in older versions of Greenfield.
      paymentMethod: method,
      currency: tickerOf(invoice.asset),
      cryptoCode: tickerOf(invoice.asset),
      destination: invoice.address,
      paymentLink: invoice.payment_uri,
      rate: rateIn(invoice),
      paymentMethodPaid: invoice.amount_detected,
      totalPaid: invoice.amount_detected,
      due: invoice.amount_remaining,
      amount: invoice.amount,
      networkFee: '0',
      activated: true,
      // A value has no coin of its own there: one in another coin would be read as so many of this one.
      payments: invoice.payments.flatMap((payment) => {
        const address = addresses.get(payment.asset)
        return address === undefined ? [] : [paymentData(payment, address)]
      }),
    },
  ]
}

/** What one coin costs in the invoice's own currency. */
function rateIn({ rate, price_rate }: Invoice): string {
  const dollarsPer = (each: Invoice['rate']) => parsePrice(each?.usd_per_unit ?? '1') ?? PRICE_UNIT
  return formatPrice(rateOf(dollarsPer(rate), dollarsPer(price_rate)))
}

export const paymentData = (payment: Invoice['payments'][number], destination: string) => ({
  id: `${payment.txid}-${payment.output_index}`,
  receivedDate: unixSeconds(payment.detected_at),
  value: payment.amount,
  fee: '0',
  status: PAYMENT_STATUS[payment.status],
  destination,
})

import { COINS, isAssetId } from '../assets.ts'
import { canonicalJson, isPlainNumber } from '../canonical-json.ts'
import { addressOf } from '../invoice/address-of.ts'
import { renderInvoice } from '../invoice/render.ts'
import { deriveStatus, isCounting } from '../invoice/status.ts'
import type { Invoice, Payment } from '../invoice/types.ts'
import { isoTime } from '../iso-time.ts'
import { formatCoinAmount } from '../money.ts'

/** Names the form of a receipt, and stands before its canonical JSON in what is signed. */
const RECEIPT_FORMAT = 'paylink-receipt/1'

export type Receipt = NonNullable<ReturnType<typeof receiptOf>>

/**
 * What a paid invoice's receipt says; null while it is not paid. The same invoice gives the same receipt each time:
 * no time of issue, no confirmations. It is passed on, so nothing in it is the merchant's alone, such as metadata, an
 * external reference or an email address; nor is a link's name, which can be changed.
 */
export function receiptOf(
  invoice: Invoice,
  merchantName: string,
  by: { readonly baseUrl: string; readonly staging?: boolean },
) {
  const status = deriveStatus(invoice)
  if (status !== 'paid' && status !== 'overpaid') return null
  const view = renderInvoice(invoice, { tipHeightOf: () => null })
  return {
    format: RECEIPT_FORMAT,
    issuer: by.baseUrl,
    merchant: { id: invoice.merchantId, name: merchantName },
    livemode: view.livemode,
    // Of no live money, whatever its mode says.
    ...(by.staging === true ? { staging: true } : {}),
    invoice_id: view.id,
    order_reference: view.order_reference,
    // Left out where there is none, as the price: receipts of before keep every byte.
    ...(view.description === null ? {} : { description: view.description }),
    status,
    usd_amount: view.usd_amount,
    // So are prices.
    ...(view.price === null ? {} : { price: view.price, price_rate: view.price_rate }),
    asset: view.asset,
    amount: view.amount,
    amount_paid: view.amount_confirmed,
    address: view.address,
    rate: view.rate,
    // So are the rates of several tokens.
    ...(view.token_rates.length === 0 ? {} : { token_rates: view.token_rates }),
    created_at: view.created_at,
    expires_at: view.expires_at,
    paid_at: view.paid_at,
    payments: invoice.payments
      .filter((payment) => isCounting(invoice, payment) && payment.status === 'confirmed')
      .map((payment) => ({ ...paymentOf(payment), ...otherAddressOf(invoice, payment) })),
  }
}

/** What is signed: the format's name, a line feed, the receipt's canonical JSON, in UTF-8. */
export const signedText = (receipt: unknown): string =>
  `${RECEIPT_FORMAT}\n${canonicalJson(receipt, isPlainNumber)}`

/** The address that got it, where that is not the invoice's own. */
function otherAddressOf(invoice: Invoice, { asset }: Payment) {
  const address = isAssetId(asset) ? addressOf(invoice, asset) : ''
  return address === '' || address === invoice.address ? {} : { address }
}

function paymentOf(payment: Payment) {
  const { block } = payment
  return {
    network: payment.network,
    txid: payment.txid,
    output_index: payment.outputIndex,
    asset: payment.asset,
    amount: formatCoinAmount(payment.amount, COINS[payment.asset].decimals),
    block: block === null ? null : { height: block.height, hash: block.hash, time: isoTime(block.timeMs) },
    first_seen_at: isoTime(payment.firstSeenMs),
    confirmed_at: payment.confirmedAtMs === null ? null : isoTime(payment.confirmedAtMs),
  }
}

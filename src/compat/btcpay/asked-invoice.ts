import {
  type AssetName,
  coinsOf,
  emailOf,
  isObject,
  type Metadata,
  referenceOf,
  returnUrlOf,
  TICKERS,
  usdOf,
} from '../invoice-facts.ts'

/** The metadata key under which an invoice keeps Greenfield's `checkout` object; hidden from the shop's own metadata. */
export const CHECKOUT_KEY = 'btcpay_checkout'

export type Fault = { readonly path: string; readonly message: string }
export type Asked =
  | { readonly kind: 'asked'; readonly body: Metadata }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }

/** Translates Greenfield's `CreateInvoiceRequest` to the body of our `POST /invoices`. */
export function askedInvoice(fields: Metadata): Asked {
  const { currency = 'USD', amount } = fields
  const metadata = isObject(fields.metadata) ? fields.metadata : {}
  const checkout = isObject(fields.checkout) ? fields.checkout : {}
  const total = totalOf(currency, amount)
  const coins = coinsAccepted(checkout)
  const faults = [...('path' in total ? [total] : []), ...('path' in coins ? [coins] : [])]
  if ('path' in total || 'path' in coins) return { kind: 'refused', faults }
  const isFixed = 'amount' in total
  return {
    kind: 'asked',
    body: {
      ...total,
      ...(isFixed || coins.first === undefined ? {} : { asset: coins.first }),
      ...(isFixed ? {} : { allow_asset_selection: coins.hasChoice }),
      customer_email: emailOf(metadata.buyerEmail),
      external_reference: referenceOf(metadata.orderId),
      return_url: returnPage(checkout.redirectURL, metadata.orderId),
      metadata: { ...metadata, [CHECKOUT_KEY]: checkout },
    },
  }
}

/** Fills in the order id. A URL with the invoice's id is dropped: that id is not known yet. */
function returnPage(url: unknown, orderId: unknown): string | undefined {
  if (typeof url !== 'string' || url.includes('{InvoiceId}')) return undefined
  return returnUrlOf(url.replaceAll('{OrderId}', encodeURIComponent(referenceOf(orderId) ?? '')))
}

type Total = { readonly usd_amount: string } | { readonly amount: string; readonly asset: AssetName }

function totalOf(currency: unknown, amount: unknown): Total | Fault {
  if (amount === undefined || amount === null)
    return { path: 'amount', message: 'An invoice without an amount is not covered: see the coverage table.' }
  const ticker = typeof currency === 'string' ? currency.toUpperCase() : ''
  if (ticker === 'USD') {
    const usd = usdOf(amount)
    return usd === null
      ? { path: 'amount', message: 'Must be dollars, such as "49.99".' }
      : { usd_amount: usd }
  }
  const asset = Object.hasOwn(TICKERS, ticker) ? TICKERS[ticker] : undefined
  if (asset === undefined)
    return { path: 'currency', message: `Must be USD, or one of ${Object.keys(TICKERS).join(', ')}.` }
  const coins = coinsOf(amount)
  return coins === null ? { path: 'amount', message: 'Must be a decimal amount.' } : { amount: coins, asset }
}

/** `BTC`, `BTC-CHAIN` or `BTC-OnChain`. Lightning is not supported. */
const METHOD = /^([A-Z]{2,6})(?:[-_](?:CHAIN|OnChain))?$/i

const assetOf = (method: unknown): AssetName | undefined => {
  const ticker = (typeof method === 'string' ? METHOD.exec(method)?.[1] : undefined)?.toUpperCase() ?? ''
  return Object.hasOwn(TICKERS, ticker) ? TICKERS[ticker] : undefined
}

/** Which coin the buyer begins with, and whether another may be chosen. */
function coinsAccepted(
  checkout: Metadata,
): { readonly first: AssetName | undefined; readonly hasChoice: boolean } | Fault {
  const preferred = assetOf(checkout.defaultPaymentMethod)
  const { paymentMethods } = checkout
  if (!Array.isArray(paymentMethods) || paymentMethods.length === 0)
    return { first: preferred, hasChoice: true }
  const [first, ...others] = paymentMethods.map(assetOf).filter((asset) => asset !== undefined)
  if (first === undefined)
    return { path: 'checkout.paymentMethods', message: 'None of these is a coin of Paylink.' }
  return { first: preferred ?? first, hasChoice: others.length > 0 }
}

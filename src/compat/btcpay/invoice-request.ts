import type { AssetId } from '../../core/assets.ts'
import { INVOICE_ID_PLACEHOLDER } from '../../core/checkout/checkout-session.ts'
import { BTCPAY_KEY } from '../../core/invoice/translated.ts'
import { CURRENCIES } from '../../core/rates/currencies.ts'
import {
  coinsOf,
  descriptionOf,
  isObject,
  type Metadata,
  TICKERS,
  type Total,
  textOf,
  totalIn,
} from '../invoice-facts.ts'

export type Fault = { readonly path: string; readonly message: string }
export type Translated =
  | { readonly kind: 'translated'; readonly body: Metadata }
  | { readonly kind: 'refused'; readonly faults: readonly Fault[] }

/** Translates Greenfield's `CreateInvoiceRequest` to the body of our `POST /invoices`. */
export function invoiceRequest(fields: Metadata): Translated {
  const { currency = 'USD', amount, metadata = null, checkout: given = null } = fields
  const checkout = isObject(given) ? given : {}
  const total = totalOf(currency, amount)
  const coins = coinsAccepted(checkout)
  const { redirectURL } = checkout
  const faults = [
    ...('path' in total ? [total] : []),
    ...(Array.isArray(coins) ? coins : []),
    ...Object.entries({ metadata, checkout: given })
      .filter(([, value]) => value !== null && !isObject(value))
      .map(([path]) => ({ path, message: 'Must be an object.' })),
  ]
  if ('path' in total || Array.isArray(coins) || faults.length > 0) return { kind: 'refused', faults }
  const isFixed = 'amount' in total
  const own = isObject(metadata) ? metadata : {}
  return {
    kind: 'translated',
    body: {
      ...total,
      ...(isFixed || coins.first === undefined ? {} : { asset: coins.first }),
      ...(isFixed ? {} : { allow_asset_selection: coins.hasChoice }),
      customer_email: textOf(own.buyerEmail),
      external_reference: textOf(own.orderId),
      description: descriptionOf(own.itemDesc),
      return_url: returnPage(redirectURL, own.orderId),
      metadata: { ...own, [BTCPAY_KEY]: checkout },
    },
  }
}

/** The fields of our `POST /invoices` by the names that a shop gave them, for what our API says of them. */
export const FIELDS: { readonly [param: string]: string } = {
  usd_amount: 'amount',
  'price.amount': 'amount',
  'price.currency': 'currency',
  asset: 'amount',
  customer_email: 'metadata.buyerEmail',
  external_reference: 'metadata.orderId',
  return_url: 'checkout.redirectURL',
}

const returnPage = (url: unknown, orderId: unknown): unknown =>
  typeof url === 'string'
    ? textOf(
        url
          .replaceAll('{OrderId}', encodeURIComponent(asText(textOf(orderId) ?? '')))
          .replaceAll('{InvoiceId}', INVOICE_ID_PLACEHOLDER),
      )
    : textOf(url)

/** Never `String`: an object of the caller's may name a `toString` that is no function. */
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

function totalOf(
  currency: unknown,
  amount: unknown,
): Total | { readonly amount: string; readonly asset: AssetId } | Fault {
  if (amount === undefined || amount === null)
    return { path: 'amount', message: 'An invoice without an amount is not covered: see the coverage table.' }
  const ticker = typeof currency === 'string' ? currency.toUpperCase() : ''
  const total = totalIn(ticker, amount)
  if (total === null) return { path: 'amount', message: 'Must be an amount, such as "49.99".' }
  if (total !== undefined) return total
  const asset = Object.hasOwn(TICKERS, ticker) ? TICKERS[ticker] : undefined
  if (asset === undefined)
    return {
      path: 'currency',
      message: `Must be USD, or one of ${[...CURRENCIES, ...Object.keys(TICKERS)].join(', ')}.`,
    }
  const coins = coinsOf(amount)
  return coins === null ? { path: 'amount', message: 'Must be a decimal amount.' } : { amount: coins, asset }
}

/** `BTC`, `BTC-CHAIN` or `BTC-OnChain`. Lightning is not supported. */
const METHOD = /^([A-Z]{2,6})(?:[-_](?:CHAIN|OnChain))?$/i

const assetOf = (method: unknown): AssetId | undefined => {
  const ticker = (typeof method === 'string' ? METHOD.exec(method)?.[1] : undefined)?.toUpperCase() ?? ''
  return Object.hasOwn(TICKERS, ticker) ? TICKERS[ticker] : undefined
}

/** Which coin the buyer begins with, and whether another may be chosen; what is no coin of ours is a fault, whatever stands beside it. */
function coinsAccepted(
  checkout: Metadata,
): { readonly first: AssetId | undefined; readonly hasChoice: boolean } | Fault[] {
  const preferred = textOf(checkout.defaultPaymentMethod)
  const listed: unknown = checkout.paymentMethods ?? []
  const [path, preferredPath] = ['checkout.paymentMethods', 'checkout.defaultPaymentMethod']
  if (!Array.isArray(listed)) return [{ path, message: 'Must be a list.' }]
  const methods = listed as readonly unknown[]
  const named = [
    ...methods.map((method) => ({ path, method })),
    ...(preferred === undefined ? [] : [{ path: preferredPath, method: preferred }]),
  ]
  const faults = named
    .filter(({ method }) => assetOf(method) === undefined)
    .map((one) => ({ path: one.path, message: `${asText(one.method)} is no coin of Paylink.` }))
  if (faults.length > 0) return faults
  const first = assetOf(preferred) ?? assetOf(methods[0])
  return { first, hasChoice: methods.length !== 1 }
}

/**
 * The metadata keys under which an invoice keeps what an older service's shop said of it: BTCPay's `checkout` object, and
 * a charge's own fields at Coinbase Commerce. Both are hidden from the shop's own metadata.
 */
export const BTCPAY_KEY = 'btcpay_checkout'
export const COMMERCE_KEY = 'coinbase_commerce_charge'

/** Whether an older service's API made the invoice: its shop finds an order by this invoice's id alone. */
export const isTranslated = ({ metadata }: { readonly metadata: object | null }): boolean =>
  metadata !== null && (Object.hasOwn(metadata, BTCPAY_KEY) || Object.hasOwn(metadata, COMMERCE_KEY))

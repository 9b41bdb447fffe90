/** The token under which Nest provides the options. */
export const PAYLINK_OPTIONS = Symbol('PAYLINK_OPTIONS')

export type PaylinkPluginOptions = {
  /** Your Paylink server, such as `https://pay.shop.example`. */
  readonly url: string
  /** An API key with `invoices:read` and `invoices:write`. Its mode, test or live, is the shop's. */
  readonly apiKey: string
  /** The signing secret of the webhook endpoint at `/payments/paylink`, `whsec_…`. */
  readonly webhookSecret: string
  /** The page of an order, to which the payment page's button leads back. No button unless given. */
  readonly returnUrl?: (orderCode: string) => string
}

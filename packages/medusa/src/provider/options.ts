export type PaylinkOptions = {
  /** Your Paylink server, such as `https://pay.shop.example`. */
  readonly url: string
  /** An API key with `invoices:read` and `invoices:write`. Its mode, test or live, is the shop's. */
  readonly apiKey: string
  /** The signing secret of the webhook endpoint at `/hooks/paylink`, `whsec_…`. */
  readonly webhookSecret: string
  /** Your page to which the payment page's button leads back. No button unless given. */
  readonly returnUrl?: string
}

let current: PaylinkOptions | null = null

/** Medusa gives the options to the provider alone: this keeps them for the webhook's route in the same process. */
export function keepOptions(options: PaylinkOptions): void {
  current = options
}

export function paylinkOptions(): PaylinkOptions {
  if (current === null) throw new Error('the payment provider of paylink-medusa is not configured')
  return current
}

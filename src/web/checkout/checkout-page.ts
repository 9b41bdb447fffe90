import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import type { Language } from './language.ts'

/** All that a page is drawn from. */
export type CheckoutPage = {
  readonly view: CheckoutView
  readonly merchantName: string
  readonly language: Language
  /** The token of the page's own URL, for its forms. */
  readonly token: string
  /** The sandbox can pay this invoice: the page shows its panel. */
  readonly sandbox: boolean
  /** The last thing asked of the sandbox failed. */
  readonly sandboxFailed: boolean
}

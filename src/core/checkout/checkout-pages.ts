import type { AssetId } from '../assets.ts'
import type { CardWaiting } from '../card/card-purchase.ts'
import type { CardProviderId } from '../card/onramp-provider.ts'
import type { NetworkFacts } from '../invoice/render.ts'
import type { SwitchPlan } from '../invoice/switch.ts'
import type { CurrencyAmount, Invoice } from '../invoice/types.ts'
import type { Tenant } from '../tenant.ts'
import type { BuyerAmount } from './buyer-amount.ts'
import type { AssetRefused, CoinOffer } from './coin-offers.ts'
import type { BadAmountReason, RequestedCharge } from './payment-link.ts'
import type { SaleRequest } from './till.ts'

/** What the flows give the buyers' pages, and what the pages ask them for. */

export type OwnInvoice = { readonly tenant: Tenant; readonly invoiceId: string }
/** A card purchase of that invoice. */
export type OwnPurchase = OwnInvoice & { readonly purchaseId: string }
/** The invoice that a press made, or that an earlier one made. */
type CreatedInvoice = OwnInvoice & { readonly kind: 'invoice' }

/** What an invoice's page is made of. */
export type CheckoutFacts = {
  readonly invoice: Invoice
  readonly merchantName: string
  /** The name of the payment link that it came from; null where it came from none. */
  readonly linkName: string | null
  /** The slug of that link where it is a till. */
  readonly tillSlug: string | null
  readonly networkFacts: NetworkFacts
  /** What the buyer may pay with instead; empty where the coin is settled. */
  readonly otherCoins: readonly CoinOffer[]
  /** The buyer may have it again at the current price. */
  readonly reopenable: boolean
  /** What a card would buy, null where nothing or already bought; and the purchase that the buyer went away for. */
  readonly card: { readonly asset: AssetId | null; readonly waiting: CardWaiting | null }
  /** Whether the buyer may ask for the receipt by email, or has; null where the page does not speak of it. */
  readonly receipt: 'offered' | 'requested' | null
}

/** What a buyer's URL of a payment link says. */
export type PaymentPageQuery = RequestedCharge & {
  readonly slug: string
  readonly checkoutToken?: string | undefined
}

/** What such a URL opens. */
export type PaymentPage =
  /** Unknown, inactive, changed, swapped, expired or cancelled: one page, which does not say what of these. */
  | { readonly kind: 'neutral' }
  /** The buyer has continued before: the page is that invoice's. */
  | CreatedInvoice
  | { readonly kind: 'bad_amount'; readonly tenant: Tenant; readonly reason: BadAmountReason }
  /** The buyer says how much: the URL names no amount, or one that cannot be paid. */
  | {
      readonly kind: 'ask_amount'
      readonly tenant: Tenant
      readonly merchantName: string
      readonly linkName: string
      readonly reason: BadAmountReason
      readonly buyerAmount: BuyerAmount | null
    }
  | {
      readonly kind: 'open'
      readonly tenant: Tenant
      readonly merchantName: string
      readonly linkName: string
      /** The shop's own number of a session's order; null for a plain link. */
      readonly order: string | null
      /** Null while the price's currency has no rate. */
      readonly usdCents: bigint | null
      /** What is charged in another currency; null where dollars are. */
      readonly price: CurrencyAmount | null
      /** The buyer may pay another amount. */
      readonly takesAmount: boolean
      readonly buyerAmount: BuyerAmount | null
      /** Of a checkout session; null where the window begins with Continue. */
      readonly expiresAtMs: number | null
      readonly durationMinutes: number
      readonly defaultAsset: AssetId | null
      readonly coins: readonly CoinOffer[]
    }

/** The buyer presses Continue. */
export type ContinueRequest = PaymentPageQuery & {
  /** The random words of the page that was pressed. A session needs none. */
  readonly visit?: string | undefined
  /** Null: the link's own, or the first that can be had. */
  readonly asset: AssetId | null
  /** The buyer chose this very coin over the one that the page began with. */
  readonly picked?: boolean
  /** What staff sell at a till; the page of no other link. */
  readonly sale?: SaleRequest
}

/** What that came to. */
export type ContinuedCheckout =
  | Exclude<PaymentPage, { kind: 'open' | 'ask_amount' }>
  /** A press on a plain link that names no page of ours. */
  | { readonly kind: 'no_visit' }
  /** The till has other prices than its page showed; or nothing, or no amount, was sold. */
  | { readonly kind: 'sale_changed' | 'sale_refused' }
  | AssetRefused

export type SwitchRequest = OwnInvoice & {
  readonly asset: AssetId
  /** The buyer chose this very coin, and did not only press for a card. */
  readonly picked?: boolean
}

export type SwitchedAsset =
  | { readonly kind: 'switched' | 'not_found' }
  | Exclude<SwitchPlan, { kind: 'switch' }>

export type ReopenedInvoice =
  | CreatedInvoice
  | AssetRefused
  | { readonly kind: 'not_reopenable' | 'not_found' }

export type CardOffersOutcome = { readonly kind: 'offered' | 'closed' | 'too_often' | 'not_found' }

export type LeftForCard =
  | { readonly kind: 'left'; readonly provider: CardProviderId; readonly url: string }
  /** The offer is over, was never this invoice's, or is not what is to pay any more. */
  | { readonly kind: 'over' }

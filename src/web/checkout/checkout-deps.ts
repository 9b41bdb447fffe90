import type { AssetId } from '../../core/assets.ts'
import type { CardPurchase, CardWaiting } from '../../core/card/card-purchase.ts'
import type { CardProviderId } from '../../core/card/onramp-provider.ts'
import type { TestCardOutcome } from '../../core/card/test-cards.ts'
import type { CoinFault, CoinOffer } from '../../core/checkout/coin-offers.ts'
import type { NetworkFacts } from '../../core/invoice/render.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import type { Tenant } from '../../core/tenant.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Branding } from './branding.ts'
import type { Scenario } from './test-panel.tsx'

/** What a token opens: an invoice, its shop, and what the buyer may still do. */
export type CheckoutFacts = {
  readonly invoice: Invoice
  readonly merchantName: string
  readonly networkFacts: NetworkFacts
  /** Empty where the coin cannot be changed. */
  readonly otherCoins: readonly CoinOffer[]
  readonly reopenable: boolean
  /** What a card would buy, null where nothing; and the purchase that the buyer went away for. */
  readonly card: { readonly asset: AssetId | null; readonly waiting: CardWaiting | null }
}

/** What a payment link's URL opens. */
export type PaymentPageFacts =
  | { readonly kind: 'neutral' }
  | { readonly kind: 'invoice'; readonly tenant: Tenant; readonly invoiceId: string }
  | { readonly kind: 'bad_amount'; readonly tenant: Tenant }
  | {
      readonly kind: 'open'
      readonly tenant: Tenant
      readonly merchantName: string
      readonly linkName: string
      readonly usdCents: bigint
      readonly expiresAtMs: number | null
      readonly durationMinutes: number
      readonly defaultAsset: AssetId | null
      readonly coins: readonly CoinOffer[]
    }

export type PaymentPageQuery = {
  readonly slug: string
  readonly checkoutToken?: string | undefined
  readonly usd?: string | undefined
}

type MadeInvoice = { readonly kind: 'invoice'; readonly tenant: Tenant; readonly invoiceId: string }
type AssetRefused = { readonly kind: 'asset_unavailable'; readonly reason: CoinFault | 'asset_not_accepted' }
type OwnInvoice = { readonly tenant: Tenant; readonly invoiceId: string }
type OwnPurchase = OwnInvoice & { readonly purchaseId: string }

/** Buying the invoice's coin by card, at a provider. */
export type CardOnramps = {
  sells(asset: AssetId, livemode: boolean): boolean
  /** Asks the providers for offers; a repeated press asks no provider again. `path` leads back to the page. */
  ask(
    request: OwnInvoice & { readonly place: string; readonly headers: Headers; readonly path: string },
  ): Promise<{ readonly kind: 'asked' | 'closed' | 'too_often' | 'not_found' }>
  /** Reads only. */
  offers(invoice: OwnInvoice): Promise<readonly CardPurchase[]>
  leave(
    purchase: OwnPurchase,
  ): Promise<
    | { readonly kind: 'left'; readonly provider: CardProviderId; readonly url: string }
    | { readonly kind: 'over' }
  >
  /** The sandbox's card page: present in test mode, where a sandbox chain can send the coins. */
  readonly test?: {
    read(purchase: OwnPurchase): Promise<CardPurchase | null>
    /** Once for each purchase, however often it is pressed. */
    play(
      purchase: OwnPurchase & { readonly outcome: TestCardOutcome },
    ): Promise<'played' | 'failed' | 'not_found'>
  }
}

export type CheckoutDeps = {
  readonly clock: Clock
  readonly log: { error(details: object, message: string): void }
  /** Null for a token that opens nothing, whatever the reason. Throws if the database cannot be reached. */
  readonly readCheckout: (token: string) => Promise<CheckoutFacts | null>
  /** Reads only: opening a payment link makes nothing. */
  readonly readPaymentPage: (query: PaymentPageQuery) => Promise<PaymentPageFacts>
  readonly continueCheckout: (
    query: PaymentPageQuery & {
      readonly visit?: string | undefined
      readonly asset: AssetId
      readonly picked?: boolean
    },
  ) => Promise<MadeInvoice | AssetRefused | { readonly kind: 'neutral' | 'bad_amount' | 'no_visit' }>
  /** The caller that a request counts against. */
  readonly callerOf: (headers: Headers) => string
  /** False where the caller of these headers has sent too many forms just now. */
  readonly maySendForm: (headers: Headers) => boolean
  /** A random name for one rendering of a payment link's page, so that pressing its button twice makes one invoice. */
  readonly newVisit: () => string
  readonly switchAsset: (
    change: OwnInvoice & { readonly asset: AssetId; readonly picked?: boolean },
  ) => Promise<
    | AssetRefused
    | { readonly kind: 'switched' | 'unchanged' | 'not_allowed' | 'paid_already' | 'closed' | 'not_found' }
  >
  readonly reopenInvoice: (
    invoice: OwnInvoice,
  ) => Promise<MadeInvoice | AssetRefused | { readonly kind: 'not_reopenable' | 'not_found' }>
  /** The token of an invoice's page. */
  readonly tokenOf: (invoice: OwnInvoice) => string
  /** How the merchant's pages look. */
  readonly readBranding: (merchantId: string) => Promise<Branding>
  /** A merchant's logo by its digest; null if it is not, or no longer, theirs. */
  readonly readLogo: (merchantId: string, digest: string) => Promise<Uint8Array<ArrayBuffer> | null>
  /** Present where somebody sells coins for cards. */
  readonly card?: CardOnramps
  /** Present where test invoices can be paid on sandbox chains. */
  readonly sandbox?: {
    /** Whether invoices in this asset can be paid there; only their pages show the panel. */
    serves(asset: AssetId, livemode: boolean): boolean
    /** Throws if it could not pay. */
    payInvoice(request: {
      tenant: { merchantId: string; livemode: boolean }
      invoiceId: string
      scenario: Scenario
      source: 'checkout'
    }): Promise<unknown>
  }
}

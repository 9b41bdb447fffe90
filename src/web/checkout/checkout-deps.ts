import type { AssetId } from '../../core/assets.ts'
import type { CardPurchase } from '../../core/card/card-purchase.ts'
import type { TestCardOutcome } from '../../core/card/test-cards.ts'
import type {
  CardOffersOutcome,
  CheckoutFacts,
  ContinuedCheckout,
  ContinueRequest,
  LeftForCard,
  OwnInvoice,
  OwnPurchase,
  PaymentPage,
  PaymentPageQuery,
  ReopenedInvoice,
  SwitchedAsset,
  SwitchRequest,
} from '../../core/checkout/checkout-pages.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import type { ReceiptRequest } from '../../core/checkout/receipt-request.ts'
import type { DollarsPerCurrency } from '../../core/rates/currencies.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { TillDeps } from '../till/till-deps.ts'
import type { Branding } from './branding.ts'
import type { Scenario } from './test-panel.tsx'

/** Buying the invoice's coin by card, at a provider. */
export type CardOnramps = {
  sells(asset: AssetId, livemode: boolean): boolean
  /** Asks the providers for offers; a repeated press asks no provider again. `path` leads back to the page. */
  ask(
    request: OwnInvoice & { readonly place: string; readonly headers: Headers; readonly path: string },
  ): Promise<CardOffersOutcome>
  /** Reads only. */
  offers(invoice: OwnInvoice): Promise<readonly CardPurchase[]>
  leave(purchase: OwnPurchase): Promise<LeftForCard>
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
  /** Origin of the site. */
  readonly baseUrl: string
  /** Null for a token that opens nothing, whatever the reason. Throws if the database cannot be reached. */
  readonly readCheckout: (token: string) => Promise<CheckoutFacts | null>
  /** Reads only: opening a payment link makes nothing. */
  readonly readPaymentPage: (query: PaymentPageQuery) => Promise<PaymentPage>
  readonly continueCheckout: (request: ContinueRequest) => Promise<ContinuedCheckout>
  /** The caller that a request counts against. */
  readonly callerOf: (headers: Headers) => string
  /** False where the caller of these headers has sent too many forms just now. */
  readonly maySendForm: (headers: Headers) => boolean
  /** A random name for one rendering of a payment link's page, so that pressing its button twice makes one invoice. */
  readonly newVisit: () => string
  readonly tills: TillDeps
  readonly switchAsset: (request: SwitchRequest) => Promise<SwitchedAsset>
  readonly reopenInvoice: (invoice: OwnInvoice) => Promise<ReopenedInvoice>
  /** Keeps where the receipt goes once the invoice is paid. False where that cannot be changed any more. */
  readonly requestReceipt: (request: OwnInvoice & Omit<ReceiptRequest, 'url'>) => Promise<boolean>
  /** The shop whose emails an unsubscribing URL ends; null for a token that is none of ours. */
  readonly readUnsubscribe: (token: string) => Promise<string | null>
  /** Ends them for good; the shop, or null as above. */
  readonly unsubscribe: (token: string) => Promise<string | null>
  /**
   * An unsigned transfer of SOL or of a token (base64), and its chain as the Wallet Standard names it. Null where `from` is no account, or
   * the chain is not read just now.
   */
  readonly solanaTransfer: (
    transfer: Pick<CheckoutView, 'asset' | 'livemode' | 'identity'> & {
      readonly from: string
      readonly to: string
      readonly amount: bigint
    },
  ) => Promise<{ readonly chain: string; readonly transaction: string } | null>
  /** The token of an invoice's page. */
  readonly tokenOf: (invoice: OwnInvoice) => string
  /** See `CurrencyRates`. */
  readonly dollarsPerCurrency: (livemode: boolean) => DollarsPerCurrency
  /** How the merchant's pages look. */
  readonly readBranding: (merchantId: string) => Promise<Branding>
  /** A merchant's logo by its digest; null if it is not, or no longer, theirs. */
  readonly readLogo: (merchantId: string, digest: string) => Promise<Uint8Array<ArrayBuffer> | null>
  /** Live payments are on private chains, which no explorer shows. */
  readonly staging?: boolean
  /** Present where somebody sells coins for cards. */
  readonly card?: CardOnramps
  /** Present where test invoices can be paid on sandbox chains. */
  readonly sandbox?: {
    /** Whether invoices in this asset can be paid there; only their pages show the panel. */
    serves(asset: AssetId, livemode: boolean): boolean
    /** Throws if it could not pay. */
    payInvoice(request: OwnInvoice & { scenario: Scenario; source: 'checkout' }): Promise<unknown>
  }
}

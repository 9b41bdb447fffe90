import type { AssetId } from '../../core/assets.ts'
import type { CardPurchase } from '../../core/card/card-purchase.ts'
import type { BuyerAmount } from '../../core/checkout/buyer-amount.ts'
import type { CheckoutFacts } from '../../core/checkout/checkout-pages.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import type { CoinOffer } from '../../core/checkout/coin-offers.ts'
import type { RequestedCharge } from '../../core/checkout/payment-link.ts'
import type { CurrencyAmount } from '../../core/invoice/types.ts'
import type { DollarsPerCurrency } from '../../core/rates/currencies.ts'
import type { Branding } from './branding.ts'
import type { PageLanguage } from './page-request.ts'

/** What went wrong with the last thing asked of a page. */
export type Notice =
  | 'sandbox_failed'
  | 'switch_refused'
  | 'open_coin_failed'
  | 'open_choose'
  | 'amount_refused'
  | 'reopen_refused'
  | 'card_lapsed'
  | 'card_choose'
  | 'receipt_email_refused'
  | 'receipt_email_limit'
  | 'sandbox_card_wrong'
  | 'sandbox_card_refused'

/** What every page of a merchant is drawn from. */
export type ShopPage = PageLanguage & {
  readonly merchantName: string
  readonly branding: Branding
  readonly notice: Notice | null
}

/** The ways to pay an invoice, in the order in which its page offers them. */
const PAYMENT_METHODS = ['wallet', 'exchange', 'card'] as const
type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** The method that a page's URL names with `?pay=`. An unknown value is ignored. */
export const methodNamed = (name: string | undefined): PaymentMethod | null =>
  PAYMENT_METHODS.find((method) => method === name) ?? null

/** The methods that a page offers. */
export const methodsOf = ({ cardAsset }: CheckoutPage): readonly PaymentMethod[] =>
  PAYMENT_METHODS.filter((method) => method !== 'card' || cardAsset !== null)

/** All that an invoice's page is drawn from. */
export type CheckoutPage = ShopPage & {
  readonly view: CheckoutView
  /** What the buyer pays for, as the payment link names it, and the shop's own number of the order. */
  readonly item: string | null
  readonly order: string | null
  /** Whether explorers show the payment's transactions. */
  readonly isExplored: boolean
  readonly dollarsPerCurrency: DollarsPerCurrency
  /** The payment's own number, which a receipt names. */
  readonly invoiceId: string
  /** The shop's page to go back to; null where the shop named none. */
  readonly returnUrl: string | null
  /** The till at which staff show the page; null for the buyer's own page. */
  readonly tillSlug: string | null
  /** The token of the page's own URL, for its forms. */
  readonly token: string
  /** The page's own URL, for links that come from elsewhere. */
  readonly url: string
  /** The other coins to pay with; empty where the coin is settled. */
  readonly otherCoins: readonly CoinOffer[]
  /** The buyer may reopen the payment at the current price. */
  readonly reopenable: boolean
  /** The buyer said that the money is on its way. */
  readonly watching: boolean
  /** The sandbox can pay this invoice: the page shows its panel. */
  readonly sandbox: boolean
  /** What a card would buy for it; null where that way is not offered, also while a provider has the buyer's money. */
  readonly cardAsset: AssetId | null
  readonly receipt: CheckoutFacts['receipt']
  /** The buyer is about to type an address: without script the page must not reload. */
  readonly isTyping: boolean
  /** The way to pay that the buyer asked for; null where they asked for none. */
  readonly method: PaymentMethod | null
}

/** All that the page with the card providers' offers is drawn from. */
export type CardPage = CheckoutPage & {
  readonly offers: readonly CardPurchase[]
  /** The place that was asked for last; empty where none was. */
  readonly place: string
}

/** The sandbox's card page. */
export type TestCardPage = CheckoutPage & { readonly purchase: CardPurchase }

/** All that the page is drawn from that asks the buyer for an amount. */
export type AmountPage = ShopPage & {
  readonly livemode: boolean
  readonly slug: string
  readonly linkName: string
  /** What buyers may pay who say how much; null: anything, in dollars. */
  readonly buyerAmount: BuyerAmount | null
  /** The amount as it stands in the URL. */
  readonly requested: RequestedCharge
  readonly dollarsPerCurrency: DollarsPerCurrency
}

/** All that the page of a payment link or a checkout session is drawn from. */
export type OpenPage = AmountPage & {
  /** The session's token, which the page's form sends on. */
  readonly checkoutToken: string | undefined
  /** Names this rendering of the page, so that a second press of it makes nothing new. */
  readonly visit: string
  /** Of a checkout session, the shop's own number of the order. */
  readonly order: string | null
  /** Null while the price's currency has no rate. */
  readonly usdCents: bigint | null
  /** What is charged in another currency; null where dollars are. */
  readonly price: CurrencyAmount | null
  /** The buyer may pay another amount. */
  readonly takesAmount: boolean
  /** Of a checkout session; null where the window begins with Continue. */
  readonly expiresAtMs: number | null
  readonly durationMinutes: number
  readonly chosen: string | null
  readonly coins: readonly CoinOffer[]
  /** Whether there is a button to pay by card. */
  readonly byCard: boolean
}

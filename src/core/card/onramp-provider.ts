import type { AssetId } from '../assets.ts'
import type { ProviderUpdate } from './provider-update.ts'

const CARD_PROVIDER_IDS = ['coinbase', 'moonpay', 'sandbox'] as const
export type CardProviderId = (typeof CARD_PROVIDER_IDS)[number]

/** Their names, the same in every language. */
export const CARD_PROVIDER_NAMES: { readonly [id in CardProviderId]: string } = {
  coinbase: 'Coinbase',
  moonpay: 'MoonPay',
  sandbox: 'Paylink Sandbox',
}

/** What a provider is asked for: so much of a coin, sent to the invoice's own address. */
export type CardOrder = {
  /** Names the purchase to the provider, and comes back in what the provider reports about it. */
  readonly reference: string
  readonly asset: AssetId
  /** Base units. */
  readonly amount: bigint
  /** What that is worth at the invoice's locked price, US cents; null where the merchant fixed a coin amount. */
  readonly usdCents: bigint | null
  readonly address: string
  /** `DE`, or `US-CA`: where the buyer lives. */
  readonly place: string
  /** The buyer's public address; null where it is not known. */
  readonly clientAddress: string | null
  /** The invoice's own page, where the provider sends the buyer back to. */
  readonly returnUrl: string
}

/** Money as a provider writes it, for showing and for nothing else: `52.49` of `USD`. */
export type FiatAmount = { readonly amount: string; readonly currency: string }

/** What the card is charged, and how much of it are fees. */
type CardQuote = { readonly total: FiatAmount; readonly fees: FiatAmount }

export type CardRefusal = 'region' | 'below_minimum' | 'above_maximum' | 'not_offered'

/** What a provider answered, as far as a page shows it. */
export type CardAnswer =
  | {
      readonly kind: 'offered'
      /** Null where the provider shows its price itself. */
      readonly quote: CardQuote | null
      readonly minimum: FiatAmount | null
      /** Base units that will be sent: a provider may only sell rounder amounts, rounded up. */
      readonly amount: bigint
    }
  | { readonly kind: 'refused'; readonly reason: CardRefusal; readonly minimum: FiatAmount | null }
  /** It did not answer, or not so that it could be understood; the operator reads why in the log. */
  | { readonly kind: 'failed' }

export type ProviderAnswer =
  | (Extract<CardAnswer, { kind: 'offered' }> & {
      /** Where the buyer goes. Whoever has it may use it, perhaps only once. */
      readonly url: string
      readonly usableSeconds: number
    })
  | Extract<CardAnswer, { kind: 'refused' }>
  | (Extract<CardAnswer, { kind: 'failed' }> & { readonly reason: string; readonly cause?: unknown })

/** What a provider says of the buyer's tries at one purchase, newest first. */
export type ReportedTransactions =
  | {
      readonly kind: 'reported'
      /** It knows of a try, be it one of which a page says nothing yet. */
      readonly isBegun: boolean
      readonly transactions: readonly {
        /** The provider's own name of the try. */
        readonly transaction: string
        readonly update: Exclude<ProviderUpdate, 'abandoned'>
        /** Where it says that the coins go; null where it does not say. */
        readonly address: string | null
      }[]
    }
  | { readonly kind: 'failed'; readonly reason: string; readonly cause?: unknown }

/** A company that sells coins for cards. */
export type OnrampProvider = {
  readonly id: CardProviderId
  /** The mode whose invoices it serves. */
  readonly livemode: boolean
  sells(asset: AssetId): boolean
  /** Makes a session, or says why there is none. Bounded in time; throws for bugs alone. Never inside a transaction. */
  begin(order: CardOrder): Promise<ProviderAnswer>
  /** Asks what became of a purchase by its reference; absent where only webhooks report it. Bounded in time, as `begin` is. */
  readonly transactionsOf?: (reference: string) => Promise<ReportedTransactions>
  /** Why it would make no offers, by a question that makes nothing; null where it answers as it should. */
  fault(): Promise<string | null>
}

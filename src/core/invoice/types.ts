import type { AssetId, KeyFamily, Network, PaymentAsset } from '../assets.ts'
import type { BlockDepth, Finality } from '../finality.ts'
import type { Currency } from '../rates/currencies.ts'

/** What a merchant reads. Derived from the facts by `deriveStatus`, never decided anywhere else. */
export const INVOICE_STATUSES = [
  'awaiting_payment',
  'payment_detected',
  'confirming',
  'partially_paid',
  'paid',
  'overpaid',
  'expired',
  'cancelled',
  'manual_review',
] as const
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number]

export const INVOICE_EVENT_TYPES = [
  'invoice.created',
  'invoice.payment_detected',
  'invoice.confirming',
  'invoice.paid',
  'invoice.partially_paid',
  'invoice.overpaid',
  'invoice.expired',
  'invoice.manual_review',
] as const
export type InvoiceEventType = (typeof INVOICE_EVENT_TYPES)[number]

export const PAYMENT_STATUSES = ['detected', 'confirming', 'confirmed', 'replaced', 'reorged'] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

/** Why one payment waits for the merchant. */
export const PAYMENT_REVIEW_REASONS = [
  'wrong_asset',
  'wrong_network',
  'late',
  'cancelled',
  'after_settlement',
  'too_many_payments',
] as const
export type PaymentReviewReason = (typeof PAYMENT_REVIEW_REASONS)[number]

/** Why the invoice waits for the merchant: a payment's reason, or settled value that left the chain. */
export type ReviewReason = PaymentReviewReason | 'reorged'

/** Where a payment's value stands in the merchant's ledger; `none` while it is in no block. */
export type LedgerBucket = 'none' | 'pending' | 'suspense' | 'available'

/** A block of a network, by its height and hash. */
export type BlockRef = { readonly height: number; readonly hash: string; readonly timeMs: number }

/** One output on a UTXO chain; elsewhere one transfer. `amount` in base units. */
export type PaymentPart = { readonly txid: string; readonly outputIndex: number; readonly amount: bigint }

/**
 * What one transaction brought to one of the invoice's deposit addresses; or, for an invoice with more payments than
 * are kept one by one, and for dust, what one block brought: then `txid` is the block's hash. See block-sums.ts.
 */
export type Payment = {
  readonly id: string
  readonly network: Network
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  /** Base units. */
  readonly amount: bigint
  readonly isBlockSum: boolean
  /** How many outputs or transfers it sums. */
  readonly transfers: number
  /** What it sums, where that is more than itself; null where it is not, and where it was not loaded. */
  readonly parts: readonly PaymentPart[] | null
  readonly status: PaymentStatus
  /** The earlier of our own or the node's mempool sighting and the including block's time. */
  readonly firstSeenMs: number
  readonly detectedAtMs: number
  readonly confirmedAtMs: number | null
  readonly block: BlockRef | null
  /** What makes this payment final. */
  readonly finality: Finality
  /** Seen within the horizon after the deadline. */
  readonly late: boolean
  /** Too small to mean anything: recorded, and otherwise ignored. */
  readonly dust: boolean
  readonly reviewReason: PaymentReviewReason | null
  /** The merchant's answer to the review. */
  readonly resolution: 'accepted' | 'dismissed' | null
  readonly announced: { readonly confirming: boolean; readonly review: boolean }
  readonly bucket: LedgerBucket
  /** How often this payment's value was moved in the ledger; makes the next posting's id. */
  readonly postings: number
}

/** Block sums that were not loaded one by one, added up where the rules read the same of them. */
export type BlockSumTotal = Pick<
  Payment,
  'asset' | 'amount' | 'status' | 'dust' | 'reviewReason' | 'resolution' | 'bucket' | 'transfers'
> & {
  /** One of them. */
  readonly id: string
  /** How many they are. */
  readonly payments: number
}

/** The price that fixed an amount, with the sources' prices it came from. */
export type RateEvidence = {
  /** Decimal string, US dollars per coin, or per unit of another currency. */
  readonly usdPerUnit: string
  readonly quotedAt: string
  readonly sources: readonly { readonly name: string; readonly usdPerUnit: string; readonly at: string }[]
}

/** An amount of a shop's currency: a decimal string. */
export type CurrencyAmount = { readonly amount: string; readonly currency: Currency }

/** What the merchant asked for in another currency than US dollars, and the rate that turned it into dollars. */
export type InvoicePrice = CurrencyAmount & { readonly rate: RateEvidence }

/** Of an invoice in dollars of any issuer: at what rate each token counts, by its ticker. */
export type TokenRates = { readonly [ticker: string]: RateEvidence | undefined }

/** What makes payments final, for each asset that may arrive on this invoice's addresses. */
export type ConfirmationsByAsset = { readonly [asset in PaymentAsset]?: Finality }

/** The chain reading on which an invoice was declared unpaid: what was read, from whom, and when. */
export type ChainReading = {
  readonly network: Network
  /** The tip whose chain was read to its end; the mempool was read in full while it stood. */
  readonly tipHeight: number
  readonly tipHash: string
  /** When the reading began: all that was seen before this moment is in it. */
  readonly readAtMs: number
  /** Host names of the nodes or servers that reported it. */
  readonly providers: readonly string[]
}

/** That of the invoice's own network, and how far the others on which it could be paid had been read. */
export type ExpiryReading = ChainReading & { readonly others?: readonly Omit<ChainReading, 'providers'>[] }

export type Invoice = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly asset: AssetId
  /**
   * What counts beside it: the same token on other networks, base unit for base unit; where it asks for dollars, other
   * tokens as well, each at its rate.
   */
  readonly alsoAccepts: readonly AssetId[]
  /** Null unless it asks for `usdCents` of any issuer: the rates at which its tokens count, locked when it was created. */
  readonly tokenRates: TokenRates | null
  /** Base units of `asset`. */
  readonly amount: bigint
  /** US cents; null where the merchant fixed a coin amount. */
  readonly usdCents: bigint | null
  /** What `usdCents` was computed from when the invoice was created; null where dollars or coins were asked for. */
  readonly price: InvoicePrice | null
  readonly amountSource: 'merchant' | 'buyer'
  readonly rate: RateEvidence | null
  /**
   * Base units by which the confirmed sum may fall short of, or exceed, `amount` and still be `paid`; of an invoice with
   * `tokenRates` those of a token that is worth a dollar.
   */
  readonly toleranceUnder: bigint
  readonly toleranceOver: bigint
  /** What the operator keeps of every payment that becomes available, in basis points, fixed when the invoice was created. */
  readonly serviceFeeBps: number
  readonly confirmations: ConfirmationsByAsset
  readonly allowAssetSelection: boolean
  readonly customerEmail: string | null
  readonly externalReference: string | null
  readonly orderReference: string | null
  /** What the buyer pays for, in the merchant's words. */
  readonly description: string | null
  readonly checkoutSessionId: string | null
  readonly paymentLinkId: string | null
  /** The merchant's own JSON object, exactly as given. */
  readonly metadata: { readonly [key: string]: unknown } | null
  /** The shop's page to which the buyer goes back from ours. */
  readonly returnUrl: string | null
  readonly reopenedFrom: string | null
  /** Address of `asset` for this invoice. */
  readonly address: string
  /** Its addresses of other key families, where `alsoAccepts` names networks of those. */
  readonly addressesBeside: { readonly [family in KeyFamily]?: string }
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** When a full reading of chain and mempool past the deadline found nothing that pays. */
  readonly expiredAtMs: number | null
  /** That reading; null where it has not expired, or did so before readings were kept. */
  readonly expiryReading: ExpiryReading | null
  readonly cancelledAtMs: number | null
  readonly paidAtMs: number | null
  /**
   * The merchant accepted what was confirmed as full payment: the payments whose resolution is `accepted`. Null again once one
   * of them brings another amount.
   */
  readonly acceptedAtMs: number | null
  /** The merchant dismissed the review of value that left the chain after settlement. */
  readonly reorgDismissed: boolean
  /** What has been reported already, so that nothing is reported twice. */
  readonly announced: {
    readonly detected: boolean
    readonly paid: boolean
    readonly overpaid: boolean
    readonly expired: boolean
    /** The invoice is, by its last event, in review because settled value left the chain. */
    readonly reorged: boolean
    /** Confirmed sums (decimal, as `measureOf` adds them up) for which `invoice.partially_paid` went out. */
    readonly partialSums: readonly string[]
  }
  readonly payments: readonly Payment[]
  /** The block sums that are not among `payments`. */
  readonly blockSums: readonly BlockSumTotal[]
}

/** Where one transfer stands on the chain now. Absolute, so that reporting it twice changes nothing. */
export type TransferFact = {
  readonly network: Network
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  /** Base units. */
  readonly amount: bigint
  /** The outputs that `amount` sums, where they are several. */
  readonly parts?: readonly PaymentPart[]
  /** Our own or the node's mempool sighting, or the including block's time, whichever is earlier. */
  readonly firstSeenMs: number
  /** Confirmations that consensus itself demands before the value can move: 100 for a coinbase, 6 for a peg-out. */
  readonly minimumConfirmations: number
  /**
   * Hash of the block in which the database had the transfer when the chain was read, null where in none: a fact takes a
   * transfer out of this block and no other, since a stale reading knows nothing of the one it came into meanwhile.
   */
  readonly knownIn: string | null
} & (
  | { readonly state: 'mempool' }
  | ({ readonly state: 'block'; readonly block: BlockRef } & BlockDepth)
  /** A conflicting transaction took its inputs, or no node knows it any more. */
  | { readonly state: 'replaced' }
  /** Its block left the chain and it is in no mempool. */
  | { readonly state: 'reorged' }
)

/** What happens to an invoice. */
export type InvoiceInput =
  | {
      readonly kind: 'transfers'
      readonly facts: readonly TransferFact[]
      /** An id for each fact, in case it reports a transfer not known yet. */
      readonly newPaymentIds: readonly string[]
      readonly nowMs: number
    }
  /** The invoice's networks were read in full at these times, and all they hold for it was reported before. */
  | {
      readonly kind: 'deadline_read'
      readonly readAtMs: number
      /** Of its asset's network; and how far the networks of what it also accepts were read, as far as that is known. */
      readonly reading?: ExpiryReading
    }
  | { readonly kind: 'cancel'; readonly nowMs: number }
  | {
      readonly kind: 'resolve'
      readonly resolution: 'accept' | 'dismiss'
      /** Of a dismissal, the payments whose reviews it closes; all that are open unless given. */
      readonly paymentIds?: readonly string[] | undefined
      readonly nowMs: number
    }

export type InvoiceEffect =
  /** Send the merchant an event; `snapshot` is the invoice at that milestone. */
  | { readonly kind: 'event'; readonly type: InvoiceEventType; readonly snapshot: Invoice }
  /** Move a payment's whole value between buckets of the merchant's ledger. */
  | {
      readonly kind: 'posting'
      readonly payment: Payment
      readonly from: LedgerBucket
      readonly to: LedgerBucket
      /** 1, 2, 3… per payment. */
      readonly number: number
    }

export type InvoiceAdvance =
  | { readonly kind: 'advanced'; readonly next: Invoice; readonly effects: readonly InvoiceEffect[] }
  | { readonly kind: 'refused'; readonly code: 'invoice_not_cancellable' | 'invoice_not_resolvable' }

/**
 * The events of schema version 1 as a receiver gets them. These types stand alone, so that a merchant's server
 * needs nothing else of Paylink; a test holds them to what the service writes. Fields may be added at any time.
 */

/** What every event has (spec §2.6). */
export type Envelope = {
  /** Stable: the same in every delivery. Deduplicate by it, in the database. */
  readonly id: string
  readonly schema_version: 1
  readonly merchant_id: string
  readonly resource_id: string
  readonly livemode: boolean
  /** ISO 8601 UTC with milliseconds: when it happened, not when it was delivered. */
  readonly created_at: string
  /** 1, 2, 3… for each resource: the order in which things happened, whatever the order of arrival. */
  readonly sequence: number
  /** The API request that caused it, if one did. */
  readonly request_id: string | null
}

export type InvoiceEventType =
  | 'invoice.created'
  | 'invoice.payment_detected'
  | 'invoice.confirming'
  | 'invoice.paid'
  | 'invoice.partially_paid'
  | 'invoice.overpaid'
  | 'invoice.expired'
  | 'invoice.manual_review'

/** Something happened to an invoice; `data` is the invoice at that moment. */
export type InvoiceEvent = {
  readonly [Type in InvoiceEventType]: Envelope & {
    readonly kind: 'invoice'
    readonly event_type: Type
    readonly data: Invoice
  }
}[InvoiceEventType]

/** An endpoint is being verified: answer 200 with `{"challenge": "<data.challenge>"}` and nothing else (spec §6.3). */
export type EndpointVerificationEvent = Envelope & {
  readonly kind: 'endpoint_verification'
  readonly event_type: 'webhook.endpoint_verification'
  readonly data: { readonly id: string; readonly status: string; readonly challenge: string }
}

/** A type that this version of the library does not know: store it, answer 2xx, and look into it. */
export type OtherEvent = Envelope & {
  readonly kind: 'other'
  readonly event_type: string
  readonly data: { readonly [field: string]: unknown }
}

/** What `verify` gives: told apart by `kind`, which is the library's own word, and then by `event_type`. */
export type WebhookEvent = InvoiceEvent | EndpointVerificationEvent | OtherEvent

export type Asset = 'BTC' | 'LTC' | 'ETH' | 'ETH_BASE' | 'USDC_BASE' | 'SOL'

/** What may arrive. USDC on Ethereum is asked for by no invoice: it waits for you. */
export type PaymentAsset = Asset | 'USDC_ETHEREUM'

export type InvoiceStatus =
  | 'awaiting_payment'
  | 'payment_detected'
  | 'confirming'
  | 'partially_paid'
  | 'paid'
  | 'overpaid'
  | 'expired'
  | 'cancelled'
  | 'manual_review'

/** Amounts are canonical decimal strings in coin units, dollars decimal strings with two places, times ISO 8601 UTC. */
export type Invoice = {
  readonly id: string
  readonly object: 'invoice'
  readonly livemode: boolean
  readonly status: InvoiceStatus
  readonly status_reason: string | null
  readonly review_reason: 'wrong_asset' | 'late' | 'cancelled' | 'after_settlement' | 'reorged' | null
  readonly usd_amount: string | null
  readonly amount_source: 'merchant' | 'buyer'
  readonly asset: Asset
  readonly amount: string
  readonly amount_detected: string
  readonly amount_confirmed: string
  readonly amount_remaining: string
  readonly address: string
  readonly payment_uri: string
  readonly rate: {
    readonly usd_per_unit: string
    readonly quoted_at: string
    readonly sources: readonly { readonly name: string; readonly usd_per_unit: string; readonly at: string }[]
  } | null
  readonly allow_asset_selection: boolean
  readonly customer_email: string | null
  readonly external_reference: string | null
  readonly order_reference: string | null
  readonly expected_usd_amount: string | null
  readonly checkout_session_id: string | null
  readonly payment_link_id: string | null
  readonly metadata: { readonly [key: string]: unknown } | null
  readonly expires_at: string
  readonly created_at: string
  readonly paid_at: string | null
  /** Which blocks were read, from whom and until when, before it expired; null before that. */
  readonly expiry_reading: {
    readonly network: string
    readonly tip_height: number
    readonly tip_hash: string
    readonly read_at: string
    readonly providers: readonly string[]
  } | null
  readonly cancelled_at: string | null
  readonly reopened_from: string | null
  readonly payments: readonly Payment[]
}

export type Payment = {
  readonly id: string
  readonly asset: PaymentAsset
  readonly txid: string
  readonly output_index: number
  readonly amount: string
  readonly status: 'detected' | 'confirming' | 'confirmed' | 'replaced' | 'reorged'
  readonly confirmations: number
  /** Null where `finality` is a word of the chain. */
  readonly confirmations_required: number | null
  readonly finality: 'blocks' | 'safe' | 'finalized'
  readonly late: boolean
  readonly review_reason: 'wrong_asset' | 'late' | 'cancelled' | 'after_settlement' | null
  readonly detected_at: string
  readonly confirmed_at: string | null
}

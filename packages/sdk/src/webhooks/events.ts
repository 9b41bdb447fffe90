import type { Deposit, EventType, Invoice, Payout } from '../api.ts'
import { EVENT_TYPES } from '../tables.ts'

/** The events of schema version 1 as a receiver gets them. Fields may be added at any time. */

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

export type InvoiceEventType = Extract<EventType, `invoice.${string}`>
export type PayoutEventType = Extract<EventType, `payout.${string}`>
export type DepositEventType = Extract<EventType, `deposit.${string}`>

/** An invoice as events carry it: they are stored, and the link for the buyer is a secret. */
export type InvoiceSnapshot = Omit<Invoice, 'checkout_url' | 'payment_link_name'>

/** Something happened to an invoice; `data` is the invoice at that moment. */
export type InvoiceEvent = {
  readonly [Type in InvoiceEventType]: Envelope & {
    readonly kind: 'invoice'
    readonly event_type: Type
    readonly data: InvoiceSnapshot
  }
}[InvoiceEventType]

/** Something happened to a payout; `data` is the payout at that moment. */
export type PayoutEvent = {
  readonly [Type in PayoutEventType]: Envelope & {
    readonly kind: 'payout'
    readonly event_type: Type
    readonly data: Payout
  }
}[PayoutEventType]

/** Something happened to a deposit to a permanent address; `data` is the deposit at that moment. */
export type DepositEvent = {
  readonly [Type in DepositEventType]: Envelope & {
    readonly kind: 'deposit'
    readonly event_type: Type
    readonly data: Deposit
  }
}[DepositEventType]

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

/** What `verify` returns: narrow it by `kind`, which the library adds, and then by `event_type`. */
export type WebhookEvent = InvoiceEvent | PayoutEvent | DepositEvent | EndpointVerificationEvent | OtherEvent

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES)

/** What an event is about, by its type; a type to come is an `other`. */
export function kindOf(eventType: string): WebhookEvent['kind'] {
  if (eventType === 'webhook.endpoint_verification') return 'endpoint_verification'
  if (!KNOWN.has(eventType)) return 'other'
  if (eventType.startsWith('deposit.')) return 'deposit'
  return eventType.startsWith('payout.') ? 'payout' : 'invoice'
}

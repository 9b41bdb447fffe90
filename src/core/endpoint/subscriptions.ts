import { DEPOSIT_EVENT_TYPES } from '../deposit/deposit.ts'
import { INVOICE_EVENT_TYPES } from '../invoice/types.ts'

export const PAYOUT_EVENT_TYPES = [
  'payout.requested',
  'payout.approved',
  'payout.rejected',
  'payout.submitted',
  'payout.confirmed',
  'payout.failed',
] as const

/** What an endpoint may subscribe to (spec §6.1). */
export const SUBSCRIBABLE_EVENT_TYPES = [
  ...INVOICE_EVENT_TYPES,
  ...PAYOUT_EVENT_TYPES,
  ...DEPOSIT_EVENT_TYPES,
] as const

/** The format of an endpoint's bodies: our own, or that of an older service whose receiver a shop keeps. */
export const ENDPOINT_FORMATS = ['paylink', 'btcpay', 'coinbase_commerce'] as const
export type EndpointFormat = (typeof ENDPOINT_FORMATS)[number]

/** Whether a format has words for an event: older services' receivers know of invoices alone. */
export const canDeliver = (format: EndpointFormat, eventType: string): boolean =>
  format === 'paylink' || INVOICE_EVENT_TYPES.some((type) => type === eventType)

/** Sent when an endpoint is verified; neither stored nor selectable. */
export const VERIFICATION_EVENT_TYPE = 'webhook.endpoint_verification'

/** Every type there is, now or later. */
export const ALL_EVENTS = '*'

/** Event types that deliveries of the past may carry and that no endpoint can select any more (spec §6.1). */
const HISTORICAL = /^(?:invoice|payout|payment|checkout)\.refund[a-z_]{0,40}$|^refund\.[a-z_]{1,40}$/

type SubscriptionCheck =
  | { readonly kind: 'accepted'; readonly eventTypes: readonly string[] }
  | { readonly kind: 'empty' }
  | { readonly kind: 'unknown'; readonly eventType: string }
  | { readonly kind: 'historical'; readonly eventType: string }
  | { readonly kind: 'verification'; readonly eventType: string }
  /** The endpoint's format has no words for it. */
  | { readonly kind: 'untellable'; readonly eventType: string }
  /** `*` beside other types, or a type twice. */
  | { readonly kind: 'redundant'; readonly eventType: string }

/**
 * Whether an endpoint may subscribe to these: exact event types, or `["*"]` alone. Accepted are those to store, which
 * for an older service's format are its own, each by name. Refusals name the first offender.
 */
export function checkSubscriptions(
  eventTypes: readonly string[],
  format: EndpointFormat = 'paylink',
): SubscriptionCheck {
  if (eventTypes.length === 0) return { kind: 'empty' }
  if (eventTypes.length === 1 && eventTypes[0] === ALL_EVENTS)
    return { kind: 'accepted', eventTypes: format === 'paylink' ? eventTypes : INVOICE_EVENT_TYPES }
  const seen = new Set<string>()
  for (const eventType of eventTypes) {
    if (eventType === VERIFICATION_EVENT_TYPE) return { kind: 'verification', eventType }
    if (HISTORICAL.test(eventType)) return { kind: 'historical', eventType }
    const known = eventType === ALL_EVENTS || SUBSCRIBABLE_EVENT_TYPES.some((type) => type === eventType)
    if (!known) return { kind: 'unknown', eventType }
    if (eventType === ALL_EVENTS || seen.has(eventType)) return { kind: 'redundant', eventType }
    if (!canDeliver(format, eventType)) return { kind: 'untellable', eventType }
    seen.add(eventType)
  }
  return { kind: 'accepted', eventTypes }
}

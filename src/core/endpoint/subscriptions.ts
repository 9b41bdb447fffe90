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
export const SUBSCRIBABLE_EVENT_TYPES = [...INVOICE_EVENT_TYPES, ...PAYOUT_EVENT_TYPES] as const

/** Sent when an endpoint is verified; neither stored nor selectable. */
export const VERIFICATION_EVENT_TYPE = 'webhook.endpoint_verification'

/** Every type there is, now or later. */
export const ALL_EVENTS = '*'

/** Event types that deliveries of the past may carry and that no endpoint can select any more (spec §6.1). */
const HISTORICAL = /^(?:invoice|payout|payment|checkout)\.refund[a-z_]{0,40}$|^refund\.[a-z_]{1,40}$/

export type SubscriptionCheck =
  | { readonly kind: 'accepted'; readonly eventTypes: readonly string[] }
  | { readonly kind: 'empty' }
  | { readonly kind: 'unknown'; readonly eventType: string }
  | { readonly kind: 'historical'; readonly eventType: string }
  | { readonly kind: 'verification'; readonly eventType: string }
  /** `*` beside other types, or a type twice. */
  | { readonly kind: 'redundant'; readonly eventType: string }

/** Whether an endpoint may subscribe to these: exact event types, or `["*"]` alone. Refusals name the first offender. */
export function checkSubscriptions(eventTypes: readonly string[]): SubscriptionCheck {
  if (eventTypes.length === 0) return { kind: 'empty' }
  if (eventTypes.length === 1 && eventTypes[0] === ALL_EVENTS) return { kind: 'accepted', eventTypes }
  const seen = new Set<string>()
  for (const eventType of eventTypes) {
    if (eventType === VERIFICATION_EVENT_TYPE) return { kind: 'verification', eventType }
    if (HISTORICAL.test(eventType)) return { kind: 'historical', eventType }
    const known = eventType === ALL_EVENTS || SUBSCRIBABLE_EVENT_TYPES.some((type) => type === eventType)
    if (!known) return { kind: 'unknown', eventType }
    if (eventType === ALL_EVENTS || seen.has(eventType)) return { kind: 'redundant', eventType }
    seen.add(eventType)
  }
  return { kind: 'accepted', eventTypes }
}

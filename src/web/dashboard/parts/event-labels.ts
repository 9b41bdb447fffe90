import type { SUBSCRIBABLE_EVENT_TYPES } from '../../../core/endpoint/subscriptions.ts'

export type EventType = (typeof SUBSCRIBABLE_EVENT_TYPES)[number]

/** Every event that an endpoint can subscribe to, in a shopkeeper's words. */
export const EVENT_LABELS: { readonly [type in EventType]: string } = {
  'invoice.created': 'Invoice created',
  'invoice.payment_detected': 'Payment detected',
  'invoice.confirming': 'Confirming',
  'invoice.paid': 'Paid',
  'invoice.partially_paid': 'Partially paid',
  'invoice.overpaid': 'Overpaid',
  'invoice.expired': 'Expired',
  'invoice.manual_review': 'Needs review',
  'payout.requested': 'Payout requested',
  'payout.approved': 'Payout approved',
  'payout.rejected': 'Payout rejected',
  'payout.submitted': 'Payout sent',
  'payout.confirmed': 'Payout completed',
  'payout.failed': 'Payout failed',
  'deposit.detected': 'Deposit detected',
  'deposit.confirmed': 'Deposit confirmed',
  'deposit.reversed': 'Deposit reversed',
}
export const EVENT_TYPES = Object.keys(EVENT_LABELS) as EventType[]

const KNOWN: { readonly [type: string]: string } = EVENT_LABELS
export const eventLabel = (type: string): string => KNOWN[type] ?? type

import { createHmac } from 'node:crypto'
import type { EventFormat } from '../../delivery/event-format.ts'
import { isCovered } from '../invoice-facts.ts'
import { type StoredInvoiceEvent, storedInvoiceEvent } from '../stored-event.ts'
import { chargeOf } from './charge.ts'

/** The API version that its webhooks name, its last. */
const API_VERSION = '2018-03-22'

/** Coinbase Commerce's webhooks: a charge in its events, and `X-CC-Webhook-Signature`, the HMAC-SHA-256 of the body. */
export const CHARGE_EVENTS: EventFormat = {
  bodyOf: ({ endpointId, eventId, body }) => {
    const event = storedInvoiceEvent(body)
    const { id, created_at, data } = event
    return envelope(`${eventId}_${endpointId}`, { id, type: typeOf(event), created_at, data: chargeOf(data) })
  },
  trialBody: ({ eventId: id, now }) => {
    const created_at = now.toISOString()
    const timeline = [{ time: created_at, status: 'NEW' }]
    const data = { id, code: id, resource: 'charge', name: 'Test', metadata: {}, timeline, payments: [] }
    return envelope(id, { id, type: 'charge:created', created_at, data })
  },
  signature: (body, secret) => ({
    'x-cc-webhook-signature': createHmac('sha256', secret).update(body).digest('hex'),
  }),
}

/** Coinbase numbers each attempt. Here every attempt is the first, because their bytes are the same. */
const envelope = (
  id: string,
  event: { readonly id: string; readonly type: string; readonly created_at: string; readonly data: object },
): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      id,
      scheduled_for: event.created_at,
      attempt_number: 1,
      event: { ...event, resource: 'event', api_version: API_VERSION },
    }),
    'utf8',
  )

/**
 * The charge event that ours becomes. Many shops take `charge:pending` for paid in full, so a payment that falls short
 * leaves the charge as created; too little and too much are `charge:failed`, and the timeline says why.
 */
function typeOf({ event_type: type, data: invoice }: StoredInvoiceEvent): string {
  switch (type) {
    case 'invoice.created':
      return 'charge:created'
    case 'invoice.payment_detected':
    case 'invoice.confirming':
      return isCovered(invoice) ? 'charge:pending' : 'charge:created'
    case 'invoice.paid':
      return 'charge:confirmed'
    case 'invoice.overpaid':
    case 'invoice.partially_paid':
    case 'invoice.expired':
      return 'charge:failed'
    case 'invoice.manual_review':
      return 'charge:delayed'
    default:
      return type satisfies never
  }
}

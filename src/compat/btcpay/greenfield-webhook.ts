import { createHmac } from 'node:crypto'
import type { z } from 'zod'
import { INVOICE_EVENT_TYPES } from '../../core/invoice/types.ts'
import type { EventFormat } from '../../delivery/event-format.ts'
import type { webhookEndpointView } from '../../wire/webhook-endpoint.ts'
import {
  type InvoiceSnapshot,
  isCovered,
  isObject,
  type Metadata,
  textOf,
  unixSeconds,
} from '../invoice-facts.ts'
import { type StoredInvoiceEvent, storedInvoiceEvent } from '../stored-event.ts'
import { greenfieldStatusOf, methodOf, ownMetadata, paymentData } from './greenfield-invoice.ts'
import type { Fault, Translated } from './invoice-request.ts'
import { trialInvoiceId } from './trial-invoice.ts'

type Endpoint = z.output<typeof webhookEndpointView>
type OwnType = StoredInvoiceEvent['event_type']

/** Our event types for each of Greenfield's. We have none for a cancellation. */
const OWN_TYPES: { readonly [type: string]: readonly OwnType[] } = {
  InvoiceCreated: ['invoice.created'],
  InvoiceReceivedPayment: ['invoice.payment_detected', 'invoice.confirming', 'invoice.manual_review'],
  InvoiceProcessing: ['invoice.payment_detected', 'invoice.confirming', 'invoice.manual_review'],
  InvoicePaymentSettled: ['invoice.partially_paid'],
  InvoiceSettled: ['invoice.paid', 'invoice.overpaid'],
  InvoiceExpired: ['invoice.expired', 'invoice.partially_paid'],
  InvoiceInvalid: [],
}

/** Translates Greenfield's request for a webhook to the body of our `POST /webhook-endpoints`. */
export function webhookRequest(fields: Metadata): Translated {
  const { url, secret, enabled = true, automaticRedelivery = true, authorizedEvents } = fields
  const faults: Fault[] = []
  if (typeof url !== 'string') faults.push({ path: 'url', message: 'Must be a URL.' })
  if (enabled !== true) faults.push({ path: 'enabled', message: 'Must be true.' })
  if (automaticRedelivery !== true) faults.push({ path: 'automaticRedelivery', message: 'Must be true.' })
  const types = ownTypes(isObject(authorizedEvents) ? authorizedEvents : {})
  if (types === null)
    faults.push({ path: 'authorizedEvents', message: `Must be from ${Object.keys(OWN_TYPES).join(', ')}.` })
  if (faults.length > 0 || types === null) return { kind: 'refused', faults }
  return {
    kind: 'translated',
    body: { url, subscribed_events: types, format: 'btcpay', secret: textOf(secret) },
  }
}

/** Null if an unknown event is named. */
function ownTypes({ everything, specificEvents }: Metadata): readonly string[] | null {
  const names: unknown = specificEvents ?? []
  if (everything === true || (everything === undefined && Array.isArray(names) && names.length === 0))
    return INVOICE_EVENT_TYPES
  if (!Array.isArray(names)) return null
  const types = new Set<string>()
  for (const name of names as readonly unknown[]) {
    const own = typeof name === 'string' && Object.hasOwn(OWN_TYPES, name) ? OWN_TYPES[name] : undefined
    if (own === undefined) return null
    for (const type of own) types.add(type)
  }
  return [...types]
}

/** An endpoint as Greenfield's `WebhookData`. It is enabled once it has been verified. */
export function webhookData({ id, url, status, subscribed_events: types }: Endpoint) {
  const specificEvents = Object.keys(OWN_TYPES).filter((name) =>
    OWN_TYPES[name]?.every((type) => types.includes(type)),
  )
  const everything = specificEvents.length === Object.keys(OWN_TYPES).length
  return {
    id,
    enabled: status === 'enabled',
    automaticRedelivery: true,
    url,
    authorizedEvents: { everything, specificEvents: everything ? [] : specificEvents },
  }
}

/** BTCPay's webhooks: its invoice events, signed in `BTCPay-Sig` by the HMAC-SHA-256 of the body alone. */
export const GREENFIELD_EVENTS: EventFormat = {
  bodyOf: ({ endpointId, eventId, body }) => {
    const event = storedInvoiceEvent(body)
    return envelope(endpointId, `${eventId}_${endpointId}`, {
      ...happened(event),
      timestamp: unixSeconds(event.created_at),
      storeId: event.merchant_id,
      invoiceId: event.data.id,
      metadata: ownMetadata(event.data),
    })
  },
  trialBody: ({ endpointId, merchantId, eventId, now }) =>
    envelope(endpointId, eventId, {
      type: 'InvoiceCreated',
      timestamp: unixSeconds(now.toISOString()),
      storeId: merchantId,
      invoiceId: trialInvoiceId({ eventId, endpointId }),
      metadata: {},
    }),
  signature: (body, secret) => ({
    'btcpay-sig': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }),
}

/** BTCPay gives each attempt an id of its own. Here all attempts share one, because their bytes are the same. */
const envelope = (webhookId: string, deliveryId: string, fields: object): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      deliveryId,
      webhookId,
      originalDeliveryId: deliveryId,
      isRedelivery: false,
      ...fields,
    }),
    'utf8',
  )

/** The BTCPay event that ours becomes, with that event's own fields. */
function happened(event: StoredInvoiceEvent) {
  const { event_type: type, created_at: at, data: invoice } = event
  switch (type) {
    case 'invoice.created':
      return { type: 'InvoiceCreated' }
    case 'invoice.payment_detected':
    case 'invoice.confirming':
      return isCovered(invoice)
        ? { type: 'InvoiceProcessing', overPaid: false }
        : { type: 'InvoiceReceivedPayment', ...paymentOf(event, invoice.payments.at(-1)) }
    case 'invoice.paid':
      return {
        type: 'InvoiceSettled',
        manuallyMarked: invoice.status_reason === 'accepted',
        overPaid: false,
      }
    case 'invoice.overpaid':
      return { type: 'InvoiceSettled', manuallyMarked: false, overPaid: true }
    case 'invoice.partially_paid':
      return Date.parse(at) > Date.parse(invoice.expires_at)
        ? { type: 'InvoiceExpired', partiallyPaid: true }
        : { type: 'InvoicePaymentSettled', ...paymentOf(event, invoice.payments.at(-1)) }
    case 'invoice.expired':
      return { type: 'InvoiceExpired', partiallyPaid: false }
    case 'invoice.manual_review':
      return reviewed(event)
    default:
      throw new Error(`${type satisfies never} is no event of an invoice`)
  }
}

/** A payment that was reorganised away may come back; any other in review was received and settles nothing. */
function reviewed(event: StoredInvoiceEvent) {
  const { data: invoice } = event
  if (invoice.review_reason === 'reorged') return { type: 'InvoiceProcessing', overPaid: false }
  // Of too many payments those that wait are not carried by the invoice.
  const payment =
    invoice.payments.findLast(({ review_reason }) => review_reason !== null) ?? invoice.payments.at(-1)
  return { type: 'InvoiceReceivedPayment', ...paymentOf(event, payment) }
}

function paymentOf(
  { created_at: at, data: invoice }: StoredInvoiceEvent,
  payment: InvoiceSnapshot['payments'][number] | undefined,
) {
  if (payment === undefined) return {}
  const paymentMethod = methodOf(payment)
  const { status } = greenfieldStatusOf(invoice, new Date(at))
  return {
    // Of the invoice and no matter of time, as in BTCPay: shops take a paid order back for it.
    afterExpiration: status === 'Expired' || status === 'Invalid',
    paymentMethodId: paymentMethod,
    // The name of the same field in older versions of Greenfield.
    paymentMethod,
    payment: paymentData(payment, invoice.address),
  }
}

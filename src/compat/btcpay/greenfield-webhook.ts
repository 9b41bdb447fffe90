import type { z } from 'zod'
import type { webhookEndpointView } from '../../wire/webhook-endpoint.ts'
import { isObject, type Metadata } from '../invoice-facts.ts'
import type { StoredInvoiceEvent } from '../stored-event.ts'
import type { Asked, Fault } from './asked-invoice.ts'

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
export function askedWebhook(fields: Metadata): Asked {
  const { url, secret, enabled = true, automaticRedelivery = true, authorizedEvents } = fields
  const faults: Fault[] = []
  if (typeof url !== 'string') faults.push({ path: 'url', message: 'Must be a URL.' })
  if (secret !== undefined && secret !== null && secret !== '')
    faults.push({ path: 'secret', message: 'Paylink chooses the secret and tells it in its answer.' })
  if (enabled !== true) faults.push({ path: 'enabled', message: 'Must be true.' })
  if (automaticRedelivery !== true) faults.push({ path: 'automaticRedelivery', message: 'Must be true.' })
  const types = ownTypes(isObject(authorizedEvents) ? authorizedEvents : {})
  if (types === null)
    faults.push({ path: 'authorizedEvents', message: `Must be from ${Object.keys(OWN_TYPES).join(', ')}.` })
  if (faults.length > 0 || types === null) return { kind: 'refused', faults }
  return { kind: 'asked', body: { url, subscribed_events: types, format: 'btcpay' } }
}

/** Null if an unknown event is named. */
function ownTypes({ everything, specificEvents }: Metadata): readonly string[] | null {
  const names: unknown = specificEvents ?? []
  if (everything === true || (everything === undefined && Array.isArray(names) && names.length === 0))
    return ['*']
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

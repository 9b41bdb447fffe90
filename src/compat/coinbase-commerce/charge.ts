import { createHmac } from 'node:crypto'
import { COINS } from '../../core/assets.ts'
import { COMMERCE_KEY } from '../../core/invoice/translated.ts'
import { CURRENCIES } from '../../core/rates/currencies.ts'
import type { EventFormat } from '../../delivery/event-format.ts'
import {
  descriptionOf,
  type InvoiceSnapshot,
  isCovered,
  isObject,
  type Metadata,
  requestedPrice,
  textOf,
  tickerOf,
  totalIn,
} from '../invoice-facts.ts'
import { type StoredInvoiceEvent, storedInvoiceEvent } from '../stored-event.ts'

const NAME_LENGTH_MAX = 100
const DESCRIPTION_LENGTH_MAX = 200

type Translated =
  | { readonly kind: 'translated'; readonly body: Metadata }
  | { readonly kind: 'refused'; readonly message: string }

/** Translates the body of `POST /charges` to that of our `POST /invoices`. */
export function chargeRequest(fields: Metadata): Translated {
  const { name, description, pricing_type: pricing, local_price: price } = fields
  const isShort = (text: unknown, max: number) =>
    typeof text === 'string' && text !== '' && [...text].length <= max
  if (!isShort(name, NAME_LENGTH_MAX)) return refused(`name must have 1 to ${NAME_LENGTH_MAX} characters`)
  if (description !== undefined && !isShort(description, DESCRIPTION_LENGTH_MAX))
    return refused(`description must have 1 to ${DESCRIPTION_LENGTH_MAX} characters`)
  if (pricing !== 'fixed_price')
    return refused(
      'pricing_type must be fixed_price: no_price is not covered, and a payment link with a dynamic amount does the same',
    )
  const { currency, amount } = isObject(price) ? price : {}
  const total = totalIn(typeof currency === 'string' ? currency : '', amount)
  if (total === undefined)
    return refused(`local_price.currency must be USD, or one of ${CURRENCIES.join(', ')}`)
  if (total === null) return refused('local_price.amount must be an amount, such as "49.99"')
  const { redirect_url, cancel_url, metadata: given } = fields
  if (given !== undefined && given !== null && !isObject(given)) return refused('metadata must be an object')
  const metadata = given ?? {}
  return {
    kind: 'translated',
    body: {
      ...total,
      allow_asset_selection: true,
      external_reference: textOf(metadata.order_id ?? metadata.orderId),
      description: descriptionOf(description === undefined ? name : `${name}: ${description}`),
      customer_email: textOf(metadata.customer_email ?? metadata.email),
      return_url: textOf(redirect_url),
      metadata: { ...metadata, [COMMERCE_KEY]: { name, description, redirect_url, cancel_url } },
    },
  }
}

/** The fields of our `POST /invoices` by the names that a shop gave them, for what our API says of them. */
export const FIELDS: { readonly [param: string]: string } = {
  usd_amount: 'local_price.amount',
  'price.amount': 'local_price.amount',
  'price.currency': 'local_price.currency',
  external_reference: 'metadata.order_id',
  customer_email: 'metadata.email',
  return_url: 'redirect_url',
}

const refused = (message: string): Translated => ({ kind: 'refused', message })

type TimelineEntry = { readonly time: string; readonly status: string; readonly context?: string }

/** An invoice as a charge. Its code is its id. The API's answers have its page's URL, webhooks do not. */
export function chargeOf(invoice: InvoiceSnapshot & { readonly checkout_url?: string }) {
  const { [COMMERCE_KEY]: kept, ...metadata } = invoice.metadata ?? {}
  const charge = isObject(kept) ? kept : {}
  // A charge's network distinguishes coins of one ticker.
  const network = COINS[invoice.asset].chain
  const local = requestedPrice(invoice)
  return {
    id: invoice.id,
    code: invoice.id,
    resource: 'charge',
    name: charge.name ?? '',
    description: charge.description ?? '',
    ...(invoice.checkout_url === undefined ? {} : { hosted_url: invoice.checkout_url }),
    created_at: invoice.created_at,
    expires_at: invoice.expires_at,
    ...(invoice.paid_at === null ? {} : { confirmed_at: invoice.paid_at }),
    timeline: timelineOf(invoice),
    metadata,
    pricing_type: 'fixed_price',
    pricing: { local, [network]: { amount: invoice.amount, currency: tickerOf(invoice.asset) } },
    addresses: { [network]: invoice.address },
    payments: invoice.payments.map((payment) => ({
      network: COINS[payment.asset].chain,
      transaction_id: payment.txid,
      status: payment.status === 'confirmed' ? 'CONFIRMED' : PAYMENT_STATUS[payment.status],
      detected_at: payment.detected_at,
      value: {
        crypto: {
          amount: payment.amount,
          currency: tickerOf(payment.asset),
        },
      },
      block: { confirmations: payment.confirmations, confirmations_required: payment.confirmations_required },
    })),
    redirect_url: charge.redirect_url ?? null,
    cancel_url: charge.cancel_url ?? null,
  }
}

const PAYMENT_STATUS = {
  detected: 'PENDING',
  confirming: 'PENDING',
  replaced: 'FAILED',
  reorged: 'FAILED',
} as const

/** What has happened, in order; the last entry is where the charge stands. */
function timelineOf(invoice: InvoiceSnapshot): TimelineEntry[] {
  const entries: TimelineEntry[] = [{ time: invoice.created_at, status: 'NEW' }]
  const [first] = invoice.payments
  // Many shops take PENDING for paid in full, so a payment that falls short is not PENDING.
  if (first !== undefined && isCovered(invoice)) entries.push({ time: first.detected_at, status: 'PENDING' })
  const last = lastEntry(invoice)
  return last === null ? entries : [...entries, last]
}

function lastEntry(invoice: InvoiceSnapshot): TimelineEntry | null {
  const newest = invoice.payments.at(-1)
  const at = newest?.confirmed_at ?? newest?.detected_at ?? invoice.expires_at
  const unresolved = (context: string): TimelineEntry => ({ time: at, status: 'UNRESOLVED', context })
  switch (invoice.status) {
    case 'awaiting_payment':
    case 'payment_detected':
    case 'confirming':
      return null
    case 'paid':
      return { time: invoice.paid_at ?? at, status: 'COMPLETED' }
    case 'partially_paid':
      return unresolved('UNDERPAID')
    case 'overpaid':
      return unresolved('OVERPAID')
    case 'expired':
      return { time: invoice.expires_at, status: 'EXPIRED' }
    case 'cancelled':
      return { time: invoice.cancelled_at ?? at, status: 'CANCELED' }
    case 'manual_review':
      return unresolved(invoice.review_reason === 'late' ? 'DELAYED' : 'OTHER')
    default:
      return invoice.status satisfies never
  }
}

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

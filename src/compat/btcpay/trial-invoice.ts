import { ID_PREFIXES, idPattern } from '../../core/ids.ts'
import { unixSeconds } from '../invoice-facts.ts'

/** An event by which a webhook endpoint is verified. */
export type Trial = { readonly eventId: string; readonly endpointId: string }

const [EVENT_ID, ENDPOINT_ID] = (['event', 'webhookEndpoint'] as const).map((kind) =>
  idPattern(ID_PREFIXES[kind]).source.slice(1, -1),
)
const TRIAL_INVOICE_ID = new RegExp(`^__test__(${EVENT_ID})_(${ENDPOINT_ID})__test__$`)

/** BTCPay's own test delivery names an invoice of this form; receivers recognise it by that. */
export const trialInvoiceId = ({ eventId, endpointId }: Trial): string =>
  `__test__${eventId}_${endpointId}__test__`

/** Null if the id is no trial's. */
export function trialOf(invoiceId: string): Trial | null {
  const [, eventId, endpointId] = TRIAL_INVOICE_ID.exec(invoiceId) ?? []
  return eventId === undefined || endpointId === undefined ? null : { eventId, endpointId }
}

/**
 * The invoice that a trial names. There is none: BTCPay answers 404 here, which receivers take for a failure of their
 * own. It belongs to no order, by whatever name a shop looks for one.
 */
export function trialInvoiceData(id: string, storeId: string, now: Date) {
  const time = unixSeconds(now.toISOString())
  return {
    id,
    storeId,
    amount: '0',
    currency: 'USD',
    type: 'Standard',
    createdTime: time,
    expirationTime: time,
    monitoringExpiration: time,
    status: 'New',
    additionalStatus: 'None',
    availableStatusesForManualMarking: [],
    archived: false,
    metadata: { orderId: id, orderNumber: id, transactionId: id },
    checkout: {},
  }
}

import type { InvoiceEventType } from '../core/invoice/types.ts'
import type { InvoiceSnapshot } from './invoice-facts.ts'

/** What a translation reads of an event of ours about an invoice, as it is stored. */
export type StoredInvoiceEvent = {
  readonly id: string
  readonly event_type: InvoiceEventType
  readonly merchant_id: string
  readonly created_at: string
  readonly data: InvoiceSnapshot
}

/** Parses an event that we stored ourselves: it was checked against its schema when it was written. */
export const storedInvoiceEvent = (body: Uint8Array): StoredInvoiceEvent =>
  JSON.parse(Buffer.from(body).toString('utf8')) as StoredInvoiceEvent

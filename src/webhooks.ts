/** The package's export `paylink/webhooks`, for merchants' servers: it depends on nothing but Node. */
export type {
  Asset,
  EndpointVerificationEvent,
  Envelope,
  Invoice,
  InvoiceEvent,
  InvoiceEventType,
  InvoiceStatus,
  OtherEvent,
  Payment,
  WebhookEvent,
} from './webhooks/events.ts'
export type { WebhookHeaders } from './webhooks/read-headers.ts'
export { type RejectionCode, UnsupportedSchemaVersion, WebhookRejected } from './webhooks/rejected.ts'
export { type VerifyOptions, verify } from './webhooks/verify.ts'

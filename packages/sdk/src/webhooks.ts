/** `paylink-sdk/webhooks`: everything that a receiver of events needs, on `node:crypto` alone. */
export type {
  DepositEvent,
  DepositEventType,
  EndpointVerificationEvent,
  Envelope,
  InvoiceEvent,
  InvoiceEventType,
  InvoiceSnapshot,
  OtherEvent,
  PayoutEvent,
  PayoutEventType,
  WebhookEvent,
} from './webhooks/events.ts'
export type { WebhookHeaders } from './webhooks/read-headers.ts'
export { type RejectionCode, UnsupportedSchemaVersion, WebhookRejected } from './webhooks/rejected.ts'
export { type VerifyOptions, verify } from './webhooks/verify.ts'

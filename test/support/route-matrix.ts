import { randomBytes } from 'node:crypto'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import type { Route } from '../../src/http/api/route.ts'
import type { ResourceKind, Resources } from './resources.ts'

export type Row = {
  /** What `:id` names; absent where the path has none. */
  readonly resource?: ResourceKind
  readonly body?: (own: Resources) => object
  /** Statuses that show that a request got past its credential and id; the route's own success unless given. */
  readonly reached?: readonly number[]
}

/** A PNG of eight by eight dots. */
export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAMAAADz0U65AAAAA1BMVEXMmWY7nafAAAAADElEQVQImWNgoA4AAABIAAF7pRHIAAAAAElFTkSuQmCC'

/** One row for each route: a route without one fails the first test. */
export const MATRIX: { readonly [operationId: string]: Row } = {
  createInvoice: { body: () => ({ usd_amount: '10', asset: 'LTC' }) },
  listInvoices: {},
  getInvoice: { resource: 'invoice' },
  listInvoicePayments: { resource: 'invoice' },
  // The second caller finds it cancelled.
  cancelInvoice: { resource: 'invoice', reached: [200, 409] },
  resolveInvoice: { resource: 'invoice', body: () => ({ resolution: 'accept' }), reached: [409] },
  getInvoiceNote: { resource: 'invoice' },
  listBuyerEmails: { resource: 'invoice' },
  updateInvoiceNote: { resource: 'invoice', body: () => ({ text: 'Called.' }) },
  createPaymentLink: { body: () => ({ name: 'Coffee', usd_amount: '10', asset: 'LTC' }) },
  listPaymentLinks: {},
  getPaymentLink: { resource: 'paymentLink' },
  updatePaymentLink: { resource: 'paymentLink', body: () => ({ name: 'Tea' }) },
  renewStaffCode: { resource: 'paymentLink' },
  uploadTillPicture: { body: () => ({ picture: PICTURE }) },
  // The second caller finds the session of the same order.
  createCheckoutSession: {
    resource: 'paymentLink',
    body: (own) => ({ order_reference: `of ${own.event}`, usd_amount: '10' }),
    reached: [201, 200],
  },
  listCheckoutSessions: { resource: 'paymentLink' },
  getCheckoutSession: { resource: 'checkoutSession' },
  // The second caller finds it cancelled.
  cancelCheckoutSession: { resource: 'checkoutSession', reached: [200, 409] },
  // The second caller finds the customer's.
  createDepositAddress: {
    body: (own) => ({ customer_reference: `customer of ${own.event}` }),
    reached: [201, 200],
  },
  listDepositAddresses: {},
  getDepositAddress: { resource: 'depositAddress' },
  listDeposits: {},
  getDeposit: { resource: 'deposit' },
  listAssets: {},
  listRates: {},
  listBalances: {},
  listBalanceEntries: {},
  createPayoutDestination: {
    // Such an address is good in both modes.
    body: () => ({ asset: 'ETH', address: encodeEvmAddress(randomBytes(20)), name: 'Treasury' }),
  },
  listImportedInvoices: {},
  listCustomers: {},
  listPayoutDestinations: {},
  // Deleted by the first who may.
  deletePayoutDestination: { resource: 'payoutDestination', reached: [204, 404] },
  quotePayout: { resource: 'payoutDestination' },
  createPayout: {
    body: (own) => ({ destination_id: own.payoutDestination, amount: '0.01' }),
  },
  listPayouts: {},
  getPayout: { resource: 'payout' },
  getPayoutApproval: { resource: 'payout' },
  // The second caller finds it decided.
  approvePayout: { resource: 'payout', reached: [200, 409] },
  rejectPayout: { resource: 'payout', reached: [200, 409] },
  payTestDeposit: {
    resource: 'depositAddress',
    body: () => ({ asset: 'LTC', amount: '0.5' }),
    reached: [409],
  },
  payTestInvoice: { resource: 'invoice', body: () => ({ scenario: 'exact' }), reached: [409] },
  createWebhookEndpoint: {
    body: () => ({ url: 'https://shop.example/hook', subscribed_events: ['*'] }),
  },
  requestWebhookEndpoint: {
    body: () => ({ url: 'https://shop.example/hook', subscribed_events: ['*'] }),
  },
  listWebhookEndpoints: {},
  getWebhookEndpoint: { resource: 'webhookEndpoint' },
  updateWebhookEndpoint: {
    resource: 'webhookEndpoint',
    body: () => ({ subscribed_events: ['invoice.paid'] }),
  },
  listEndpointAttempts: { resource: 'webhookEndpoint' },
  // Deleted by the first who may.
  deleteWebhookEndpoint: { resource: 'webhookEndpoint', reached: [204, 404] },
  // Nobody listens at the endpoint's address.
  verifyWebhookEndpoint: { resource: 'webhookEndpoint', reached: [422] },
  rotateWebhookSecret: { resource: 'webhookEndpoint', body: () => ({ grace_seconds: 0 }) },
  disableWebhookEndpoint: { resource: 'webhookEndpoint' },
  listEvents: {},
  getEvent: { resource: 'event' },
  listEventAttempts: { resource: 'event' },
  queueEvent: {
    resource: 'event',
    body: (own) => ({ endpoint_id: own.webhookEndpoint }),
    reached: [200, 409],
  },
  recoverEvents: {
    body: (own) => ({ endpoint_id: own.webhookEndpoint, since: '2026-01-01T00:00:00Z' }),
    reached: [200, 409],
  },
  listApiKeys: {},
  // The matrix makes more keys than a merchant may have.
  createApiKey: { body: () => ({ name: 'Server', scopes: ['invoices:read'] }), reached: [201, 409] },
  revokeApiKey: { resource: 'apiKey' },
  getPaymentRules: {},
  updatePaymentRules: { body: () => ({ window_minutes: 30 }) },
  getSavedViews: {},
  updateSavedViews: { body: () => ({ list: 'invoices', name: 'Paid', query: { status: 'paid' } }) },
  listAuditEntries: {},
  getMerchant: {},
  updateMerchant: { body: () => ({ brand_colour: '#1a73e8' }) },
  getStatistics: {},
  getNotices: {},
  updateNotices: { body: () => ({ paid: false }) },
  listRequestLogs: {},
  getRequestLog: { resource: 'requestLog' },
}

/**
 * What in live mode takes an owner or admin at the dashboard who proved a second factor in the last five minutes.
 * Written out from the documents and never read from the routes: a route that loses its setting fails the tests.
 */
export const STEP_UP: ReadonlySet<string> = new Set([
  // Spec §5.5 and §5.6: live endpoints. Disabling one is a write as well.
  'createWebhookEndpoint',
  'updateWebhookEndpoint',
  'verifyWebhookEndpoint',
  'rotateWebhookSecret',
  'deleteWebhookEndpoint',
  'disableWebhookEndpoint',
  // Spec §5.6: recovery of live events, by the one or by the many.
  'queueEvent',
  'recoverEvents',
  // A resolution credits money.
  'resolveInvoice',
  // Money out.
  'createPayoutDestination',
  'deletePayoutDestination',
  'approvePayout',
  'rejectPayout',
  // What opens the way to money: keys, and the rules of payments.
  'createApiKey',
  'updatePaymentRules',
])

/** What no live credential may do at all. */
export const TEST_ONLY: ReadonlySet<string> = new Set(['payTestDeposit', 'payTestInvoice'])

/** Of people, what owners and admins alone may do, in both modes. */
export const MANAGERS: ReadonlySet<string> = new Set([
  'createApiKey',
  'revokeApiKey',
  'updatePaymentRules',
  'updateMerchant',
  'listAuditEntries',
])

/** What no API key of any scope reaches. */
export const DASHBOARD_ONLY: ReadonlySet<string> = new Set([
  'getPayoutApproval',
  'listApiKeys',
  'createApiKey',
  'revokeApiKey',
  'getPaymentRules',
  'updatePaymentRules',
  'listAuditEntries',
  'getMerchant',
  'updateMerchant',
  'getStatistics',
  'listRequestLogs',
  'getRequestLog',
  'listCustomers',
  'getInvoiceNote',
  'listBuyerEmails',
  'updateInvoiceNote',
  'getNotices',
  'getSavedViews',
  'updateSavedViews',
  'updateNotices',
])

/** What the matrix knows of a route. */
export function rowOf(route: Route): Row {
  const row = MATRIX[route.operationId]
  if (row === undefined) throw new Error(`${route.operationId} is missing from the matrix`)
  return row
}

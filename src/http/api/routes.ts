import type { Route } from './route.ts'
import { approvePayoutRoute } from './routes/approve-payout.ts'
import { cancelCheckoutSessionRoute } from './routes/cancel-checkout-session.ts'
import { cancelInvoiceRoute } from './routes/cancel-invoice.ts'
import { createApiKeyRoute } from './routes/create-api-key.ts'
import { createCheckoutSessionRoute } from './routes/create-checkout-session.ts'
import { createInvoiceRoute } from './routes/create-invoice.ts'
import { createPaymentLinkRoute } from './routes/create-payment-link.ts'
import { createPayoutRoute } from './routes/create-payout.ts'
import { createPayoutDestinationRoute } from './routes/create-payout-destination.ts'
import { createWebhookEndpointRoute } from './routes/create-webhook-endpoint.ts'
import { deletePayoutDestinationRoute } from './routes/delete-payout-destination.ts'
import { deleteWebhookEndpointRoute } from './routes/delete-webhook-endpoint.ts'
import { disableWebhookEndpointRoute } from './routes/disable-webhook-endpoint.ts'
import { getCheckoutSessionRoute } from './routes/get-checkout-session.ts'
import { getEventRoute } from './routes/get-event.ts'
import { getInvoiceRoute } from './routes/get-invoice.ts'
import { getMerchantRoute } from './routes/get-merchant.ts'
import { getNoticesRoute } from './routes/get-notices.ts'
import { getPaymentLinkRoute } from './routes/get-payment-link.ts'
import { getPaymentRulesRoute } from './routes/get-payment-rules.ts'
import { getPayoutRoute } from './routes/get-payout.ts'
import { getPayoutApprovalRoute } from './routes/get-payout-approval.ts'
import { getStatisticsRoute } from './routes/get-statistics.ts'
import { getWebhookEndpointRoute } from './routes/get-webhook-endpoint.ts'
import { listApiKeysRoute } from './routes/list-api-keys.ts'
import { listAssetsRoute } from './routes/list-assets.ts'
import { listAuditEntriesRoute } from './routes/list-audit-entries.ts'
import { listBalanceEntriesRoute } from './routes/list-balance-entries.ts'
import { listBalancesRoute } from './routes/list-balances.ts'
import { listCheckoutSessionsRoute } from './routes/list-checkout-sessions.ts'
import { listEventAttemptsRoute } from './routes/list-event-attempts.ts'
import { listEventsRoute } from './routes/list-events.ts'
import { listImportedInvoicesRoute } from './routes/list-imported-invoices.ts'
import { listInvoicePaymentsRoute } from './routes/list-invoice-payments.ts'
import { listInvoicesRoute } from './routes/list-invoices.ts'
import { listPaymentLinksRoute } from './routes/list-payment-links.ts'
import { listPayoutDestinationsRoute } from './routes/list-payout-destinations.ts'
import { listPayoutsRoute } from './routes/list-payouts.ts'
import { listRatesRoute } from './routes/list-rates.ts'
import { listRequestLogsRoute } from './routes/list-request-logs.ts'
import { listWebhookEndpointsRoute } from './routes/list-webhook-endpoints.ts'
import { payTestInvoiceRoute } from './routes/pay-test-invoice.ts'
import { queueEventRoute } from './routes/queue-event.ts'
import { quotePayoutRoute } from './routes/quote-payout.ts'
import { recoverEventsRoute } from './routes/recover-events.ts'
import { rejectPayoutRoute } from './routes/reject-payout.ts'
import { resolveInvoiceRoute } from './routes/resolve-invoice.ts'
import { revokeApiKeyRoute } from './routes/revoke-api-key.ts'
import { rotateWebhookSecretRoute } from './routes/rotate-webhook-secret.ts'
import { updateMerchantRoute } from './routes/update-merchant.ts'
import { updateNoticesRoute } from './routes/update-notices.ts'
import { updatePaymentLinkRoute } from './routes/update-payment-link.ts'
import { updatePaymentRulesRoute } from './routes/update-payment-rules.ts'
import { verifyWebhookEndpointRoute } from './routes/verify-webhook-endpoint.ts'

/**
 * Every route of the API. The server, the OpenAPI document and the tests' matrix of credentials all read this
 * table: what is not in it does not exist.
 */
export const ROUTES: readonly Route[] = [
  createInvoiceRoute,
  listInvoicesRoute,
  getInvoiceRoute,
  listInvoicePaymentsRoute,
  cancelInvoiceRoute,
  resolveInvoiceRoute,
  listImportedInvoicesRoute,
  createPaymentLinkRoute,
  listPaymentLinksRoute,
  getPaymentLinkRoute,
  updatePaymentLinkRoute,
  createCheckoutSessionRoute,
  listCheckoutSessionsRoute,
  getCheckoutSessionRoute,
  cancelCheckoutSessionRoute,
  listAssetsRoute,
  listRatesRoute,
  listBalancesRoute,
  listBalanceEntriesRoute,
  payTestInvoiceRoute,
  createWebhookEndpointRoute,
  listWebhookEndpointsRoute,
  getWebhookEndpointRoute,
  deleteWebhookEndpointRoute,
  verifyWebhookEndpointRoute,
  rotateWebhookSecretRoute,
  disableWebhookEndpointRoute,
  listEventsRoute,
  recoverEventsRoute,
  getEventRoute,
  listEventAttemptsRoute,
  queueEventRoute,
  listApiKeysRoute,
  createApiKeyRoute,
  revokeApiKeyRoute,
  getPaymentRulesRoute,
  updatePaymentRulesRoute,
  listAuditEntriesRoute,
  getMerchantRoute,
  updateMerchantRoute,
  getStatisticsRoute,
  listRequestLogsRoute,
  getNoticesRoute,
  updateNoticesRoute,
  createPayoutDestinationRoute,
  listPayoutDestinationsRoute,
  deletePayoutDestinationRoute,
  quotePayoutRoute,
  createPayoutRoute,
  listPayoutsRoute,
  getPayoutRoute,
  getPayoutApprovalRoute,
  approvePayoutRoute,
  rejectPayoutRoute,
]

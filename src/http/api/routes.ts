import type { Route } from './route.ts'
import { createApiKeyRoute, listApiKeysRoute, revokeApiKeyRoute } from './routes/api-keys.ts'
import { listAssetsRoute, listRatesRoute } from './routes/assets.ts'
import { listBalanceEntriesRoute, listBalancesRoute } from './routes/balances.ts'
import { listBuyerEmailsRoute } from './routes/buyer-emails.ts'
import {
  cancelCheckoutSessionRoute,
  createCheckoutSessionRoute,
  getCheckoutSessionRoute,
  listCheckoutSessionsRoute,
} from './routes/checkout-sessions.ts'
import { createInvoiceRoute } from './routes/create-invoice.ts'
import { listCustomersRoute } from './routes/customers.ts'
import {
  createDepositAddressRoute,
  getDepositAddressRoute,
  getDepositRoute,
  listDepositAddressesRoute,
  listDepositsRoute,
} from './routes/deposits.ts'
import {
  getEventRoute,
  listEventAttemptsRoute,
  listEventsRoute,
  queueEventRoute,
  recoverEventsRoute,
} from './routes/events.ts'
import { getInvoiceNoteRoute, updateInvoiceNoteRoute } from './routes/invoice-notes.ts'
import {
  cancelInvoiceRoute,
  getInvoiceRoute,
  listImportedInvoicesRoute,
  listInvoicePaymentsRoute,
  listInvoicesRoute,
  resolveInvoiceRoute,
} from './routes/invoices.ts'
import { getRequestLogRoute, listAuditEntriesRoute, listRequestLogsRoute } from './routes/logs.ts'
import {
  getMerchantRoute,
  getNoticesRoute,
  getPaymentRulesRoute,
  getStatisticsRoute,
  updateMerchantRoute,
  updateNoticesRoute,
  updatePaymentRulesRoute,
} from './routes/merchant.ts'
import {
  createPaymentLinkRoute,
  getPaymentLinkRoute,
  listPaymentLinksRoute,
  renewStaffCodeRoute,
  updatePaymentLinkRoute,
  uploadTillPictureRoute,
} from './routes/payment-links.ts'
import {
  createPayoutDestinationRoute,
  deletePayoutDestinationRoute,
  listPayoutDestinationsRoute,
} from './routes/payout-destinations.ts'
import {
  approvePayoutRoute,
  createPayoutRoute,
  getPayoutApprovalRoute,
  getPayoutRoute,
  listPayoutsRoute,
  quotePayoutRoute,
  rejectPayoutRoute,
} from './routes/payouts.ts'
import { getSavedViewsRoute, updateSavedViewsRoute } from './routes/saved-views.ts'
import { payTestDepositRoute, payTestInvoiceRoute } from './routes/test-payments.ts'
import {
  createWebhookEndpointRoute,
  deleteWebhookEndpointRoute,
  disableWebhookEndpointRoute,
  getWebhookEndpointRoute,
  listEndpointAttemptsRoute,
  listWebhookEndpointsRoute,
  requestWebhookEndpointRoute,
  rotateWebhookSecretRoute,
  updateWebhookEndpointRoute,
  verifyWebhookEndpointRoute,
} from './routes/webhook-endpoints.ts'

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
  getInvoiceNoteRoute,
  listBuyerEmailsRoute,
  updateInvoiceNoteRoute,
  listImportedInvoicesRoute,
  listCustomersRoute,
  createPaymentLinkRoute,
  listPaymentLinksRoute,
  getPaymentLinkRoute,
  updatePaymentLinkRoute,
  renewStaffCodeRoute,
  uploadTillPictureRoute,
  createCheckoutSessionRoute,
  listCheckoutSessionsRoute,
  getCheckoutSessionRoute,
  cancelCheckoutSessionRoute,
  createDepositAddressRoute,
  listDepositAddressesRoute,
  getDepositAddressRoute,
  listDepositsRoute,
  getDepositRoute,
  listAssetsRoute,
  listRatesRoute,
  listBalancesRoute,
  listBalanceEntriesRoute,
  payTestInvoiceRoute,
  payTestDepositRoute,
  createWebhookEndpointRoute,
  listWebhookEndpointsRoute,
  requestWebhookEndpointRoute,
  getWebhookEndpointRoute,
  updateWebhookEndpointRoute,
  listEndpointAttemptsRoute,
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
  getSavedViewsRoute,
  updateSavedViewsRoute,
  listAuditEntriesRoute,
  getMerchantRoute,
  updateMerchantRoute,
  getStatisticsRoute,
  listRequestLogsRoute,
  getRequestLogRoute,
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

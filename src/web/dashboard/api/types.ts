import type { z } from 'zod'
import type { assetView, balanceEntryView, balanceView, rateView } from '../../../wire/account.ts'
import type {
  apiKeyView,
  auditEntryView,
  buyerEmailsView,
  createApiKeyBody,
  createdApiKeyView,
  customerView,
  invoiceNoteView,
  merchantView,
  noticesView,
  paymentRulesView,
  requestLogView,
  savedViewsView,
  statisticsView,
  updateMerchantBody,
  updateNoticesBody,
  updatePaymentRulesBody,
  updateSavedViewsBody,
} from '../../../wire/dashboard.ts'
import type { depositAddressView, depositView } from '../../../wire/deposit.ts'
import type {
  attemptView,
  eventView,
  queuedDeliveryView,
  recoverEventsBody,
  recoveryView,
} from '../../../wire/event.ts'
import type { importedInvoiceView } from '../../../wire/imported-invoice.ts'
import type { createInvoiceBody, invoiceView, paymentView } from '../../../wire/invoice.ts'
import type {
  checkoutSessionView,
  createCheckoutSessionBody,
  createPaymentLinkBody,
  paymentLinkView,
  staffCodeView,
  tillPictureView,
  updatePaymentLinkBody,
  uploadTillPictureBody,
} from '../../../wire/payment-link.ts'
import type {
  approvePayoutBody,
  createPayoutBody,
  createPayoutDestinationBody,
  payoutApprovalView,
  payoutDestinationView,
  payoutQuoteView,
  payoutView,
} from '../../../wire/payout.ts'
import type {
  payTestDepositBody,
  payTestInvoiceBody,
  testDepositView,
  testPaymentView,
} from '../../../wire/test-payment.ts'
import type {
  createdWebhookEndpointView,
  createWebhookEndpointBody,
  rotatedSecretView,
  updateWebhookEndpointBody,
  webhookEndpointView,
} from '../../../wire/webhook-endpoint.ts'

/** The API's resources as the dashboard reads them: what `wire` says, and nothing of its own. */

export type Invoice = z.output<typeof invoiceView>
export type BuyerEmails = z.output<typeof buyerEmailsView>
export type InvoiceNote = z.output<typeof invoiceNoteView>
export type SavedViews = z.output<typeof savedViewsView>
export type UpdateSavedViews = z.input<typeof updateSavedViewsBody>
export type InvoiceStatus = Invoice['status']
export type Payment = z.output<typeof paymentView>
export type ImportedInvoice = z.output<typeof importedInvoiceView>
export type CreateInvoice = z.input<typeof createInvoiceBody>
export type AssetName = Invoice['asset']
/** What may come to an address; more than an invoice can ask for. */
export type PaidAssetName = Payment['asset']
export type Asset = z.output<typeof assetView>
export type Rate = z.output<typeof rateView>
export type Balance = z.output<typeof balanceView>
export type BalanceEntry = z.output<typeof balanceEntryView>
export type Payout = z.output<typeof payoutView>
export type PayoutStatus = Payout['status']
export type CreatePayout = z.input<typeof createPayoutBody>
export type PayoutQuote = z.output<typeof payoutQuoteView>
export type PayoutApproval = z.output<typeof payoutApprovalView>
export type ApprovePayout = z.input<typeof approvePayoutBody>
export type PayoutDestination = z.output<typeof payoutDestinationView>
export type CreatePayoutDestination = z.input<typeof createPayoutDestinationBody>
export type UploadTillPicture = z.input<typeof uploadTillPictureBody>
export type TillPicture = z.output<typeof tillPictureView>
export type StaffCode = z.output<typeof staffCodeView>
export type PaymentLink = z.output<typeof paymentLinkView>
export type CreatePaymentLink = z.input<typeof createPaymentLinkBody>
export type UpdatePaymentLink = z.input<typeof updatePaymentLinkBody>
export type CheckoutSession = z.output<typeof checkoutSessionView>
export type CreateCheckoutSession = z.input<typeof createCheckoutSessionBody>
export type Scenario = z.input<typeof payTestInvoiceBody>['scenario']
export type TestPayment = z.output<typeof testPaymentView>
export type PayTestDeposit = z.output<typeof payTestDepositBody>
export type TestDeposit = z.output<typeof testDepositView>
export type WebhookEndpoint = z.output<typeof webhookEndpointView>
export type CreatedWebhookEndpoint = z.output<typeof createdWebhookEndpointView>
export type CreateWebhookEndpoint = z.input<typeof createWebhookEndpointBody>
export type UpdateWebhookEndpoint = z.input<typeof updateWebhookEndpointBody>
export type RotatedSecret = z.output<typeof rotatedSecretView>
export type PaylinkEvent = z.output<typeof eventView>
export type Attempt = z.output<typeof attemptView>
export type QueuedDelivery = z.output<typeof queuedDeliveryView>
export type RecoverEvents = z.input<typeof recoverEventsBody>
export type Recovery = z.output<typeof recoveryView>
export type ApiKey = z.output<typeof apiKeyView>
export type CreatedApiKey = z.output<typeof createdApiKeyView>
export type CreateApiKey = z.input<typeof createApiKeyBody>
export type PaymentRules = z.output<typeof paymentRulesView>
export type UpdatePaymentRules = z.input<typeof updatePaymentRulesBody>
export type Merchant = z.output<typeof merchantView>
export type UpdateMerchant = z.input<typeof updateMerchantBody>
export type Notices = z.output<typeof noticesView>
export type UpdateNotices = z.input<typeof updateNoticesBody>
export type RequestLog = z.output<typeof requestLogView>
export type Customer = z.output<typeof customerView>
export type Deposit = z.output<typeof depositView>
export type DepositAddress = z.output<typeof depositAddressView>
export type Statistics = z.output<typeof statisticsView>
export type AuditEntry = z.output<typeof auditEntryView>

/** A page of a list. */
export type List<Item> = { readonly has_more: boolean; readonly data: readonly Item[] }

import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { type Mode, Problem, type Query, requestApi } from './request.ts'
import type {
  ApiKey,
  Asset,
  Attempt,
  AuditEntry,
  Balance,
  BalanceEntry,
  BuyerEmails,
  CheckoutSession,
  Customer,
  Deposit,
  DepositAddress,
  ImportedInvoice,
  Invoice,
  InvoiceNote,
  List,
  Merchant,
  Notices,
  PaylinkEvent,
  PaymentLink,
  PaymentRules,
  Payout,
  PayoutApproval,
  PayoutDestination,
  Rate,
  RequestLog,
  SavedViews,
  Statistics,
  WebhookEndpoint,
} from './types.ts'

/** What the pages read, each under a key that begins with its mode, so that test and live never mix. */

/** Shown tables are read again so often; those of a hidden tab are not. */
const LIVE_MS = 4_000
const SLOW_MS = 15_000

function read<Result>(mode: Mode, path: string, query: Query = {}, everyMs = LIVE_MS) {
  return queryOptions({
    queryKey: [mode, path, query] as const,
    queryFn: ({ signal }) => requestApi<Result>(mode, 'GET', path, { query, signal }),
    refetchInterval: everyMs,
    placeholderData: keepPreviousData,
  })
}

/** One resource: never another one's while it loads. What the API does not know is not asked for again. */
function readOne<Result>(mode: Mode, path: string, everyMs = LIVE_MS) {
  return queryOptions({
    queryKey: [mode, path, {}] as const,
    queryFn: ({ signal }) => requestApi<Result>(mode, 'GET', path, { signal }),
    refetchInterval: ({ state: { error } }) =>
      error instanceof Problem && error.status === 404 ? false : everyMs,
  })
}

export const invoicesOf = (mode: Mode, query: Query = {}) => read<List<Invoice>>(mode, '/invoices', query)
/** What waits for a person, to be counted: more than this shows as more. */
const REVIEWS_COUNTED = 20
export const reviewsOf = (mode: Mode) =>
  read<List<Invoice>>(mode, '/invoices', { attention: 'open', limit: String(REVIEWS_COUNTED) }, SLOW_MS)
export const importedInvoicesOf = (mode: Mode, query: Query = {}) =>
  read<List<ImportedInvoice>>(mode, '/imported-invoices', query, SLOW_MS)
export const invoiceOf = (mode: Mode, id: string) => readOne<Invoice>(mode, `/invoices/${id}`)
export const buyerEmailsOf = (mode: Mode, id: string) =>
  readOne<BuyerEmails>(mode, `/invoices/${id}/buyer-emails`, SLOW_MS)

export const invoiceNoteOf = (mode: Mode, id: string) =>
  readOne<InvoiceNote>(mode, `/invoices/${id}/note`, SLOW_MS)
export const assetsOf = (mode: Mode) => read<List<Asset>>(mode, '/assets', {}, SLOW_MS)
export const ratesOf = (mode: Mode) => read<List<Rate>>(mode, '/rates', {}, SLOW_MS)
export const balancesOf = (mode: Mode, query: Query = {}) => read<List<Balance>>(mode, '/balances', query)
export const balanceEntriesOf = (mode: Mode, query: Query = {}) =>
  read<List<BalanceEntry>>(mode, '/balances/entries', query)
export const payoutsOf = (mode: Mode, query: Query = {}) => read<List<Payout>>(mode, '/payouts', query)
export const payoutOf = (mode: Mode, id: string) => readOne<Payout>(mode, `/payouts/${id}`)
export const approvalOf = (mode: Mode, id: string) => readOne<PayoutApproval>(mode, `/payouts/${id}/approval`)
/** All of them: a mode has at most a hundred. */
export const destinationsOf = (mode: Mode) =>
  read<List<PayoutDestination>>(mode, '/payout-destinations', { limit: '100' }, SLOW_MS)
export const linksOf = (mode: Mode, query: Query = {}) =>
  read<List<PaymentLink>>(mode, '/payment-links', query)
export const linkOf = (mode: Mode, id: string) => readOne<PaymentLink>(mode, `/payment-links/${id}`)
export const sessionsOf = (mode: Mode, linkId: string, query: Query = {}) =>
  read<List<CheckoutSession>>(mode, `/payment-links/${linkId}/checkout-sessions`, query)
export const endpointsOf = (mode: Mode) =>
  read<List<WebhookEndpoint>>(mode, '/webhook-endpoints', { limit: '100' })
export const endpointOf = (mode: Mode, id: string) =>
  readOne<WebhookEndpoint>(mode, `/webhook-endpoints/${id}`)
export const endpointAttemptsOf = (mode: Mode, id: string, query: Query = {}) =>
  read<List<Attempt>>(mode, `/webhook-endpoints/${id}/attempts`, query)
export const eventsOf = (mode: Mode, query: Query = {}) => read<List<PaylinkEvent>>(mode, '/events', query)
export const eventOf = (mode: Mode, id: string) => readOne<PaylinkEvent>(mode, `/events/${id}`, SLOW_MS)
export const attemptsOf = (mode: Mode, eventId: string) =>
  read<List<Attempt>>(mode, `/events/${eventId}/attempts`, { limit: '100' })
export const apiKeysOf = (mode: Mode, query: Query = {}) => read<List<ApiKey>>(mode, '/api-keys', query)
export const paymentRulesOf = (mode: Mode) => readOne<PaymentRules>(mode, '/payment-rules', SLOW_MS)
export const merchantOf = (mode: Mode) => readOne<Merchant>(mode, '/merchant', SLOW_MS)
export const savedViewsOf = (mode: Mode) => readOne<SavedViews>(mode, '/saved-views', SLOW_MS)
export const noticesOf = (mode: Mode) => readOne<Notices>(mode, '/notices', SLOW_MS)
export const statisticsOf = (mode: Mode, days: number) =>
  read<Statistics>(mode, '/statistics', { days: String(days) }, SLOW_MS)
export const requestLogsOf = (mode: Mode, query: Query = {}) =>
  read<List<RequestLog>>(mode, '/request-logs', query)
export const requestLogOf = (mode: Mode, id: string) =>
  readOne<RequestLog>(mode, `/request-logs/${id}`, SLOW_MS)
export const customersOf = (mode: Mode, query: Query = {}) =>
  read<List<Customer>>(mode, '/customers', query, SLOW_MS)
export const depositsOf = (mode: Mode, query: Query = {}) => read<List<Deposit>>(mode, '/deposits', query)
export const depositAddressesOf = (mode: Mode, query: Query = {}) =>
  read<List<DepositAddress>>(mode, '/deposit-addresses', query)
export const auditEntriesOf = (mode: Mode, query: Query = {}) =>
  read<List<AuditEntry>>(mode, '/audit-log', query)

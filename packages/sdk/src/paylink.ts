import type { Event, Operations } from './api.ts'
import { type List, listOf, type Position } from './list.ts'
import {
  type ClientOptions,
  type CreateOptions,
  createSend,
  type OperationName,
  type RequestInput,
  type RequestOptions,
} from './send.ts'
import { kindOf, type WebhookEvent } from './webhooks/events.ts'

type Answer<Name extends OperationName> = Operations[Name]['answer']
type Body<Name extends OperationName> = Operations[Name]['body']
type Query<Name extends OperationName> = NonNullable<Operations[Name]['query']>
type Item<Name extends OperationName> = NonNullable<Operations[Name]['item']>

type Api = {
  call<Name extends OperationName>(
    name: Name,
    input: RequestInput,
    options?: CreateOptions,
  ): Promise<Answer<Name>>
  list<Name extends OperationName>(
    name: Name,
    input: RequestInput,
    options?: RequestOptions,
  ): List<Item<Name>>
}

/** A client of one Paylink server, with one API key: the key decides the merchant and the mode. */
export class Paylink {
  readonly invoices: ReturnType<typeof invoices>
  readonly paymentLinks: ReturnType<typeof paymentLinks>
  readonly tillPictures: ReturnType<typeof tillPictures>
  readonly checkoutSessions: ReturnType<typeof checkoutSessions>
  readonly events: ReturnType<typeof events>
  readonly webhookEndpoints: ReturnType<typeof webhookEndpoints>
  readonly balances: ReturnType<typeof balances>
  readonly payouts: ReturnType<typeof payouts>
  readonly depositAddresses: ReturnType<typeof depositAddresses>
  readonly deposits: ReturnType<typeof deposits>
  readonly payoutDestinations: ReturnType<typeof payoutDestinations>
  readonly market: ReturnType<typeof market>

  constructor(options: ClientOptions) {
    const send = createSend(options)
    const api: Api = {
      // What the server answers is as its own schemas say: these types are made of them.
      call: <Name extends OperationName>(name: Name, input: RequestInput, given?: CreateOptions) =>
        send(name, input, given) as Promise<Answer<Name>>,
      list: <Name extends OperationName>(
        name: Name,
        { query, ...input }: RequestInput,
        given?: RequestOptions,
      ) =>
        listOf<Item<Name>>((query as Position) ?? null, (page) =>
          send(name, { ...input, query: page }, given),
        ),
    }
    this.invoices = invoices(api)
    this.paymentLinks = paymentLinks(api)
    this.tillPictures = tillPictures(api)
    this.checkoutSessions = checkoutSessions(api)
    this.events = events(api)
    this.webhookEndpoints = webhookEndpoints(api)
    this.balances = balances(api)
    this.payouts = payouts(api)
    this.depositAddresses = depositAddresses(api)
    this.deposits = deposits(api)
    this.payoutDestinations = payoutDestinations(api)
    this.market = market(api)
  }
}

const invoices = (api: Api) => ({
  /** Store `id` with your order and send the buyer to `checkout_url`. */
  create: (body: Body<'createInvoice'>, options?: CreateOptions) =>
    api.call('createInvoice', { body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getInvoice', { id }, options),
  list: (query?: Query<'listInvoices'>, options?: RequestOptions) =>
    api.list('listInvoices', { query: query ?? {} }, options),
  /** All payments of an invoice; the invoice itself carries twenty at most. */
  payments: (id: string, query?: Query<'listInvoicePayments'>, options?: RequestOptions) =>
    api.list('listInvoicePayments', { id, query: query ?? {} }, options),
  /** Invoices of the past, from another service's export. */
  imported: (query?: Query<'listImportedInvoices'>, options?: RequestOptions) =>
    api.list('listImportedInvoices', { query: query ?? {} }, options),
  cancel: (id: string, options?: RequestOptions) => api.call('cancelInvoice', { id }, options),
  /** Accepts or dismisses what waits for your decision. A live key may not: see the dashboard. */
  resolve: (id: string, body: Body<'resolveInvoice'>, options?: RequestOptions) =>
    api.call('resolveInvoice', { id, body }, options),
  /** Pays on the sandbox chain; test mode only. */
  payInTest: (id: string, scenario: Body<'payTestInvoice'>['scenario'], options?: RequestOptions) =>
    api.call('payTestInvoice', { id, body: { scenario } }, options),
})

const paymentLinks = (api: Api) => ({
  create: (body: Body<'createPaymentLink'>, options?: CreateOptions) =>
    api.call('createPaymentLink', { body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getPaymentLink', { id }, options),
  list: (query?: Query<'listPaymentLinks'>, options?: RequestOptions) =>
    api.list('listPaymentLinks', { query: query ?? {} }, options),
  update: (id: string, body: Body<'updatePaymentLink'>, options?: RequestOptions) =>
    api.call('updatePaymentLink', { id, body }, options),
  /** Of a till: it is answered here only, and ends the code before. */
  renewStaffCode: (id: string, options?: RequestOptions) => api.call('renewStaffCode', { id }, options),
})

const tillPictures = (api: Api) => ({
  /** For a till's items, which name it by its digest. */
  create: (body: Body<'uploadTillPicture'>, options?: RequestOptions) =>
    api.call('uploadTillPicture', { body }, options),
})

const checkoutSessions = (api: Api) => ({
  /** One order has one session: the same call again gives it again, `replayed`. */
  create: (paymentLinkId: string, body: Body<'createCheckoutSession'>, options?: CreateOptions) =>
    api.call('createCheckoutSession', { id: paymentLinkId, body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getCheckoutSession', { id }, options),
  list: (paymentLinkId: string, query?: Query<'listCheckoutSessions'>, options?: RequestOptions) =>
    api.list('listCheckoutSessions', { id: paymentLinkId, query: query ?? {} }, options),
  cancel: (id: string, options?: RequestOptions) => api.call('cancelCheckoutSession', { id }, options),
})

/** The events that webhooks carry, for whoever asks for them. */
const events = (api: Api) => ({
  get: async (id: string, options?: RequestOptions): Promise<WebhookEvent> =>
    typed(await api.call('getEvent', { id }, options)),
  list: (query?: Query<'listEvents'>, options?: RequestOptions): List<WebhookEvent> => {
    const list = api.list('listEvents', { query: query ?? {} }, options)
    return {
      async *[Symbol.asyncIterator]() {
        for await (const event of list) yield typed(event)
      },
      page: async () => {
        const page = await list.page()
        return { ...page, data: page.data.map(typed) }
      },
      take: async (most) => (await list.take(most)).map(typed),
    }
  },
  attempts: (id: string, query?: Query<'listEventAttempts'>, options?: RequestOptions) =>
    api.list('listEventAttempts', { id, query: query ?? {} }, options),
  /** Sends an event once more, under the same id. A live key may not: see the dashboard. */
  queue: (id: string, body: Body<'queueEvent'>, options?: CreateOptions) =>
    api.call('queueEvent', { id, body }, options),
  recover: (body: Body<'recoverEvents'>, options?: CreateOptions) =>
    api.call('recoverEvents', { body }, options),
})

/** The event with its `kind`, as `verify` gives it. */
function typed(event: Event): WebhookEvent {
  return { ...event, kind: kindOf(event.event_type) } as unknown as WebhookEvent
}

/** Reads in the key's own mode; writes with test keys alone, live ones at the dashboard. */
const webhookEndpoints = (api: Api) => ({
  /** Keep `secret`: it is shown here only. */
  create: (body: Body<'createWebhookEndpoint'>, options?: CreateOptions) =>
    api.call('createWebhookEndpoint', { body }, options),
  /** With a live key: a person then verifies it at the dashboard. */
  request: (body: Body<'requestWebhookEndpoint'>, options?: CreateOptions) =>
    api.call('requestWebhookEndpoint', { body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getWebhookEndpoint', { id }, options),
  list: (query?: Query<'listWebhookEndpoints'>, options?: RequestOptions) =>
    api.list('listWebhookEndpoints', { query: query ?? {} }, options),
  /** Changes the URL, which then has to be verified again, or the events. */
  update: (id: string, body: Body<'updateWebhookEndpoint'>, options?: RequestOptions) =>
    api.call('updateWebhookEndpoint', { id, body }, options),
  attempts: (id: string, query?: Query<'listEndpointAttempts'>, options?: RequestOptions) =>
    api.list('listEndpointAttempts', { id, query: query ?? {} }, options),
  /** Sends the challenge to your receiver; without the right answer it stays disabled (`endpoint_verification_failed`). */
  verify: (id: string, options?: RequestOptions) => api.call('verifyWebhookEndpoint', { id }, options),
  rotateSecret: (id: string, body: Body<'rotateWebhookSecret'> = {}, options?: RequestOptions) =>
    api.call('rotateWebhookSecret', { id, body }, options),
  disable: (id: string, options?: RequestOptions) => api.call('disableWebhookEndpoint', { id }, options),
  remove: (id: string, options?: RequestOptions) => api.call('deleteWebhookEndpoint', { id }, options),
})

const balances = (api: Api) => ({
  list: (options?: RequestOptions) => api.list('listBalances', {}, options),
  entries: (query?: Query<'listBalanceEntries'>, options?: RequestOptions) =>
    api.list('listBalanceEntries', { query: query ?? {} }, options),
})

const depositAddresses = (api: Api) => ({
  /** The permanent addresses of a customer: the same ones whenever they are asked for. */
  create: (body: Body<'createDepositAddress'>, options?: CreateOptions) =>
    api.call('createDepositAddress', { body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getDepositAddress', { id }, options),
  list: (query?: Query<'listDepositAddresses'>, options?: RequestOptions) =>
    api.list('listDepositAddresses', { query: query ?? {} }, options),
  /** Pays to a customer's address on the sandbox chain; test mode only. */
  payInTest: (id: string, body: Body<'payTestDeposit'>, options?: RequestOptions) =>
    api.call('payTestDeposit', { id, body }, options),
})

const deposits = (api: Api) => ({
  get: (id: string, options?: RequestOptions) => api.call('getDeposit', { id }, options),
  list: (query?: Query<'listDeposits'>, options?: RequestOptions) =>
    api.list('listDeposits', { query: query ?? {} }, options),
})

const payouts = (api: Api) => ({
  create: (body: Body<'createPayout'>, options?: CreateOptions) =>
    api.call('createPayout', { body }, options),
  get: (id: string, options?: RequestOptions) => api.call('getPayout', { id }, options),
  list: (query?: Query<'listPayouts'>, options?: RequestOptions) =>
    api.list('listPayouts', { query: query ?? {} }, options),
  approve: (id: string, options?: RequestOptions) => api.call('approvePayout', { id }, options),
  reject: (id: string, options?: RequestOptions) => api.call('rejectPayout', { id }, options),
})

const payoutDestinations = (api: Api) => ({
  create: (body: Body<'createPayoutDestination'>, options?: CreateOptions) =>
    api.call('createPayoutDestination', { body }, options),
  list: (query?: Query<'listPayoutDestinations'>, options?: RequestOptions) =>
    api.list('listPayoutDestinations', { query: query ?? {} }, options),
  /** What a payout to it would come to; without an amount, of all that is available. */
  quote: (id: string, query?: Query<'quotePayout'>, options?: RequestOptions) =>
    api.call('quotePayout', { id, query: query ?? {} }, options),
  remove: (id: string, options?: RequestOptions) => api.call('deletePayoutDestination', { id }, options),
})

/** What can be sold for now, and at what price. */
const market = (api: Api) => ({
  assets: (options?: RequestOptions) => api.list('listAssets', {}, options),
  rates: (options?: RequestOptions) => api.list('listRates', {}, options),
})

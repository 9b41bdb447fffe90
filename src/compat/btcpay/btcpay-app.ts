import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { ApiProblem } from '../../http/api/problem.ts'
import type { Log } from '../../runtime/log.ts'
import { assetList } from '../../wire/account.ts'
import { ERRORS } from '../../wire/errors.ts'
import { invoiceList, invoiceView } from '../../wire/invoice.ts'
import {
  createdWebhookEndpointView,
  webhookEndpointList,
  webhookEndpointView,
} from '../../wire/webhook-endpoint.ts'
import { createOwnApi, type KeyHolder, type OwnApi, type OwnApiDeps, ownId, Refused } from '../own-api.ts'
import { readFields } from '../read-fields.ts'
import { askedInvoice, type Fault, FIELDS } from './asked-invoice.ts'
import { invoiceData, paymentMethods } from './greenfield-invoice.ts'
import { askedWebhook, webhookData } from './greenfield-webhook.ts'

export type CompatDeps = OwnApiDeps & { readonly clock: () => Date; readonly log: Log }

/** The BTCPay version whose Greenfield API this follows. Plugins ask for it before they do anything else. */
const VERSION = '1.13.0'
const TAKE_DEFAULT = 50
const TAKE_MAX = 100

/** Several mistakes in one body, answered in Greenfield's own form. */
class Invalid extends Error {
  override name = 'Invalid'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super('the request is not valid')
    this.faults = faults
  }
}

/** BTCPay's Greenfield API, as far as docs/coming-from-elsewhere.md says, below the given path. */
export function createBtcpayApp(deps: CompatDeps, path: string): Hono {
  const app = new Hono().basePath(`${path}/api/v1`)
  const apiOf = (c: Context): OwnApi => createOwnApi(deps, keyOf(c))
  app.get('/health', (c) => c.json({ synchronized: true }))
  app.get('/server/info', (c) => serverInfo(c, apiOf(c)))
  app.get('/api-keys/current', async (c) => c.json(apiKeyData(await (await counted(apiOf(c))).holder())))
  app.get('/stores', async (c) => c.json([storeData(await (await counted(apiOf(c))).holder())]))
  app.get('/stores/:store', async (c) => c.json(storeData(await storeOf(c, await counted(apiOf(c))))))
  app.post('/stores/:store/invoices', (c) => createInvoice(deps, c, apiOf(c)))
  app.get('/stores/:store/invoices', (c) => listInvoices(deps, c, apiOf(c)))
  app.get('/stores/:store/invoices/:id', async (c) => {
    const { storeId, invoice } = await readInvoice(c, apiOf(c))
    return c.json(invoiceData(invoice, storeId, deps.clock()))
  })
  app.get('/stores/:store/invoices/:id/payment-methods', async (c) =>
    c.json(paymentMethods((await readInvoice(c, apiOf(c))).invoice)),
  )
  app.post('/stores/:store/invoices/:id/status', (c) => markInvoice(deps, c, apiOf(c)))
  serveWebhooks(app, apiOf)
  app.notFound((c) => c.json({ code: 'not-covered', message: 'Paylink does not translate this route.' }, 404))
  app.onError((error, c) => answerError(deps, c, error))
  return app
}

/** What needs nothing of our API asks it something all the same: the limit of the key is there. */
async function counted(api: OwnApi): Promise<OwnApi> {
  await api.call({ method: 'GET', path: '/assets' }, assetList)
  return api
}

/** Shows only endpoints of this format: Greenfield has no form for the others. */
function serveWebhooks(app: Hono, apiOf: (c: Context) => OwnApi): void {
  const readWebhook = async (c: Context, api: OwnApi) => {
    await storeOf(c, api)
    const path = `/webhook-endpoints/${ownId(c.req.param('id') ?? '')}`
    const endpoint = await api.call({ method: 'GET', path }, webhookEndpointView)
    if (endpoint.format === 'btcpay') return endpoint
    throw new Refused(404, { code: 'webhook-not-found', message: 'The webhook was not found' })
  }
  app.post('/stores/:store/webhooks', async (c) => {
    const api = apiOf(c)
    await storeOf(c, api)
    const asked = askedWebhook(await readFields(c.req.raw))
    if (asked.kind === 'refused') throw new Invalid(asked.faults)
    const idempotencyKey = c.req.header('idempotency-key')
    const made = { method: 'POST', path: '/webhook-endpoints', body: asked.body, idempotencyKey } as const
    const endpoint = await api.call(made, createdWebhookEndpointView)
    return c.json({ ...webhookData(endpoint), secret: endpoint.secret })
  })
  app.get('/stores/:store/webhooks', async (c) => {
    const api = apiOf(c)
    await storeOf(c, api)
    const query = { limit: String(TAKE_MAX) }
    const { data } = await api.call({ method: 'GET', path: '/webhook-endpoints', query }, webhookEndpointList)
    return c.json(data.filter(({ format }) => format === 'btcpay').map(webhookData))
  })
  app.get('/stores/:store/webhooks/:id', async (c) => c.json(webhookData(await readWebhook(c, apiOf(c)))))
  app.delete('/stores/:store/webhooks/:id', async (c) => {
    const api = apiOf(c)
    const { id } = await readWebhook(c, api)
    await api.call({ method: 'DELETE', path: `/webhook-endpoints/${id}` }, z.undefined())
    return c.body(null, 200)
  })
}

/** `Authorization: token KEY`. */
const keyOf = (c: Context): string | null =>
  /^token +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? null

/** The store of the path must be the merchant of the key: there is no other that it could see. */
async function storeOf(c: Context, api: OwnApi): Promise<KeyHolder> {
  const holder = await api.holder()
  if (c.req.param('store') === holder.merchantId) return holder
  throw new Refused(404, { code: 'store-not-found', message: 'The store was not found' })
}

const storeData = ({ merchantId, name }: KeyHolder) => ({
  id: merchantId,
  name,
  website: null,
  defaultCurrency: 'USD',
  speedPolicy: 'MediumSpeed',
  paymentTolerance: 0,
})

/** Our scopes by the names that plugins look for. */
function apiKeyData({ merchantId, scopes }: KeyHolder) {
  const named: readonly (readonly [string, string])[] = [
    ['invoices:read', 'btcpay.store.canviewinvoices'],
    ['invoices:write', 'btcpay.store.cancreateinvoice'],
    ['invoices:write', 'btcpay.store.canmodifyinvoices'],
    ['webhooks:write', 'btcpay.store.webhooks.canmodifywebhooks'],
  ]
  const held = named.filter(([scope]) => scopes.has(scope)).map(([, permission]) => permission)
  const permissions = ['btcpay.store.canviewstoresettings', ...held].map((one) => `${one}:${merchantId}`)
  return { apiKey: null, label: 'Paylink', permissions }
}

async function serverInfo(c: Context, api: OwnApi): Promise<Response> {
  const { data } = await api.call({ method: 'GET', path: '/assets' }, assetList)
  return c.json({
    version: VERSION,
    onion: null,
    // Two networks may have a coin of one name.
    supportedPaymentMethods: [...new Set(data.map(({ symbol }) => `${symbol}-CHAIN`))],
    fullySynched: data.every(({ network_status: status }) => status === 'ok' || status === null),
    syncStatus: [],
  })
}

async function createInvoice(deps: CompatDeps, c: Context, api: OwnApi): Promise<Response> {
  const { merchantId } = await storeOf(c, api)
  const asked = askedInvoice(await readFields(c.req.raw))
  if (asked.kind === 'refused') throw new Invalid(asked.faults)
  const idempotencyKey = c.req.header('idempotency-key')
  const made = { method: 'POST', path: '/invoices', body: asked.body, idempotencyKey } as const
  return c.json(invoiceData(await api.call(made, invoiceView), merchantId, deps.clock()))
}

async function readInvoice(c: Context, api: OwnApi) {
  const { merchantId } = await storeOf(c, api)
  const path = `/invoices/${ownId(c.req.param('id') ?? '')}`
  return { storeId: merchantId, invoice: await api.call({ method: 'GET', path }, invoiceView) }
}

/** `orderId`, `textSearch`, `startDate`, `endDate` and `take`; any other filter is refused rather than ignored. */
async function listInvoices(deps: CompatDeps, c: Context, api: OwnApi): Promise<Response> {
  const { merchantId } = await storeOf(c, api)
  const { orderId, textSearch, startDate, endDate, take = String(TAKE_DEFAULT), ...others } = c.req.query()
  const faults = Object.entries(others)
    .filter(([name, value]) => value !== '' && !(name === 'skip' && value === '0'))
    .map(([path]) => ({ path, message: 'This filter is not covered.' }))
  if (!/^[1-9]\d{0,2}$/.test(take) || Number(take) > TAKE_MAX)
    faults.push({ path: 'take', message: `Must be from 1 to ${TAKE_MAX}.` })
  if (faults.length > 0) throw new Invalid(faults)
  const query = {
    limit: take,
    external_reference: orderId,
    q: textSearch,
    created_after: instantOf('startDate', startDate),
    created_before: instantOf('endDate', endDate),
  }
  const { data } = await api.call({ method: 'GET', path: '/invoices', query }, invoiceList)
  return c.json(data.map((invoice) => invoiceData(invoice, merchantId, deps.clock())))
}

/** Greenfield's times are Unix seconds, ours are ISO 8601. */
function instantOf(path: string, seconds: string | undefined): string | undefined {
  if (seconds === undefined || seconds === '') return undefined
  if (!/^\d{1,11}$/.test(seconds)) throw new Invalid([{ path, message: 'Must be seconds since 1970.' }])
  return new Date(Number(seconds) * 1_000).toISOString()
}

/** `Invalid` cancels an unpaid invoice; `Settled` (formerly `Complete`) accepts one that waits for the merchant. */
async function markInvoice(deps: CompatDeps, c: Context, api: OwnApi): Promise<Response> {
  const { merchantId } = await storeOf(c, api)
  const path = `/invoices/${ownId(c.req.param('id') ?? '')}`
  const { status } = await readFields(c.req.raw)
  const accept = { method: 'POST', path: `${path}/resolve`, body: { resolution: 'accept' } } as const
  if (status !== 'Invalid' && status !== 'Settled' && status !== 'Complete')
    throw new Invalid([{ path: 'status', message: 'Must be Settled or Invalid.' }])
  const call = status === 'Invalid' ? ({ method: 'POST', path: `${path}/cancel` } as const) : accept
  return c.json(invoiceData(await api.call(call, invoiceView), merchantId, deps.clock()))
}

function answerError(deps: CompatDeps, c: Context, error: Error): Response {
  if (error instanceof Invalid) return c.json(error.faults, 422)
  if (error instanceof ApiProblem) return problem(ERRORS[error.code].status, error.code, error.message, null)
  if (error instanceof Refused) {
    if (error.status === 400 && error.param !== null) {
      return c.json([{ path: fieldOf(error.param), message: error.message }], 422)
    }
    return problem(error.status, error.code, error.message, error.retryAfter)
  }
  deps.log.error({ err: error, path: c.req.path }, 'a translated request failed')
  return problem(500, 'internal-error', 'Something went wrong on our side.', null)
}

/** Our parameter by the name that the caller gave it. */
const fieldOf = (param: string): string => FIELDS[param] ?? param

function problem(status: number, code: string, message: string, retryAfter: string | null): Response {
  const headers = retryAfter === null ? {} : { 'retry-after': retryAfter }
  return Response.json({ code: code.replaceAll('_', '-'), message }, { status, headers })
}

import { type Context, Hono } from 'hono'
import { Busy } from '../../core/busy.ts'
import { ApiProblem } from '../../http/api/problem.ts'
import { assetList } from '../../wire/account.ts'
import { ERRORS } from '../../wire/errors.ts'
import { invoiceList, invoiceView } from '../../wire/invoice.ts'
import { type CompatDeps, createOwnApi, type KeyHolder, type OwnApi, ownId, Refused } from '../own-api.ts'
import { readFields } from '../read-fields.ts'
import { serveBitpay } from './bitpay-api.ts'
import { type CheckoutLookup, createBuyerRedirects } from './buyer-redirects.ts'
import { invoiceData, paymentMethods, storePaymentMethods } from './greenfield-invoice.ts'
import { Invalid } from './invalid.ts'
import { FIELDS, invoiceRequest } from './invoice-request.ts'
import { serveWebhooks } from './serve-webhooks.ts'
import { storeOf } from './store.ts'
import { type Trial, trialInvoiceData, trialOf } from './trial-invoice.ts'

type BtcpayDeps = CompatDeps &
  CheckoutLookup & {
    /** A receiver that checks signatures asks for the invoice of the one trial that it takes. */
    noteTrialTaken(holder: KeyHolder, trial: Trial): Promise<void>
  }

/** The BTCPay version whose Greenfield API this follows. Plugins ask for it before they do anything else. */
const VERSION = '1.13.0'
const TAKE_DEFAULT = 50
const TAKE_MAX = 100

/** BTCPay's Greenfield API, as far as docs/coming-from-elsewhere.md says, below the given path. */
export function createBtcpayApp(deps: BtcpayDeps, path: string): Hono {
  const api = createGreenfield(deps)
  const app = new Hono()
  // With the merchant in it, the address leads buyers to their invoices too; API calls need only the key.
  app.route(`${path}/api/v1`, api)
  app.route(`${path}/:shop{mer_[0-9a-z]+}/api/v1`, api)
  app.route(`${path}/:shop{mer_[0-9a-z]+}`, createBuyerRedirects(deps))
  const bitpay = new Hono()
  serveBitpay(bitpay, deps)
  app.route(path, bitpay)
  // For plugins that keep a server's name and drop the path after it (RFC 3986 §5.2.2).
  app.route('/api/v1', api)
  app.notFound(() => problem(404, 'not-covered', 'Paylink does not translate this route.', null))
  app.onError((error, c) => answerError(deps, c, error))
  return app
}

function createGreenfield(deps: BtcpayDeps): Hono {
  const app = new Hono()
  const apiOf = (c: Context): OwnApi => createOwnApi(deps, keyOf(c))
  app.get('/health', (c) => c.json({ synchronized: true }))
  app.get('/server/info', (c) => serverInfo(c, apiOf(c)))
  app.get('/api-keys/current', async (c) =>
    c.json(apiKeyData(await (await counted(apiOf(c))).holder(), keyOf(c))),
  )
  app.get('/stores', async (c) => c.json([storeData(await (await counted(apiOf(c))).holder())]))
  app.get('/stores/:store', async (c) => c.json(storeData(await storeOf(c, await counted(apiOf(c))))))
  app.post('/stores/:store/invoices', (c) => createInvoice(deps, c, apiOf(c)))
  app.get('/stores/:store/invoices', (c) => listInvoices(deps, c, apiOf(c)))
  app.get('/stores/:store/invoices/:id', async (c) => {
    const trial = trialOf(c.req.param('id'))
    if (trial !== null) return takeTrial(deps, c, apiOf(c), trial)
    const { storeId, invoice } = await readInvoice(c, apiOf(c))
    return c.json(invoiceData(invoice, storeId, deps.clock()))
  })
  app.get('/stores/:store/invoices/:id/payment-methods', async (c) =>
    c.json(paymentMethods((await readInvoice(c, apiOf(c))).invoice)),
  )
  app.post('/stores/:store/invoices/:id/status', (c) => markInvoice(deps, c, apiOf(c)))
  app.get('/stores/:store/payment-methods', async (c) => {
    const api = apiOf(c)
    await storeOf(c, api)
    const { data } = await api.call({ method: 'GET', path: '/assets' }, assetList)
    return c.json(storePaymentMethods(data))
  })
  for (const refund of ['/stores/:store/pull-payments', '/stores/:store/invoices/:id/refund'])
    app.post(refund, async (c) => {
      await storeOf(c, await counted(apiOf(c)))
      throw new Refused(422, { code: 'refunds-not-supported', message: NO_REFUNDS })
    })
  serveWebhooks(app, apiOf)
  return app
}

const NO_REFUNDS =
  'Paylink sends no refunds. Ask the buyer for an address and pay it from your own wallet, or allow it as a destination and request a payout.'

/** What needs nothing of our API asks it something all the same: the limit of the key is there. */
async function counted(api: OwnApi): Promise<OwnApi> {
  await api.call({ method: 'GET', path: '/assets' }, assetList)
  return api
}

/** `Authorization: token KEY`. */
const keyOf = (c: Context): string | null =>
  /^token +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? null

const storeData = ({ merchantId, name }: KeyHolder) => ({
  id: merchantId,
  name,
  website: null,
  defaultCurrency: 'USD',
  speedPolicy: 'MediumSpeed',
  paymentTolerance: 0,
})

/**
 * Our scopes by the names that plugins look for. WooCommerce's and PrestaShop's want neither fewer nor more than those they
 * name: a key for PrestaShop has `payment_links:write` too, which stands for a store's settings.
 */
function apiKeyData({ merchantId, scopes }: KeyHolder, apiKey: string | null) {
  const named: readonly (readonly [string, string])[] = [
    ['invoices:read', 'btcpay.store.canviewinvoices'],
    ['invoices:write', 'btcpay.store.cancreateinvoice'],
    ['invoices:write', 'btcpay.store.canmodifyinvoices'],
    ['webhooks:write', 'btcpay.store.webhooks.canmodifywebhooks'],
    ['payment_links:write', 'btcpay.store.canmodifystoresettings'],
  ]
  const held = named.filter(([scope]) => scopes.has(scope)).map(([, permission]) => permission)
  const permissions = ['btcpay.store.canviewstoresettings', ...held].map((one) => `${one}:${merchantId}`)
  return { apiKey, label: 'Paylink', permissions }
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

async function createInvoice(deps: BtcpayDeps, c: Context, api: OwnApi): Promise<Response> {
  const { merchantId } = await storeOf(c, api)
  const request = invoiceRequest(await readFields(c.req.raw))
  if (request.kind === 'refused') throw new Invalid(request.faults)
  const idempotencyKey = c.req.header('idempotency-key')
  const call = { method: 'POST', path: '/invoices', body: request.body, idempotencyKey } as const
  return c.json(invoiceData(await api.call(call, invoiceView), merchantId, deps.clock()))
}

async function readInvoice(c: Context, api: OwnApi) {
  const { merchantId } = await storeOf(c, api)
  const path = `/invoices/${ownId(c.req.param('id') ?? '')}`
  return { storeId: merchantId, invoice: await api.call({ method: 'GET', path }, invoiceView) }
}

/** Asked for like any other invoice, with the same right, and noted as taken. */
async function takeTrial(deps: BtcpayDeps, c: Context, api: OwnApi, trial: Trial): Promise<Response> {
  const holder = await storeOf(c, api)
  await api.call({ method: 'GET', path: '/invoices', query: { limit: '1' } }, invoiceList)
  await deps.noteTrialTaken(holder, trial)
  return c.json(trialInvoiceData(c.req.param('id') ?? '', holder.merchantId, deps.clock()))
}

/** `orderId`, `textSearch`, `startDate`, `endDate` and `take`; any other filter is refused rather than ignored. */
async function listInvoices(deps: BtcpayDeps, c: Context, api: OwnApi): Promise<Response> {
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
async function markInvoice(deps: BtcpayDeps, c: Context, api: OwnApi): Promise<Response> {
  const { merchantId } = await storeOf(c, api)
  const path = `/invoices/${ownId(c.req.param('id') ?? '')}`
  const { status } = await readFields(c.req.raw)
  const accept = { method: 'POST', path: `${path}/resolve`, body: { resolution: 'accept' } } as const
  if (status !== 'Invalid' && status !== 'Settled' && status !== 'Complete')
    throw new Invalid([{ path: 'status', message: 'Must be Settled or Invalid.' }])
  const call = status === 'Invalid' ? ({ method: 'POST', path: `${path}/cancel` } as const) : accept
  return c.json(invoiceData(await api.call(call, invoiceView), merchantId, deps.clock()))
}

function answerError(deps: BtcpayDeps, c: Context, error: Error): Response {
  if (error instanceof Invalid) return c.json(error.faults, 422)
  if (error instanceof Busy)
    return problem(503, 'service-unavailable', 'Too much is asked at the moment. Try again in a moment.', '1')
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

import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import type { Clock } from '../../clock.ts'
import type { AssetId } from '../../core/assets.ts'
import { checkoutView } from '../../core/checkout/checkout-state.ts'
import type { TipHeights } from '../../core/invoice/render.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { SECURITY_HEADERS } from './content-security.ts'
import { renderCheckoutDocument, renderCheckoutMain, renderPlainDocument } from './document.tsx'
import { ENGLISH } from './language.ts'
import { type FullSnapshot, LiveStreams } from './live-streams.ts'
import { isScenario, type Scenario } from './test-panel.tsx'
import { titleOf } from './words.ts'

/** What a token opens: an invoice, whose shop it is, and how high the chains are. */
export type CheckoutFacts = {
  readonly invoice: Invoice
  readonly merchantName: string
  readonly tipHeightOf: TipHeights
}

export type CheckoutDeps = {
  readonly clock: Clock
  readonly log: { error(details: object, message: string): void }
  /** Null for every token that opens nothing, whatever the reason. Throws where the database cannot be asked. */
  readonly readCheckout: (token: string) => Promise<CheckoutFacts | null>
  /** Present where test invoices can be paid on sandbox chains. */
  readonly sandbox?: {
    /** Whether invoices in this asset can be paid there; the panel stands on no other. */
    serves(asset: AssetId, livemode: boolean): boolean
    /** Throws where it could not pay. */
    payInvoice(request: {
      tenant: { merchantId: string; livemode: boolean }
      invoiceId: string
      scenario: Scenario
      source: 'checkout'
    }): Promise<unknown>
  }
}

const FORM_BYTES_MAX = 1_024
const VERSION_LENGTH_MAX = 32

/**
 * The buyer's pages under `/i/`. `invoiceChanged` and `refreshAll` of `streams` are for the listener on the
 * database's notifications; its `close` ends the open streams, so that a server can stop.
 */
export function createCheckoutApp(deps: CheckoutDeps): { app: Hono; streams: LiveStreams } {
  const streams = new LiveStreams({
    read: async (token) => {
      const found = await deps.readCheckout(token)
      return found === null ? null : snapshotOf(deps, pageOf(deps, token, found))
    },
    onError: (error) => deps.log.error({ err: error }, 'an open checkout page could not be refreshed'),
  })
  const app = new Hono()
  app.use('/i/*', async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.res.headers.set(name, value)
  })
  app.use('/i/:token', compress())
  app.use('/i/:token/state', compress())
  app.get('/i/:token', async (c) => {
    const found = await deps.readCheckout(c.req.param('token'))
    return found === null ? missing(c) : c.html(documentOf(deps, pageOf(deps, c.req.param('token'), found)))
  })
  app.get('/i/:token/state', async (c) => {
    const found = await deps.readCheckout(c.req.param('token'))
    if (found === null) return c.json({ error: 'not_found' }, 404)
    const snapshot = snapshotOf(deps, pageOf(deps, c.req.param('token'), found))
    return c.json(c.req.query('version') === snapshot.version ? { ...snapshot, html: null } : snapshot)
  })
  serveEvents(app, deps, streams)
  serveTestPanel(app, deps)
  app.all('/i/*', missing)
  app.onError((error, c) => {
    deps.log.error({ err: error }, 'a checkout page failed')
    const { problem_title: title, problem_lead: lead } = ENGLISH.messages
    return c.html(renderPlainDocument(ENGLISH, { title, lead, icon: 'alert', reload: 'always' }), 503)
  })
  return { app, streams }
}

function serveEvents(app: Hono, deps: CheckoutDeps, streams: LiveStreams): void {
  app.get('/i/:token/events', async (c) => {
    const token = c.req.param('token')
    const found = await deps.readCheckout(token)
    if (found === null) return c.json({ error: 'not_found' }, 404)
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
    // Hono answers HEAD with this handler and throws the body away, which would leave the stream open for ever.
    if (c.req.method === 'HEAD') return c.body(null, 200, headers)
    const version = (c.req.query('version') ?? '').slice(0, VERSION_LENGTH_MAX)
    const stream = streams.open({ invoiceId: found.invoice.id, token, version })
    return stream === null
      ? c.json({ error: 'busy' }, 503, { 'retry-after': '15' })
      : c.body(stream, 200, headers)
  })
}

function serveTestPanel(app: Hono, deps: CheckoutDeps): void {
  app.post('/i/:token/test-pay', bodyLimit({ maxSize: FORM_BYTES_MAX, onError: refused }), async (c) => {
    const token = c.req.param('token')
    const found = await deps.readCheckout(token)
    if (found === null || deps.sandbox === undefined || !isPayable(deps, found)) return missing(c)
    // Browsers tell where a form was sent from; only the page's own form may come.
    if (!['same-origin', 'none', undefined].includes(c.req.header('sec-fetch-site'))) return refused(c)
    // A form of one field: anything else that a parser would take is refused, twice the same field included.
    const [scenario, ...more] = new URLSearchParams(await c.req.text()).getAll('scenario')
    if (!isScenario(scenario) || more.length > 0) return refused(c)
    const { merchantId, livemode, id: invoiceId } = found.invoice
    try {
      await deps.sandbox.payInvoice({
        tenant: { merchantId, livemode },
        invoiceId,
        scenario,
        source: 'checkout',
      })
    } catch (error) {
      deps.log.error({ err: error, scenario }, 'the sandbox could not pay an invoice')
      return c.html(documentOf(deps, { ...pageOf(deps, token, found), sandboxFailed: true }), 503)
    }
    return c.redirect(`../${token}`, 303)
  })
}

function pageOf(deps: CheckoutDeps, token: string, found: CheckoutFacts): CheckoutPage {
  return {
    view: checkoutView(found.invoice, deps.clock().getTime(), found.tipHeightOf),
    merchantName: found.merchantName,
    language: ENGLISH,
    token,
    sandbox: isPayable(deps, found),
    sandboxFailed: false,
  }
}

/** Whether a sandbox chain can pay the invoice. */
function isPayable(deps: CheckoutDeps, { invoice }: CheckoutFacts): boolean {
  return deps.sandbox !== undefined && !invoice.livemode && deps.sandbox.serves(invoice.asset, false)
}

function documentOf(deps: CheckoutDeps, page: CheckoutPage): string {
  return renderCheckoutDocument(page, deps.clock().getTime())
}

function snapshotOf(deps: CheckoutDeps, page: CheckoutPage): FullSnapshot {
  const { view } = page
  return {
    version: view.version,
    state: view.state,
    title: titleOf(page),
    deadline: view.payable ? new Date(view.deadlineMs).toISOString() : null,
    server_time: deps.clock().toISOString(),
    html: renderCheckoutMain(page),
  }
}

/** One page for every token that opens nothing: tampered with, another mode's, or never issued. */
function missing(c: Context): Response | Promise<Response> {
  const { missing_title: title, missing_lead: lead } = ENGLISH.messages
  return c.html(renderPlainDocument(ENGLISH, { title, lead, icon: 'search', reload: 'never' }), 404)
}

function refused(c: Context): Response | Promise<Response> {
  const { refused_title: title, refused_lead: lead } = ENGLISH.messages
  return c.html(renderPlainDocument(ENGLISH, { title, lead, icon: 'alert', reload: 'never' }), 400)
}

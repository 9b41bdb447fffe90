import type { Context, Hono } from 'hono'
import { ASSET_IDS, ASSETS } from '../../core/assets.ts'
import { mailboxAddress } from '../../wire/fields.ts'
import { limitBody } from '../limit-body.ts'
import type { CheckoutDeps } from './checkout-deps.ts'
import { type CheckoutPage, methodNamed, type Notice } from './checkout-page.ts'
import { contentSecurityPolicy } from './content-security.ts'
import { renderCheckoutDocument, renderReceiptDocument } from './document.tsx'
import {
  type FoundCheckout,
  findCheckout,
  isPayable,
  itemOf,
  pageOf,
  snapshotOf,
} from './invoice-snapshots.ts'
import type { LiveStreams } from './live-streams.ts'
import { formFields, isOwnForm, languageOf } from './page-request.ts'
import { missing, refused } from './plain-pages.ts'
import { isScenario } from './test-panel.tsx'

const FORM_BYTES_MAX = 1_024
const VERSION_LENGTH_MAX = 32

/** The buyer's page of an invoice, and that of a till's sale: the same page, with what the till adds. */
export const INVOICE_PATHS = ['/i/:token', '/till/:slug/sale/:token'] as const

/** The page of one invoice, what it asks for while it is open, and its forms. */
export function serveInvoicePages(app: Hono, deps: CheckoutDeps, streams: LiveStreams): void {
  for (const path of INVOICE_PATHS) serveInvoicePage(app, path, deps, streams)
}

const findAt = (c: Context, deps: CheckoutDeps): Promise<FoundCheckout | null> =>
  findCheckout(deps, c.req.param('token') ?? '', c.req.param('slug'))

function serveInvoicePage(app: Hono, path: string, deps: CheckoutDeps, streams: LiveStreams): void {
  app.get(path, async (c) => {
    const found = await findAt(c, deps)
    if (found === null) return missing(c)
    const watching = c.req.query('watch') === '1'
    const method = methodNamed(c.req.query('pay'))
    const isTyping = c.req.query('receipt') === '1'
    return answerPage(c, deps, { ...pageOf(deps, found, languageOf(c)), watching, method, isTyping })
  })
  app.get(`${path}/state`, async (c) => {
    const found = await findAt(c, deps)
    if (found === null) return c.json({ error: 'not_found' }, 404)
    const snapshot = snapshotOf(deps, pageOf(deps, found, languageOf(c)))
    return c.json(c.req.query('version') === snapshot.version ? { ...snapshot, html: null } : snapshot)
  })
  serveSolanaTransfer(app, path, deps)
  serveReceipt(app, path, deps)
  serveEvents(app, path, deps, streams)
  serveForms(app, path, deps)
}

/** Base58 of 32 bytes has no more digits. */
const ACCOUNT_LENGTH_MAX = 44

/** What a wallet of Solana is to sign: only the server knows a block that is new enough. */
function serveSolanaTransfer(app: Hono, path: string, deps: CheckoutDeps): void {
  app.get(`${path}/solana-transfer`, async (c) => {
    const found = await findAt(c, deps)
    const from = c.req.query('from') ?? ''
    if (found === null || from.length > ACCOUNT_LENGTH_MAX) return c.json({ error: 'not_found' }, 404)
    const { view } = pageOf(deps, found, languageOf(c))
    if (ASSETS[view.asset].keyFamily !== 'solana' || !view.payable) return c.json({ error: 'not_found' }, 404)
    const { asset, livemode, identity, address: to, remaining: amount } = view
    const transfer = await deps.solanaTransfer({ asset, livemode, identity, from, to, amount })
    return transfer === null ? c.json({ error: 'unavailable' }, 503) : c.json(transfer)
  })
}

function serveReceipt(app: Hono, path: string, deps: CheckoutDeps): void {
  app.get(`${path}/receipt`, async (c) => {
    const found = await findAt(c, deps)
    if (found === null) return missing(c)
    const page = pageOf(deps, found, languageOf(c))
    if (page.view.paidAtMs === null) return c.redirect(`../${page.token}${page.langQuery}`, 303)
    return c.html(renderReceiptDocument(page), 200, {
      'content-security-policy': policyOf(page),
    })
  })
}

function serveEvents(app: Hono, path: string, deps: CheckoutDeps, streams: LiveStreams): void {
  app.get(`${path}/events`, async (c) => {
    const found = await findAt(c, deps)
    if (found === null) return c.json({ error: 'not_found' }, 404)
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
    // Hono answers HEAD with this handler and throws the body away, which would leave the stream open for ever.
    if (c.req.method === 'HEAD') return c.body(null, 200, headers)
    const version = (c.req.query('version') ?? '').slice(0, VERSION_LENGTH_MAX)
    const language = languageOf(c).language.tag
    const caller = deps.callerOf(c.req.raw.headers)
    const stream = streams.open({
      invoiceId: found.invoice.id,
      token: found.token,
      version,
      language,
      caller,
    })
    return stream === null
      ? c.json({ error: 'busy' }, 503, { 'retry-after': '15' })
      : c.body(stream, 200, headers)
  })
}

type AnswerForm = (c: Context, deps: CheckoutDeps, found: FoundCheckout) => Promise<Response>

const FORMS: ReadonlyMap<string, AnswerForm> = new Map([
  ['test-pay', playScenario],
  ['switch', switchCoin],
  ['receipt-email', requestReceipt],
  ['reopen', reopen],
])

/**
 * The forms are sent to the page's own path and named by `?form=`: what is answered in place of the page, with what went
 * wrong, stands at its URL, so that its links, its script and a reload go on from there.
 */
function serveForms(app: Hono, path: string, deps: CheckoutDeps): void {
  app.post(path, limitBody(FORM_BYTES_MAX, refused), async (c) => {
    const found = await findAt(c, deps)
    const answer = FORMS.get(c.req.query('form') ?? '')
    if (found === null || answer === undefined) return missing(c)
    return isOwnForm(c) ? answer(c, deps, found) : refused(c)
  })
}

async function playScenario(c: Context, deps: CheckoutDeps, found: FoundCheckout): Promise<Response> {
  if (deps.sandbox === undefined || !isPayable(deps, found)) return missing(c)
  const fields = await formFields(c, ['scenario'])
  if (fields === null || !isScenario(fields.scenario)) return refused(c)
  const { scenario } = fields
  try {
    await deps.sandbox.payInvoice({ ...ownOf(found), scenario, source: 'checkout' })
  } catch (error) {
    deps.log.error({ err: error, scenario }, 'the sandbox could not pay an invoice')
    return again(c, deps, found, 'sandbox_failed', 503)
  }
  return backTo(c, found.token)
}

async function switchCoin(c: Context, deps: CheckoutDeps, found: FoundCheckout): Promise<Response> {
  const fields = await formFields(c, ['asset'])
  const asset = ASSET_IDS.find((id) => id === fields?.asset)
  if (fields === null || asset === undefined) return refused(c)
  const switched = await deps.switchAsset({ ...ownOf(found), asset, picked: true })
  switch (switched.kind) {
    case 'switched':
    case 'unchanged':
      return backTo(c, found.token)
    case 'asset_unavailable':
      return again(c, deps, found, 'open_coin_failed', 503)
    case 'not_found':
      return missing(c)
    default:
      return again(c, deps, found, 'switch_refused', 409)
  }
}

async function requestReceipt(c: Context, deps: CheckoutDeps, found: FoundCheckout): Promise<Response> {
  const fields = await formFields(c, ['email'])
  if (fields === null) return refused(c)
  // Paid, or cancelled, since the page was drawn.
  if (found.receipt === null) return backTo(c, found.token)
  const email = mailboxAddress.safeParse(fields.email?.trim())
  if (!email.success) return again(c, deps, found, 'receipt_email_refused', 400)
  const { merchantName, branding } = found
  const { language } = languageOf(c)
  const request = {
    ...ownOf(found),
    email: email.data,
    language: language.tag,
    merchantName,
    item: itemOf(found),
    seller: branding.seller,
  }
  const isKept = await deps.requestReceipt(request)
  return isKept ? backTo(c, found.token) : again(c, deps, found, 'receipt_email_limit', 409)
}

async function reopen(c: Context, deps: CheckoutDeps, found: FoundCheckout): Promise<Response> {
  if ((await formFields(c, [])) === null) return refused(c)
  const reopened = await deps.reopenInvoice(ownOf(found))
  switch (reopened.kind) {
    case 'invoice':
      return backTo(c, deps.tokenOf(reopened))
    case 'asset_unavailable':
      return again(c, deps, found, 'reopen_refused', 503)
    case 'not_found':
      return missing(c)
    default:
      // A payment came meanwhile, or the shop does not offer this: the page shows how things stand.
      return backTo(c, found.token)
  }
}

export const ownOf = ({ invoice: { merchantId, livemode, id: invoiceId } }: FoundCheckout) => ({
  tenant: { merchantId, livemode },
  invoiceId,
})

/** To the page of an invoice, from one of its forms. */
const backTo = (c: Context, token: string): Response =>
  c.redirect(`./${token}${languageOf(c).langQuery}`, 303)

/** The page as it is now, with what went wrong. */
async function again(
  c: Context,
  deps: CheckoutDeps,
  found: FoundCheckout,
  notice: Notice,
  status: 400 | 409 | 503,
): Promise<Response> {
  const fresh = (await findAt(c, deps)) ?? found
  const isTyping = notice === 'receipt_email_refused' || notice === 'receipt_email_limit'
  return answerPage(c, deps, { ...pageOf(deps, fresh, languageOf(c)), notice, isTyping }, status)
}

function answerPage(
  c: Context,
  deps: CheckoutDeps,
  page: CheckoutPage,
  status: 200 | 400 | 409 | 503 = 200,
): Response | Promise<Response> {
  return c.html(renderCheckoutDocument(page, deps.clock().getTime()), status, {
    'content-security-policy': policyOf(page),
  })
}

const policyOf = ({ branding, tillSlug }: CheckoutPage): string =>
  contentSecurityPolicy(branding, tillSlug === null ? 'checkout' : 'till')

import type { Context, Hono } from 'hono'
import { testCardOutcome } from '../../core/card/test-cards.ts'
import { ID_PREFIXES, idPattern } from '../../core/ids.ts'
import { limitBody } from '../limit-body.ts'
import { renderCardDocument, renderLeaveDocument, renderTestCardDocument } from './card-leave.tsx'
import type { CardOnramps, CheckoutDeps } from './checkout-deps.ts'
import type { Notice } from './checkout-page.ts'
import { contentSecurityPolicy } from './content-security.ts'
import { ownOf } from './invoice-pages.ts'
import { type FoundCheckout, findCheckout, pageOf } from './invoice-snapshots.ts'
import { formFields, isOwnForm, languageOf } from './page-request.ts'
import { isPlace } from './places.ts'
import { missing, plainPage, refused } from './plain-pages.ts'

const FORM_BYTES_MAX = 1_024
const PURCHASE_ID = idPattern(ID_PREFIXES.cardPurchase)

type Answer = (c: Context, found: FoundCheckout) => Promise<Response> | Response

/**
 * Paying by card, under the invoice's own token. Reading the page changes nothing: one form asks
 * for offers, another leaves for the provider. What a provider adds to the URL on the way back is ignored.
 */
export function serveCardPages(app: Hono, deps: CheckoutDeps, onramps: CardOnramps): void {
  const limit = limitBody(FORM_BYTES_MAX, refused)
  const route = (method: 'get' | 'post', path: string, answer: Answer): void => {
    app.on(method.toUpperCase(), path, limit, async (c) => {
      const found = await findCheckout(deps, c.req.param('token') ?? '')
      if (found === null) return missing(c)
      if (method === 'post' && !isOwnForm(c)) return refused(c)
      return answer(c, found)
    })
  }
  route('get', '/i/:token/card', (c, found) => showOffers(c, deps, onramps, found))
  route('post', '/i/:token/card', (c, found) => askOffers(c, deps, onramps, found))
  route('post', '/i/:token/card/leave', (c, found) => leave(c, deps, onramps, found))
  // Loaded again where leaving failed, or from the history: the invoice's page says how things stand.
  route('get', '/i/:token/card/leave', (c, found) => toInvoice(c, found, '../../'))
  route('get', '/i/:token/card/test', (c, found) => showTestCard(c, deps, onramps, found))
  route('post', '/i/:token/card/test', (c, found) => playTestCard(c, deps, onramps, found))
}

/** Coins are sold only for an invoice that can be paid now; the page of any other says how it stands. */
const isOpen = (deps: CheckoutDeps, found: FoundCheckout, c: Context): boolean =>
  pageOf(deps, found, languageOf(c)).view.payable && found.card.asset !== null

async function showOffers(
  c: Context,
  deps: CheckoutDeps,
  onramps: CardOnramps,
  found: FoundCheckout,
  again: { readonly notice: Notice; readonly status: 400 | 409 | 503 } | null = null,
): Promise<Response> {
  if (!isOpen(deps, found, c)) return toInvoice(c, found, '../')
  const offers = await onramps.offers(ownOf(found))
  const notice = again?.notice ?? (c.req.query('over') === '1' ? 'card_lapsed' : null)
  const place = offers[0]?.place ?? ''
  const page = { ...pageOf(deps, found, languageOf(c)), offers, place, notice }
  const isAsking = offers.some(({ answer }) => answer === null)
  const html = renderCardDocument(page, isAsking)
  return c.html(html, again?.status ?? 200, policyOf(found))
}

async function askOffers(
  c: Context,
  deps: CheckoutDeps,
  onramps: CardOnramps,
  found: FoundCheckout,
): Promise<Response> {
  const fields = await formFields(c, ['place'])
  if (fields === null) return refused(c)
  const { place } = fields
  if (!isPlace(place)) return showOffers(c, deps, onramps, found, { notice: 'card_choose', status: 400 })
  const { asset } = found.card
  if (!isOpen(deps, found, c) || asset === null) return toInvoice(c, found, '../')
  if (asset !== found.invoice.asset) {
    const switched = await deps.switchAsset({ ...ownOf(found), asset })
    // Money came meanwhile, or is on its way: the invoice's page says so.
    if (switched.kind === 'paid_already') return toInvoice(c, found, '../')
    if (switched.kind !== 'switched' && switched.kind !== 'unchanged')
      return showOffers(c, deps, onramps, found, { notice: 'open_coin_failed', status: 503 })
  }
  const path = `/i/${found.token}${languageOf(c).langQuery}`
  const outcome = await onramps.ask({ ...ownOf(found), place, headers: c.req.raw.headers, path })
  switch (outcome.kind) {
    case 'offered':
      return c.redirect(`./card${languageOf(c).langQuery}`, 303)
    case 'closed':
      return toInvoice(c, found, '../')
    case 'too_often':
      return plainPage(c, 'busy', 429)
    case 'not_found':
      return missing(c)
  }
}

async function leave(
  c: Context,
  deps: CheckoutDeps,
  onramps: CardOnramps,
  found: FoundCheckout,
): Promise<Response> {
  const purchaseId = await purchaseOf(c)
  if (purchaseId === null) return refused(c)
  if (!isOpen(deps, found, c)) return toInvoice(c, found, '../../')
  const left = await onramps.leave({ ...ownOf(found), purchaseId })
  if (left.kind === 'over') return c.redirect(`../card${withQuery(c, 'over', '1')}`, 303)
  const html = renderLeaveDocument(pageOf(deps, found, languageOf(c)), left.provider, left.url)
  return c.html(html, 200, policyOf(found))
}

/** The purchase that a form names; null if the form is not ours. */
async function purchaseOf(c: Context): Promise<string | null> {
  const fields = await formFields(c, ['purchase'])
  return PURCHASE_ID.test(fields?.purchase ?? '') ? (fields?.purchase ?? null) : null
}

async function showTestCard(
  c: Context,
  deps: CheckoutDeps,
  onramps: CardOnramps,
  found: FoundCheckout,
  again: { readonly purchaseId: string; readonly notice: Notice } | null = null,
): Promise<Response> {
  const purchaseId = again?.purchaseId ?? c.req.query('purchase') ?? ''
  if (purchaseId === '') return toInvoice(c, found, '../../')
  if (onramps.test === undefined || !PURCHASE_ID.test(purchaseId)) return missing(c)
  const purchase = await onramps.test.read({ ...ownOf(found), purchaseId })
  if (purchase === null) return missing(c)
  const notice = again?.notice ?? null
  const html = renderTestCardDocument({ ...pageOf(deps, found, languageOf(c)), purchase, notice })
  return c.html(html, notice === null ? 200 : notice === 'sandbox_failed' ? 503 : 400, policyOf(found))
}

/** Does what a provider would do with this card: the coins are sent on the sandbox chain and found there like any others. */
async function playTestCard(
  c: Context,
  deps: CheckoutDeps,
  onramps: CardOnramps,
  found: FoundCheckout,
): Promise<Response> {
  const fields = await formFields(c, ['purchase', 'number'])
  const purchaseId = fields?.purchase ?? ''
  if (onramps.test === undefined || fields === null || !PURCHASE_ID.test(purchaseId)) return refused(c)
  const outcome = testCardOutcome(fields.number ?? '')
  if (outcome === null)
    return showTestCard(c, deps, onramps, found, { purchaseId, notice: 'sandbox_card_wrong' })
  switch (await onramps.test.play({ ...ownOf(found), purchaseId, outcome })) {
    case 'failed':
      return showTestCard(c, deps, onramps, found, { purchaseId, notice: 'sandbox_failed' })
    case 'not_found':
      return missing(c)
    case 'played':
      // After a declined card the buyer can try another on the same page; the invoice's page says so too.
      return outcome === 'declined'
        ? showTestCard(c, deps, onramps, found, { purchaseId, notice: 'sandbox_card_refused' })
        : toInvoice(c, found, '../../')
  }
}

const toInvoice = (c: Context, found: FoundCheckout, up: '../' | '../../'): Response =>
  c.redirect(`${up}${found.token}${languageOf(c).langQuery}`, 303)

function withQuery(c: Context, name: string, value: string): string {
  const query = new URLSearchParams(languageOf(c).langQuery)
  query.set(name, value)
  return `?${query}`
}

const policyOf = ({ branding }: FoundCheckout) => ({
  'content-security-policy': contentSecurityPolicy(branding),
})

import type { Context, Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import type { ContinuedCheckout } from '../../core/checkout/checkout-pages.ts'
import type { TillFacts } from '../../core/checkout/till.ts'
import type { CheckoutDeps } from '../checkout/checkout-deps.ts'
import { contentSecurityPolicy } from '../checkout/content-security.ts'
import { formFields, isOwnForm, languageOf } from '../checkout/page-request.ts'
import { missing, refused } from '../checkout/plain-pages.ts'
import { ICON, ICON_PNG } from '../icon.ts'
import { limitBody } from '../limit-body.ts'
import { renderSignIn, renderTakings, renderTill, type TillPage } from './till-page.tsx'

const FORM_BYTES_MAX = 4_096
const FIELD_LENGTH_MAX = 512
const DAY_MS = 24 * 60 * 60_000
const ICON_SVG = decodeURIComponent(ICON.slice(ICON.indexOf(',') + 1))
const PNG_BYTES = new Uint8Array(ICON_PNG)
const ICON_SECONDS = 86_400

/**
 * Tills under `/till/`: staff sign in with the till's code, sell, and see what the till took today. The page of a sale is the
 * invoice's own (`invoice-pages.ts`).
 */
export function serveTills(app: Hono, deps: CheckoutDeps): void {
  const cookies = tillCookies(deps)
  const cached = { 'cache-control': `public, max-age=${ICON_SECONDS}` }
  app.get('/till/icon.svg', (c) => c.body(ICON_SVG, 200, { ...cached, 'content-type': 'image/svg+xml' }))
  app.get('/till/icon.png', (c) => c.body(PNG_BYTES, 200, { ...cached, 'content-type': 'image/png' }))
  app.get('/till/:slug', async (c) => {
    const till = await cookies.open(c)
    if (till === null) return missing(c)
    const page = await pageOf(c, deps, till)
    return answer(c, page, till.isSignedIn ? renderTill(page) : renderSignIn(page, null))
  })
  app.get('/till/:slug/manifest.webmanifest', async (c) => {
    const till = await cookies.open(c)
    if (till === null) return missing(c)
    const slug = slugOf(c)
    const manifest = {
      name: `${till.linkName} · ${till.merchantName}`,
      short_name: till.linkName,
      id: `/till/${slug}`,
      start_url: `../${slug}`,
      scope: `../${slug}`,
      display: 'standalone',
      icons: [
        { src: '../icon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
        { src: '../icon.png', sizes: '180x180', type: 'image/png', purpose: 'any' },
      ],
    }
    return c.body(JSON.stringify(manifest), 200, { 'content-type': 'application/manifest+json' })
  })
  serveSignIn(app, deps, cookies)
  serveSales(app, deps, cookies)
}

type TillCookies = ReturnType<typeof tillCookies>

/** A cookie of its own for each till, sent to nothing else of the site. */
function tillCookies({ baseUrl, tills }: CheckoutDeps) {
  const secure = baseUrl.startsWith('https:')
  const name = secure ? '__Secure-paylink_till' : 'paylink_till'
  return {
    open: (c: Context): Promise<TillFacts | null> => tills.read(slugOf(c), getCookie(c, name)),
    keep: (c: Context, session: string, maxAge: number): void =>
      setCookie(c, name, session, {
        path: `/till/${slugOf(c)}`,
        httpOnly: true,
        secure,
        sameSite: 'Strict',
        maxAge,
      }),
  }
}

function serveSignIn(app: Hono, deps: CheckoutDeps, cookies: TillCookies): void {
  const { tills } = deps
  const limit = limitBody(FORM_BYTES_MAX, refused)
  // At the till's own path: beside a fault, the form, the languages and a reload have to lead on from there.
  app.post('/till/:slug', limit, async (c) => {
    if (!isOwnForm(c)) return refused(c)
    const { code = null } = (await formFields(c, ['code'])) ?? {}
    if (code === null || code.length > FIELD_LENGTH_MAX) return refused(c)
    const till = await cookies.open(c)
    if (till === null) return missing(c)
    const signedIn = await tills.signIn(slugOf(c), { code, headers: c.req.raw.headers })
    if (signedIn.kind === 'signed_in') {
      cookies.keep(c, signedIn.session, tills.sessionSeconds)
      return c.redirect(`./${slugOf(c)}${languageOf(c).langQuery}`, 303)
    }
    const page = await pageOf(c, deps, till)
    return answer(c, page, renderSignIn(page, signedIn.kind), signedIn.kind === 'wrong' ? 403 : 429)
  })
  app.post('/till/:slug/sign-out', limit, (c) => {
    if (!isOwnForm(c)) return refused(c)
    cookies.keep(c, '', 0)
    return backToTill(c)
  })
}

function serveSales(app: Hono, deps: CheckoutDeps, cookies: TillCookies): void {
  const { tills } = deps
  const wrong = (c: Context) => c.json({ error: 'refused' }, 400)
  app.post('/till/:slug/sale', limitBody(FORM_BYTES_MAX, wrong), async (c) => {
    const fields = await formFields(c, ['visit', 'items', 'amount', 'tip', 'total'])
    if (!isOwnForm(c) || fields === null) return wrong(c)
    if (Object.values(fields).some((value = '') => value.length > FIELD_LENGTH_MAX)) return wrong(c)
    const till = await cookies.open(c)
    if (till === null) return c.json({ error: 'not_found' }, 404)
    if (!till.isSignedIn) return c.json({ error: 'signed_out' }, 401)
    if (!tills.maySell(till.linkId)) return c.json({ error: 'busy' }, 429)
    const { visit, items = '', amount = '', tip = '', total = '' } = fields
    const sale = { items, amount, tip, total }
    return answerSale(c, deps, await deps.continueCheckout({ slug: slugOf(c), visit, asset: null, sale }))
  })
  app.get('/till/:slug/today', async (c) => {
    const till = await cookies.open(c)
    if (till === null) return missing(c)
    if (!till.isSignedIn) return backToTill(c)
    const nowMs = deps.clock().getTime()
    const since = Number(c.req.query('since') ?? Number.NaN)
    // Only the phone knows when its day began.
    const sinceMs = since > nowMs - 2 * DAY_MS && since <= nowMs ? since : nowMs - DAY_MS
    const takings = await tills.takings(till, sinceMs)
    const page = await pageOf(c, deps, till)
    const { merchantId, livemode } = till
    const tokenOf = (invoiceId: string) => deps.tokenOf({ tenant: { merchantId, livemode }, invoiceId })
    return answer(c, page, renderTakings(page, takings, tokenOf))
  })
}

const slugOf = (c: Context): string => c.req.param('slug') ?? ''

/** From a path below the till's. */
const backToTill = (c: Context): Response => c.redirect(`../${slugOf(c)}${languageOf(c).langQuery}`, 303)

async function pageOf(c: Context, deps: CheckoutDeps, till: TillFacts): Promise<TillPage> {
  const branding = await deps.readBranding(till.merchantId)
  return { ...languageOf(c), ...till, branding, notice: null, slug: slugOf(c) }
}

function answer(
  c: Context,
  { branding }: TillPage,
  document: string,
  status: 200 | 403 | 429 = 200,
): Response | Promise<Response> {
  return c.html(document, status, { 'content-security-policy': contentSecurityPolicy(branding, 'till') })
}

/** Each status is one sentence of the till's script. */
function answerSale(c: Context, deps: CheckoutDeps, sold: ContinuedCheckout): Response {
  switch (sold.kind) {
    case 'invoice': {
      const path = `./${slugOf(c)}/sale/${deps.tokenOf(sold)}${languageOf(c).langQuery}`
      return c.json({ path })
    }
    case 'sale_changed':
      return c.json({ error: 'changed' }, 409)
    case 'asset_unavailable':
      return sold.reason === 'amount_too_small' || sold.reason === 'amount_too_large'
        ? c.json({ error: 'refused' }, 422)
        : c.json({ error: 'unavailable' }, 503)
    case 'sale_refused':
    case 'no_visit':
      return c.json({ error: 'refused' }, 422)
    default:
      return c.json({ error: 'not_found' }, 404)
  }
}

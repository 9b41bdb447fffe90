import { type Context, Hono } from 'hono'
import { compress } from 'hono/compress'
import { ASSET_IDS, type AssetId } from '../../core/assets.ts'
import { Busy } from '../../core/busy.ts'
import { CARD_DEFAULT_ASSET } from '../../core/card/card-purchase.ts'
import type { ContinuedCheckout, PaymentPage, PaymentPageQuery } from '../../core/checkout/checkout-pages.ts'
import type { AssetRefused } from '../../core/checkout/coin-offers.ts'
import type { RequestedCharge } from '../../core/checkout/payment-link.ts'
import { merchantAway } from '../../core/merchant-away.ts'
import { typedAmount } from '../../core/money.ts'
import { CURRENCIES, type Currency, currencyDecimals } from '../../core/rates/currencies.ts'
import { readBuilt } from '../built-files.ts'
import { limitBody } from '../limit-body.ts'
import { misdirected } from '../misdirected.ts'
import { serveTills } from '../till/serve-tills.ts'
import { NO_BRANDING } from './branding.ts'
import { serveCardPages } from './card-pages.ts'
import type { CheckoutDeps } from './checkout-deps.ts'
import type { Notice } from './checkout-page.ts'
import { contentSecurityPolicy, SECURITY_HEADERS } from './content-security.ts'
import { renderAmountDocument, renderOpenDocument } from './document.tsx'
import { INVOICE_PATHS, serveInvoicePages } from './invoice-pages.ts'
import { liveStreamsOf } from './invoice-snapshots.ts'
import type { LiveStreams } from './live-streams.ts'
import { serveLogos } from './logos.ts'
import { formFields, isOwnForm, languageOf } from './page-request.ts'
import { missing, plainPage, refused } from './plain-pages.ts'
import { serveUnsubscribe } from './unsubscribe-pages.ts'

/** Whether a path is one of the buyers' pages. */
export const isBuyersPath = (path: string): boolean =>
  path === '/embed.js' || ['/i/', '/l/', '/till/', '/u/', '/logo/'].some((start) => path.startsWith(start))

/**
 * The buyers' pages: invoices under `/i/`, payment links under `/l/`, tills under `/till/`, the end of emails under `/u/`,
 * logos, embed.js. The caller notifies `streams` of changes, and closes it so that a server can stop.
 */
export function createCheckoutApp(deps: CheckoutDeps): { app: Hono; streams: LiveStreams } {
  const streams = liveStreamsOf(deps)
  const app = new Hono()
  const plainPolicy = contentSecurityPolicy(NO_BRANDING)
  app.use('*', async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      if (!c.res.headers.has(name)) c.res.headers.set(name, value)
    if (!c.res.headers.has('content-security-policy'))
      c.res.headers.set('content-security-policy', plainPolicy)
  })
  for (const path of [
    ...INVOICE_PATHS.flatMap((path) => [path, `${path}/state`, `${path}/receipt`]),
    '/i/:token/card',
    '/l/:slug',
    '/till/:slug',
    '/till/:slug/today',
    '/embed.js',
  ])
    app.use(path, compress())
  app.on('POST', ['/i/*', '/l/*', '/till/*'], async (c, next) => {
    if (deps.maySendForm(c.req.raw.headers)) return next()
    return plainPage(c, 'busy', 429)
  })
  serveInvoicePages(app, deps, streams)
  if (deps.card !== undefined) serveCardPages(app, deps, deps.card)
  servePaymentPages(app, deps)
  serveUnsubscribe(app, deps)
  serveTills(app, deps)
  serveLogos(app, deps)
  serveEmbed(app)
  app.all('*', missing)
  app.onError((error, c) => {
    const away = merchantAway(error)
    if (away?.kind === 'moved') return misdirected(away.cell)
    if (away === null && !(error instanceof Busy)) deps.log.error({ err: error }, 'a checkout page failed')
    return plainPage(c, 'problem', 503)
  })
  return { app, streams }
}

const FORM_BYTES_MAX = 4_096
const VALUE_LENGTH_MAX = 512
/** The parameters by which a buyer's URL names an amount. */
const AMOUNT_NAMES = ['usd', 'amount', 'currency'] as const

type OpenFacts = Extract<PaymentPage, { kind: 'open' }>

/** Payment links and checkout sessions under `/l/`. Opening one makes nothing; its form makes the invoice. */
function servePaymentPages(app: Hono, deps: CheckoutDeps): void {
  app.get('/l/:slug', async (c) => {
    const [token, ...moreTokens] = c.req.queries('checkout_token') ?? []
    // Our URLs have each parameter once; this one was altered.
    if (moreTokens.length > 0 || isTooLong(token)) return missing(c)
    const amounts = AMOUNT_NAMES.map((name) => c.req.queries(name) ?? [])
    if (amounts.some((values) => values.length > 1 || isTooLong(values[0])))
      return plainPage(c, 'bad_amount', 400)
    const [usd, amount, currency] = amounts.map(([value]) => value)
    const charge = typedCharge({ usd, amount, currency })
    const query = { slug: c.req.param('slug'), checkoutToken: token, ...charge }
    const facts = await deps.readPaymentPage(query)
    return answerPage(c, deps, query, facts)
  })
  const limit = limitBody(FORM_BYTES_MAX, refused)
  app.post('/l/:slug', limit, async (c) => {
    if (!isOwnForm(c)) return refused(c)
    const fields = await formFields(c, ['checkout_token', ...AMOUNT_NAMES, 'visit', 'asset', 'shown', 'by'])
    if (fields === null || Object.values(fields).some(isTooLong)) return refused(c)
    const { visit, checkout_token: checkoutToken, usd, amount, currency } = fields
    const query = { slug: c.req.param('slug'), checkoutToken, usd, amount, currency }
    const chosen = ASSET_IDS.find((id) => id === fields.asset)
    if (chosen === undefined) return openAgain(c, deps, query, 'open_choose', 400)
    const picked = fields.shown !== undefined && fields.shown !== chosen
    const byCard = fields.by === 'card' && deps.card !== undefined
    const asset = byCard && !picked ? await assetForCard(deps, query, chosen) : chosen
    const continued = await deps.continueCheckout({ ...query, visit, asset, picked })
    if (continued.kind === 'asset_unavailable') return openAgain(c, deps, query, 'open_coin_failed', 503)
    if (continued.kind === 'invoice' && byCard)
      return c.redirect(`../i/${deps.tokenOf(continued)}/card${languageOf(c).langQuery}`, 303)
    return answerOther(c, deps, continued)
  })
}

/** By card: the coin that the buyer picked, else USDC on Base if it can be had. */
async function assetForCard(deps: CheckoutDeps, query: PaymentPageQuery, chosen: AssetId): Promise<AssetId> {
  const facts = await deps.readPaymentPage(query)
  if (facts.kind !== 'open') return chosen
  const usual = facts.coins.find(({ asset, available }) => asset === CARD_DEFAULT_ASSET && available)
  return usual !== undefined && deps.card?.sells(usual.asset, facts.tenant.livemode) === true
    ? usual.asset
    : chosen
}

const isTooLong = (value: string | undefined): boolean => (value ?? '').length > VALUE_LENGTH_MAX

/** Everything but the open page. */
function answerOther(
  c: Context,
  deps: CheckoutDeps,
  facts: Exclude<ContinuedCheckout, AssetRefused>,
): Response | Promise<Response> {
  switch (facts.kind) {
    case 'invoice':
      return c.redirect(`../i/${deps.tokenOf(facts)}${languageOf(c).langQuery}`, 303)
    case 'bad_amount':
      return plainPage(c, 'bad_amount', 400)
    case 'no_visit':
      return refused(c)
    default:
      return missing(c)
  }
}

async function openAgain(
  c: Context,
  deps: CheckoutDeps,
  query: PaymentPageQuery,
  notice: Notice,
  status: 400 | 503,
): Promise<Response> {
  const facts = await deps.readPaymentPage(query)
  return answerPage(c, deps, query, facts, { notice, status })
}

/** Buyers type `12,50` too. */
function typedCharge({ usd, amount, currency }: RequestedCharge): RequestedCharge {
  const known = CURRENCIES.find((each) => each === currency) ?? 'USD'
  const typed = (text: string | undefined, of: Currency | 'USD') =>
    text === undefined ? text : typedAmount(text, currencyDecimals(of))
  return { usd: typed(usd, 'USD'), amount: typed(amount, known), currency }
}

const requestedIn = ({ usd, amount, currency }: PaymentPageQuery): RequestedCharge => ({
  usd,
  amount,
  currency,
})

/** What the page of a link or session shows, whatever that is. */
function answerPage(
  c: Context,
  deps: CheckoutDeps,
  query: PaymentPageQuery,
  facts: PaymentPage,
  outcome: OpenOutcome = { notice: null, status: 200 },
): Response | Promise<Response> {
  if (facts.kind === 'open') return answerOpen(c, deps, query, facts, outcome)
  return facts.kind === 'ask_amount' ? answerAskAmount(c, deps, query, facts) : answerOther(c, deps, facts)
}

/** A link without an amount asks for it; one that cannot be paid stands in the field, to be corrected there. */
async function answerAskAmount(
  c: Context,
  deps: CheckoutDeps,
  query: PaymentPageQuery,
  facts: Extract<PaymentPage, { kind: 'ask_amount' }>,
): Promise<Response> {
  const branding = await deps.readBranding(facts.tenant.merchantId)
  const isMissing = facts.reason === 'missing'
  const page = {
    ...languageOf(c),
    ...facts,
    branding,
    notice: isMissing ? null : ('amount_refused' as const),
    livemode: facts.tenant.livemode,
    slug: query.slug,
    requested: requestedIn(query),
    dollarsPerCurrency: deps.dollarsPerCurrency(facts.tenant.livemode),
  }
  return c.html(renderAmountDocument(page), isMissing ? 200 : 400, {
    'content-security-policy': contentSecurityPolicy(branding),
  })
}

type OpenOutcome = { readonly notice: Notice | null; readonly status: 200 | 400 | 503 }

async function answerOpen(
  c: Context,
  deps: CheckoutDeps,
  query: PaymentPageQuery,
  facts: OpenFacts,
  outcome: OpenOutcome,
): Promise<Response> {
  const branding = await deps.readBranding(facts.tenant.merchantId)
  const page = {
    ...languageOf(c),
    ...facts,
    branding,
    notice: outcome.notice,
    livemode: facts.tenant.livemode,
    slug: query.slug,
    checkoutToken: query.checkoutToken,
    requested: requestedIn(query),
    visit: deps.newVisit(),
    dollarsPerCurrency: deps.dollarsPerCurrency(facts.tenant.livemode),
    chosen: facts.defaultAsset,
    byCard: facts.coins.some(
      ({ asset, available }) => available && deps.card?.sells(asset, facts.tenant.livemode) === true,
    ),
  }
  return c.html(renderOpenDocument(page, deps.clock().getTime()), outcome.status, {
    'content-security-policy': contentSecurityPolicy(branding),
  })
}

const SCRIPT = readBuilt('embed.js')

const MAX_AGE_SECONDS = 3_600

/** `embed.js`, for any site to load: also under COEP, and with `crossorigin`. */
function serveEmbed(app: Hono): void {
  app.get('/embed.js', (c) =>
    c.body(SCRIPT, 200, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
    }),
  )
}

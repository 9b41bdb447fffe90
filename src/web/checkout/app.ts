import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { serveEmbed } from '../embed/serve-embed.ts'
import { NO_BRANDING } from './branding.ts'
import { serveCardPages } from './card-pages.ts'
import type { CheckoutDeps } from './checkout-deps.ts'
import { contentSecurityPolicy, SECURITY_HEADERS } from './content-security.ts'
import { serveInvoicePages } from './invoice-pages.ts'
import { liveStreamsOf } from './invoice-snapshots.ts'
import type { LiveStreams } from './live-streams.ts'
import { serveLogos } from './logos.ts'
import { servePaymentPages } from './payment-pages.ts'
import { missing, plainPage } from './plain-pages.ts'

/** Whether a path is one of the buyers' pages. */
export const isBuyersPath = (path: string): boolean =>
  path === '/embed.js' || ['/i/', '/l/', '/logo/'].some((start) => path.startsWith(start))

/**
 * The buyers' pages: invoices under `/i/`, payment links under `/l/`, logos, embed.js. The caller
 * tells `streams` of changes, and closes it so that a server can stop.
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
    '/i/:token',
    '/i/:token/state',
    '/i/:token/receipt',
    '/i/:token/card',
    '/l/:slug',
    '/embed.js',
  ])
    app.use(path, compress())
  app.on('POST', ['/i/*', '/l/*'], async (c, next) => {
    if (deps.maySendForm(c.req.raw.headers)) return next()
    return plainPage(c, 'busy', 429)
  })
  serveInvoicePages(app, deps, streams)
  if (deps.card !== undefined) serveCardPages(app, deps, deps.card)
  servePaymentPages(app, deps)
  serveLogos(app, deps)
  serveEmbed(app)
  app.all('*', missing)
  app.onError((error, c) => {
    deps.log.error({ err: error }, 'a checkout page failed')
    return plainPage(c, 'problem', 503)
  })
  return { app, streams }
}

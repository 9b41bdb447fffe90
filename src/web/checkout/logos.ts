import type { Hono } from 'hono'
import type { CheckoutDeps } from './checkout-deps.ts'
import { missing } from './plain-pages.ts'

const LOGO_FILE = /^([0-9a-f]{32})\.webp$/

/** Serves merchants' logos and their tills' pictures, as we encoded them, from our own origin. A path has the content's digest, so what it gives never changes. */
export function serveLogos(app: Hono, deps: CheckoutDeps): void {
  app.get('/logo/:merchant/:file', async (c) => {
    const digest = LOGO_FILE.exec(c.req.param('file'))?.[1]
    const bytes = digest === undefined ? null : await deps.readLogo(c.req.param('merchant'), digest)
    if (bytes === null) return missing(c)
    return c.body(bytes, 200, {
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': `default-src 'none'`,
    })
  })
}

/** Where a logo or a till's picture of a merchant is served. */
export const logoPath = (merchantId: string, digest: string): string => `/logo/${merchantId}/${digest}.webp`

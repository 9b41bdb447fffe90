import type { Hono } from 'hono'
import { readBuilt } from '../built-files.ts'

const SCRIPT = readBuilt('embed.js')

const MAX_AGE_SECONDS = 3_600

/** `embed.js`, for any site to load: also under COEP, and with `crossorigin`. */
export function serveEmbed(app: Hono): void {
  app.get('/embed.js', (c) =>
    c.body(SCRIPT, 200, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': `public, max-age=${MAX_AGE_SECONDS}`,
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
    }),
  )
}

import { hashOf } from '../built-files.ts'
import { type Branding, brandStyle } from './branding.ts'
import { SCRIPT, STYLE, STYLE_WITHOUT_SCRIPT, TILL_SCRIPT, TILL_STYLE } from './inline-files.ts'

const SCRIPT_HASH = hashOf(SCRIPT)
const STYLE_HASHES = `${hashOf(STYLE)} ${hashOf(STYLE_WITHOUT_SCRIPT)}`

const TILL_HASHES = { script: ` ${hashOf(TILL_SCRIPT)}`, style: ` ${hashOf(TILL_STYLE)}` }

/** Only this program's own script and styles, by their hashes, and the merchant's colours are allowed. */
export function contentSecurityPolicy(branding: Branding, at: 'checkout' | 'till' = 'checkout'): string {
  const besides = at === 'till' ? TILL_HASHES : { script: '', style: '' }
  const own = brandStyle(branding)
  return [
    `default-src 'none'`,
    `script-src ${SCRIPT_HASH}${besides.script}`,
    `style-src ${STYLE_HASHES}${besides.style}${own === '' ? '' : ` ${hashOf(own)}`}`,
    // The icon in the browser's tab is a data: URL; logos are our own.
    `img-src 'self' data:`,
    `connect-src 'self'`,
    ...(at === 'till' ? [`manifest-src 'self'`] : []),
    `form-action 'self'`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')
}

/** Headers of every page. The token stands in the URL: no referrer, no cache, no index. */
export const SECURITY_HEADERS: { readonly [name: string]: string } = {
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

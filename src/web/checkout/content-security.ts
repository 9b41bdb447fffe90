import { createHash } from 'node:crypto'
import { SCRIPT } from './script.ts'
import { STYLE, STYLE_WITHOUT_SCRIPT } from './styles.ts'

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Nothing runs and nothing is styled but what stands in this program, word for word. */
const CONTENT_SECURITY_POLICY = [
  `default-src 'none'`,
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)} ${hashOf(STYLE_WITHOUT_SCRIPT)}`,
  // The icon in the browser's tab is a data: URL.
  `img-src data:`,
  `connect-src 'self'`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Headers of everything that the checkout answers. The token stands in the URL: no referrer, no cache, no index. */
export const SECURITY_HEADERS: { readonly [name: string]: string } = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

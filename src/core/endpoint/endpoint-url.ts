import { readStrictUrl } from '../strict-url.ts'

/** Characters in an endpoint's URL, as given (decisions: limits and defaults). */
export const ENDPOINT_URL_LENGTH_MAX = 2_048

const ENDPOINT_URL_REFUSALS = [
  'malformed',
  'too_long',
  'scheme',
  'credentials',
  'ip_literal',
  'port',
] as const
export type EndpointUrlRefusal = (typeof ENDPOINT_URL_REFUSALS)[number]

type EndpointUrlCheck =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly reason: EndpointUrlRefusal }

/** Ports below this one belong to services that are no webhook receivers; 443 is. */
const LOWEST_FREE_PORT = 1_024
const HTTPS_PORT = 443

/** Whether a receiver on the public internet may listen there. */
export function isReceiverPort(port: number): boolean {
  return port === HTTPS_PORT || port >= LOWEST_FREE_PORT
}
/** After WHATWG parsing every spelling of an IPv4 address (`127.1`, `0x7f.1`, `2130706433`, full-width digits) has this form. */
const IPV4_HOST = /^\d{1,3}(?:\.\d{1,3}){3}$/

/** Whether a parsed URL names an IP address in place of a host. */
function hasIpLiteralHost(url: URL): boolean {
  return url.hostname.startsWith('[') || IPV4_HOST.test(url.hostname.replace(/\.$/, ''))
}

/**
 * Whether events may be sent to this URL: https, a host name, no credentials, port 443 or above 1023.
 * Names are not looked up here: what they resolve to is checked at every connect. `allowPrivate` (test endpoints
 * of an installation that says so) also takes http, addresses and every port.
 */
export function checkEndpointUrl(text: string, options: { allowPrivate: boolean }): EndpointUrlCheck {
  if (text.length > ENDPOINT_URL_LENGTH_MAX) return refused('too_long')
  const read = readStrictUrl(text, options.allowPrivate ? ['https:', 'http:'] : ['https:'])
  if (read.kind === 'refused') return read
  if (options.allowPrivate) return { kind: 'accepted' }
  if (hasIpLiteralHost(read.url)) return refused('ip_literal')
  const { port } = read.url
  if (port !== '' && !isReceiverPort(Number(port))) return refused('port')
  return { kind: 'accepted' }
}

const refused = (reason: EndpointUrlRefusal): EndpointUrlCheck => ({ kind: 'refused', reason })

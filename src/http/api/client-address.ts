import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

/** The caller's address, written by our own server over whatever the caller sent. */
export const CLIENT_ADDRESS_HEADER = 'x-paylink-client-address'
const IPV6_BLOCK_BITS = 64
export const UNKNOWN_BLOCK = 'unknown'

/** What a request is counted under: the caller's address, or for IPv6 the /64 that one household or server has. */
export const clientBlockOf = (headers: Headers): string => blockOf(headers.get(CLIENT_ADDRESS_HEADER) ?? '')

/** The same of an address, in any spelling; `unknown` where it is none. */
export function blockOf(address: string): string {
  if (!ipaddr.isValid(address)) return UNKNOWN_BLOCK
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_BLOCK_BITS}`).toString()
}

/** The caller's address if it is a public one; a card provider has no use for another. */
export function publicAddressOf(headers: Headers): string | null {
  const address = headers.get(CLIENT_ADDRESS_HEADER) ?? ''
  if (!ipaddr.isValid(address)) return null
  const parsed = ipaddr.process(address)
  return parsed.range() === 'unicast' ? parsed.toString() : null
}

/** API requests are counted by key, not by address; this matches the one spelling of their paths that reaches the API. */
const UNCOUNTED = /^\/api\/v1\/[0-9A-Za-z_/-]{1,200}(?:\?|$)/
/** Only a proxy on this machine or its own network is believed about who called it. */
const NEAR = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal'])

/**
 * Writes the caller's address into our own header, over whatever the caller sent there: the socket's address, or, if that
 * is a nearby proxy, the last address that the proxy added to X-Forwarded-For. Skipped for requests to the API.
 */
export function writeClientAddress(incoming: IncomingMessage): void {
  if (UNCOUNTED.test(incoming.url ?? '')) return
  const own = incoming.socket.remoteAddress ?? ''
  const forwarded = incoming.headers['x-forwarded-for']
  const last =
    (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',').at(-1)?.trim() ?? ''
  const isNear = ipaddr.isValid(own) && NEAR.has(ipaddr.process(own).range())
  const reported = isNear && ipaddr.isValid(last) ? last : own
  // One spelling per address, since counters compare text.
  const address = ipaddr.isValid(reported) ? ipaddr.process(reported).toString() : reported
  const kept: string[] = []
  for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2) {
    const [name = '', value = ''] = incoming.rawHeaders.slice(at, at + 2)
    if (name.toLowerCase() !== CLIENT_ADDRESS_HEADER) kept.push(name, value)
  }
  incoming.rawHeaders.splice(0, incoming.rawHeaders.length, ...kept, CLIENT_ADDRESS_HEADER, address)
  // Node has already parsed the headers, and looking one up finds the parsed value.
  incoming.headers[CLIENT_ADDRESS_HEADER] = address
}

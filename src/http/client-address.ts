import ipaddr from 'ipaddr.js'

/** The caller's address, written by our own server over whatever the caller sent. */
export const CLIENT_ADDRESS_HEADER = 'x-paylink-client-address'
const IPV6_BLOCK_BITS = 64
export const UNKNOWN_BLOCK = 'unknown'

/** Whom a request is counted under: the caller's address, or of IPv6 the /64 that one household or server has. */
export const clientBlockOf = (headers: Headers): string => blockOf(headers.get(CLIENT_ADDRESS_HEADER) ?? '')

/** The same of an address, in any spelling; `unknown` where it is none. */
export function blockOf(address: string): string {
  if (!ipaddr.isValid(address)) return UNKNOWN_BLOCK
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${IPV6_BLOCK_BITS}`).toString()
}

/** The caller's address where it is one of the public internet; a card provider has no use for another. */
export function publicAddressOf(headers: Headers): string | null {
  const address = headers.get(CLIENT_ADDRESS_HEADER) ?? ''
  if (!ipaddr.isValid(address)) return null
  const parsed = ipaddr.process(address)
  return parsed.range() === 'unicast' ? parsed.toString() : null
}

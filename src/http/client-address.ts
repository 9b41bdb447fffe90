import ipaddr from 'ipaddr.js'

/** The caller's address, written by our own server over whatever the caller sent. */
export const CLIENT_ADDRESS_HEADER = 'x-paylink-client-address'
const IPV6_BLOCK_BITS = 64

/** Whom a request is counted under: the caller's address, or of IPv6 the /64 that one household or server has. */
export function clientBlockOf(headers: Headers): string {
  const address = headers.get(CLIENT_ADDRESS_HEADER) ?? ''
  if (!ipaddr.isValid(address)) return 'unknown'
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

import ipaddr from 'ipaddr.js'

/** All of IPv6 that is routed on the public internet (IANA, "Global Unicast"). */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** Inside 2000::/3, but for documentation (RFC 9637). */
const DOCUMENTATION_V6 = ipaddr.IPv6.parseCIDR('3fff::/20')

/**
 * Whether a resolved address is one on the public internet. Everything else is refused: loopback, private,
 * link-local (cloud metadata), CGNAT, multicast, reserved, documentation, benchmarking, and every IPv6 form that
 * carries an IPv4 address inside (mapped, compatible, NAT64, 6to4, Teredo, ISATAP-like translation).
 */
export function isGlobalUnicast(address: string): boolean {
  if (!ipaddr.isValid(address) || address.includes('%')) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  if (!(parsed instanceof ipaddr.IPv6)) return ipaddr.IPv4.isValidFourPartDecimal(address)
  return parsed.match(GLOBAL_UNICAST_V6) && !parsed.match(DOCUMENTATION_V6)
}

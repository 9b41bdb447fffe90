/**
 * An address that something listens on, as the host of a URL: what listens on every address is asked on this machine's
 * own, and IPv6 stands in brackets (RFC 3986 §3.2.2).
 */
export function urlHost(address: string): string {
  const own = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return own.includes(':') ? `[${own}]` : own
}

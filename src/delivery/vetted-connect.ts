import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import ipaddr from 'ipaddr.js'
import type { buildConnector } from 'undici'
import { isReceiverPort } from '../core/endpoint/endpoint-url.ts'
import { ConnectFailed, tlsOutcome } from './outcome-code.ts'
import type { ResolveHost } from './resolve-host.ts'

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

const CONNECT_TIMEOUT_MS = 3_000
/** With several addresses the next one is tried after this long (RFC 8305). */
const NEXT_ADDRESS_AFTER_MS = 250
/** A name with more addresses than this is vetted whole and dialled in part. */
const ADDRESSES_DIALLED_MAX = 4

export type ConnectPolicy = {
  /** Only addresses of the public internet, only host names, only https. */
  readonly publicOnly: boolean
  readonly resolve: ResolveHost
  /** Certificate authorities to trust in place of the system's (PEM). */
  readonly ca?: string | Buffer
}

/**
 * Opens one connection for a request, TLS included. The name is resolved here, at connect, every address is vetted,
 * and the vetted addresses themselves are dialled: between check and use there is no second look-up that could
 * answer differently. Throws `ConnectFailed`.
 */
export async function connectVetted(policy: ConnectPolicy, options: buildConnector.Options): Promise<Socket> {
  const hostname = options.hostname.replace(/^\[(.*)\]$/, '$1')
  const secure = options.protocol === 'https:'
  if (policy.publicOnly && !secure) throw new ConnectFailed('address_refused', 'only https is sent to')
  const port = options.port === '' ? (secure ? 443 : 80) : Number(options.port)
  if (policy.publicOnly && !isReceiverPort(port)) {
    throw new ConnectFailed('address_refused', "the port is no webhook receiver's")
  }
  const addresses = await vettedAddresses(policy, hostname)
  const target = {
    host: hostname,
    port,
    lookup: answerWith(addresses.slice(0, ADDRESSES_DIALLED_MAX)),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    noDelay: true,
  }
  if (!secure) return settle(policy, connectTcp(target), 'connect')
  const socket = connectTls({
    ...target,
    ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
    ALPNProtocols: ['http/1.1'],
    ...(policy.ca === undefined ? {} : { ca: policy.ca }),
  })
  return settle(policy, socket, 'secureConnect')
}

async function vettedAddresses(policy: ConnectPolicy, hostname: string): Promise<string[]> {
  if (isIP(hostname) !== 0) {
    if (policy.publicOnly) throw new ConnectFailed('address_refused', 'the URL names an address, not a host')
    return [hostname]
  }
  const addresses = await policy.resolve(hostname)
  if (policy.publicOnly && !addresses.every(isGlobalUnicast)) {
    throw new ConnectFailed(
      'address_refused',
      'the host name has an address that is not on the public internet',
    )
  }
  return addresses
}

function answerWith(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const [first] = entries
    if (first === undefined) callback(new ConnectFailed('dns', 'the host name has no address'), [])
    else if (options.all === true) callback(null, entries)
    else callback(null, first.address, first.family)
  }
}

/** Waits until the socket is usable, at most the connect timeout. */
function settle(policy: ConnectPolicy, socket: Socket, usable: 'connect' | 'secureConnect'): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let connected = false
    const timer = setTimeout(() => {
      fail(new ConnectFailed(connected ? 'tls' : 'connect', 'the connection was not made in time'))
    }, CONNECT_TIMEOUT_MS)
    const fail = (error: ConnectFailed): void => {
      clearTimeout(timer)
      reject(error)
      socket.destroy()
    }
    // Left in place: a socket that breaks later has undici's listener beside this one, and rejecting twice is nothing.
    socket.on('error', (error) => {
      if (error instanceof ConnectFailed) return fail(error)
      const outcome = connected ? tlsOutcome(error) : 'connect'
      fail(new ConnectFailed(outcome, 'the connection was not made', { cause: error }))
    })
    socket.once('close', () =>
      fail(new ConnectFailed(connected ? 'tls' : 'connect', 'the connection was closed')),
    )
    socket.once('connect', () => {
      connected = true
      // The last word: what the kernel says we are connected to.
      if (policy.publicOnly && !isGlobalUnicast(socket.remoteAddress ?? '')) {
        fail(new ConnectFailed('address_refused', 'the connection led to an address that is not public'))
      }
    })
    socket.once(usable, () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

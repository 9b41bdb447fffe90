import { lookup, Resolver } from 'node:dns/promises'
import { ConnectFailed } from './outcome-code.ts'

/** All addresses of a host name, at least one. Throws `ConnectFailed('dns')` where there is none. */
export type ResolveHost = (hostname: string) => Promise<string[]>

const QUERY_TIMEOUT_MS = 1_500
const QUERY_TRIES = 2

/**
 * Asks DNS servers over the network, without the thread pool that `lookup` shares with the file system: a name
 * that hangs holds up nobody else. Reads no hosts file. `servers`: `address:port`, the system's where absent.
 */
export function createDnsResolver(servers?: readonly string[]): ResolveHost {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const failure = answers.find((answer) => answer.status === 'rejected')
    throw new ConnectFailed('dns', 'the host name does not resolve', { cause: failure?.reason })
  }
}

/** Asks the operating system, hosts file included: for receivers on one's own machine. */
export const resolveBySystem: ResolveHost = async (hostname) => {
  try {
    return (await lookup(hostname, { all: true, verbatim: true })).map((entry) => entry.address)
  } catch (error) {
    throw new ConnectFailed('dns', 'the host name does not resolve', { cause: error })
  }
}

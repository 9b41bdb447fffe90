import { createHttpClient, type HttpClient } from './http-client.ts'
import { createDnsResolver, type ResolveHost, resolveBySystem } from './resolve-host.ts'

export type Clients = {
  /** For receivers on the public internet. */
  readonly publicOnly: HttpClient
  /** Takes http, addresses and private networks; null where the installation does not allow them. */
  readonly anywhere: HttpClient | null
}

/** The client for endpoints on the internet, and the loose one where test endpoints may be private. */
export function openClients(options: {
  readonly allowPrivateTest: boolean
  readonly resolve?: ResolveHost
  readonly ca?: string | Buffer
}): Clients {
  const ca = options.ca === undefined ? {} : { ca: options.ca }
  const publicOnly = createHttpClient({
    publicOnly: true,
    resolve: options.resolve ?? createDnsResolver(),
    ...ca,
  })
  if (!options.allowPrivateTest) return { publicOnly, anywhere: null }
  const anywhere = createHttpClient({ publicOnly: false, resolve: options.resolve ?? resolveBySystem, ...ca })
  return { publicOnly, anywhere }
}

/** Which client may reach an endpoint: test endpoints alone may be private. */
export function clientFor(clients: Clients, livemode: boolean): HttpClient {
  return livemode ? clients.publicOnly : (clients.anywhere ?? clients.publicOnly)
}

export async function closeClients(clients: Clients): Promise<void> {
  await Promise.all([clients.publicOnly.close(), clients.anywhere?.close()])
}

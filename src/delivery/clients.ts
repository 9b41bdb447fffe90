import { STAGING_HEADER } from '../core/staging.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { createDnsResolver, type ResolveHost, resolveBySystem } from './resolve-host.ts'

/** By the endpoint's mode. */
export type Clients = { readonly live: HttpClient; readonly test: HttpClient; close(): Promise<void> }

type ClientOptions = {
  /** Test endpoints may be http, addresses and private (`WEBHOOK_ALLOW_PRIVATE=1`). Live ones never, but in staging. */
  readonly allowPrivateTest: boolean
  /** Live mode is on private chains: its endpoints may be private too, and a header says so. */
  readonly staging?: boolean
  readonly resolve?: ResolveHost
  readonly ca?: string | Buffer
}

/** The client for endpoints on the internet, and the loose one where endpoints may be private. */
export function openClients(options: ClientOptions): Clients {
  const { allowPrivateTest, staging = false } = options
  const ca = options.ca === undefined ? {} : { ca: options.ca }
  const publicOnly = createHttpClient({
    publicOnly: true,
    resolve: options.resolve ?? createDnsResolver(),
    ...ca,
  })
  const anywhere = allowPrivateTest
    ? createHttpClient({ publicOnly: false, resolve: options.resolve ?? resolveBySystem, ...ca })
    : publicOnly
  return {
    live: staging ? markingStaging(anywhere) : publicOnly,
    test: anywhere,
    close: async () => void (await Promise.all([publicOnly, anywhere].map((client) => client.close()))),
  }
}

/** Says with every request that a live event is of no live money. */
const markingStaging = (client: HttpClient): HttpClient => ({
  ...client,
  post: (request) => client.post({ ...request, headers: { ...request.headers, [STAGING_HEADER]: 'true' } }),
})

/** Which client may reach an endpoint. */
export const clientFor = (clients: Clients, livemode: boolean): HttpClient =>
  livemode ? clients.live : clients.test

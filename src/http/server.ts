import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { STAGING_HEADER, STAGING_NOTICE } from '../core/staging.ts'
import type { Log } from '../runtime/log.ts'
import { writeClientAddress } from './api/client-address.ts'

/** A part of the site: which paths it owns, and how it answers them. */
export type HttpPart = {
  readonly name: string
  owns(path: string): boolean
  fetch(request: Request): Response | Promise<Response>
}

/** How long requests in flight are waited for after a stop began. Longer than any of ours takes. */
const FINISH_MS_MAX = 10_000
const FINISH_POLL_MS = 20
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES_MAX = 16 * 1024
const CONNECTIONS_CHECK_MS = 5_000
const YEAR_SECONDS = 31_536_000
/** A response that asks to come back says when; a part that knows better says so itself. */
const WAITING_STATUSES: ReadonlySet<number> = new Set([429, 503])
const RETRY_AFTER_SECONDS = '5'

export type HttpServer = {
  /** Requests being answered, open streams included. */
  inFlight(): number
  /** Takes no more connections, lets `endStreams` end what would never end, waits for requests, then closes. */
  stop(endStreams: () => void): Promise<void>
}

/**
 * One port for all parts. The limits on headers, request time and connections are Node's own: a client that sends one
 * byte a second holds nothing but its socket.
 */
export async function startHttpServer(options: {
  host: string
  port: number
  parts: readonly HttpPart[]
  log: Log
  /** Whether buyers and merchants come by https: their browsers then come by nothing else for a year (RFC 6797). */
  isHttps?: boolean
  /** Every page and answer says that it is about no live money. */
  staging?: boolean
  onRequest?: (part: string, method: string, status: number, seconds: number) => void
}): Promise<HttpServer> {
  let inFlight = 0
  let stopping = false
  const answer = async (request: Request): Promise<Response> => {
    const startedAt = performance.now()
    const part = options.parts.find((one) => one.owns(new URL(request.url).pathname))
    inFlight += 1
    try {
      const handled =
        (await part?.fetch(options.staging === true ? plainly(request) : request)) ??
        new Response('Not found\n', { status: 404 })
      const response = options.staging === true ? await withStagingBanner(handled) : handled
      if (WAITING_STATUSES.has(response.status) && !response.headers.has('retry-after'))
        response.headers.set('retry-after', RETRY_AFTER_SECONDS)
      // A kept-alive connection would send its next request to a server that is stopping.
      if (stopping) response.headers.set('connection', 'close')
      options.onRequest?.(
        part?.name ?? 'none',
        request.method,
        response.status,
        (performance.now() - startedAt) / 1_000,
      )
      return response
    } finally {
      inFlight -= 1
    }
  }
  const server = createAdaptorServer({
    fetch: answer,
    serverOptions: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    },
  }) as Server
  // Node drops what is beyond its count without a word, an Idempotency-Key too; the bytes bound the number.
  server.maxHeadersCount = 0
  server.prependListener('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
    normaliseUrl(incoming)
    if (options.staging) outgoing.setHeader(STAGING_HEADER, 'true')
    if (options.isHttps) outgoing.setHeader('strict-transport-security', `max-age=${YEAR_SECONDS}`)
  })
  await listen(server, options)
  return {
    inFlight: () => inFlight,
    stop: async (endStreams) => {
      stopping = true
      const closed = new Promise((resolve) => server.close(resolve))
      endStreams()
      await finish(server, () => inFlight)
      server.closeAllConnections()
      await closed
    },
  }
}

/** Asks for a page as plain text, into which a banner can be put. */
function plainly(request: Request): Request {
  if (request.method !== 'GET' || !request.headers.has('accept-encoding')) return request
  const headers = new Headers(request.headers)
  headers.delete('accept-encoding')
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}

/** The pages of all parts, so that none can be without it. */
async function withStagingBanner(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('text/html') !== true) return response
  const page = await response.text()
  const banner = `<p class="banner staging" role="note" lang="en" dir="ltr">${STAGING_NOTICE}</p>`
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  const { status } = response
  return new Response(
    page.replace(/<body[^>]*>/, (body) => body + banner),
    { status, headers },
  )
}

/** Replaces the Host header, which no code of ours may read: links are built on `BASE_URL`. */
const OWN_NAME = 'paylink'

/**
 * Makes every request's URL parseable before the adapter parses it: the Host header is replaced, and a target that is
 * not a path becomes one that leads nowhere.
 */
function normaliseUrl(incoming: IncomingMessage): void {
  incoming.headers.host = OWN_NAME
  const target = incoming.url ?? ''
  const path = /^https?:\/\/[^/]*(\/.*)$/.exec(target)?.[1] ?? target
  incoming.url = path.startsWith('/') ? path.replaceAll('\\', '%5C') : '/no-path'
  writeClientAddress(incoming)
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

/** Resolves when no request is left and no connection is busy, or when time is up. */
async function finish(server: Server, inFlight: () => number): Promise<void> {
  const giveUpAt = performance.now() + FINISH_MS_MAX
  while (performance.now() < giveUpAt) {
    server.closeIdleConnections()
    const connections = await new Promise<number>((resolve, reject) => {
      server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
    })
    if (inFlight() === 0 && connections === 0) return
    await new Promise((resolve) => setTimeout(resolve, FINISH_POLL_MS))
  }
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export type ReceivedEvent = {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** Raw bytes, as they came. */
  readonly body: Buffer
  readonly receivedAtMs: number
}

export type Respond = (event: ReceivedEvent, response: ServerResponse, request: IncomingMessage) => void

export type WebhookReceiver = {
  readonly url: string
  readonly port: number
  readonly events: ReceivedEvent[]
  /** Connections that were accepted. */
  connections(): number
  /** Connections that are open now: with none, all that was ever sent has been read. */
  openConnections(): Promise<number>
  respond: Respond
  /** Resolves when at least this many have come. */
  waitFor(count: number): Promise<void>
  close(): Promise<void>
}

/** Meets every challenge, and answers 200 to everything else. */
export const answerChallenges: Respond = (event, response) => {
  const { challenge } = JSON.parse(event.body.toString()).data
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(challenge === undefined ? '' : JSON.stringify({ challenge }))
}

/** A real HTTP (or, with a certificate, HTTPS) server on the loopback that keeps all it is sent and answers 200. */
export async function startReceiver(
  options: { tls?: { key: string; cert: string }; respond?: Respond; host?: string; port?: number } = {},
): Promise<WebhookReceiver> {
  const waiters = new Set<() => void>()
  let connections = 0
  const receiver = {
    events: [] as ReceivedEvent[],
    respond: options.respond ?? ((_event, response) => void response.writeHead(200).end()),
  }
  const listener: RequestListener = (request, response) => {
    // Webhooks are POSTs: anything else is a stranger's who looks for what had this port before.
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const event: ReceivedEvent = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks),
        receivedAtMs: Date.now(),
      }
      receiver.events.push(event)
      receiver.respond(event, response, request)
      for (const waiter of waiters) waiter()
    })
  }
  const server: Server =
    options.tls === undefined ? createServer(listener) : createTlsServer(options.tls, listener)
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(receiver, {
    url: `http${options.tls === undefined ? '' : 's'}://localhost:${port}/hooks`,
    port,
    connections: () => connections,
    openConnections: () =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      ),
    waitFor: (count: number) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (receiver.events.length < count) return
          waiters.delete(look)
          resolve()
        }
        waiters.add(look)
        look()
      }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

/** What a receiver does, with node:crypto alone (spec §6.4): which of the secrets signed, or null for a bad signature. */
export function verifiedBy(
  event: ReceivedEvent,
  secrets: readonly string[],
  nowMs = Date.now(),
): string | null {
  const header = String(event.headers['paylink-signature'])
  const parts = header.split(',').map((part) => part.split('='))
  const times = parts.filter(([name]) => name === 't').map(([, value]) => Number(value))
  const [time] = times
  if (times.length !== 1 || time === undefined || Math.abs(nowMs / 1000 - time) > 300) return null
  const signatures = parts
    .filter(([name]) => name === 'v1')
    .map(([, value]) => Buffer.from(value ?? '', 'hex'))
  for (const secret of secrets) {
    const expected = createHmac('sha256', Buffer.from(secret, 'utf8'))
      .update(Buffer.concat([Buffer.from(`${time}.`), event.body]))
      .digest()
    if (signatures.some((given) => given.length === expected.length && timingSafeEqual(given, expected)))
      return secret
  }
  return null
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A merchant's receiver as the documentation tells to write one: nothing of Paylink's, only Node's own modules.
 * It keeps what verified, and answers the challenge of an endpoint's verification.
 */
export type PlainReceiver = {
  readonly url: string
  /** Verified events in order of arrival, the first arrival of each id. */
  readonly events: ReceivedEvent[]
  /** Requests whose signature did not verify. */
  rejected(): number
  useSecret(secret: string): void
  close(): Promise<void>
}

export type ReceivedEvent = {
  readonly id: string
  readonly event_type: string
  readonly resource_id: string
  readonly sequence: number
  readonly data: { readonly id: string; readonly status: string }
}

const TOLERANCE_SECONDS = 300

export async function startPlainReceiver(): Promise<PlainReceiver> {
  const events: ReceivedEvent[] = []
  const seen = new Set<string>()
  let secret = ''
  let rejected = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (!verifySignature(secret, String(request.headers['paylink-signature']), body)) {
      rejected += 1
      response.writeHead(401).end()
      return
    }
    const event = JSON.parse(body.toString('utf8'))
    if (event.event_type === 'webhook.endpoint_verification') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ challenge: event.data.challenge }))
      return
    }
    const isConsistent = request.headers['paylink-event-id'] === event.id
    if (isConsistent && !seen.has(event.id)) {
      seen.add(event.id)
      events.push(event)
    }
    response.writeHead(isConsistent ? 200 : 400).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    events,
    rejected: () => rejected,
    useSecret: (given) => {
      secret = given
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Spec §6.4: one `t`, any number of `v1`, HMAC-SHA-256 over `<t>.<raw body>`, at most 300 seconds off. */
export function verifySignature(secret: string, header: string, body: Buffer): boolean {
  const pairs = header.split(',').map((part) => part.split('='))
  const times = pairs.filter(([name]) => name === 't').map(([, value]) => value ?? '')
  const [time] = times
  if (times.length !== 1 || time === undefined || !/^\d+$/.test(time)) return false
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  return pairs
    .filter(([name]) => name === 'v1')
    .map(([, value]) => Buffer.from(value ?? '', 'hex'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

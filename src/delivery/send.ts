import { createHmac } from 'node:crypto'
import { parseRetryAfter } from '../core/endpoint/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Message } from './event-format.ts'
import type { HttpClient, PostResponse } from './http-client.ts'
import { type OutcomeCode, outcomeOfError } from './outcome-code.ts'

/**
 * The `paylink-signature` header (spec §6.4): `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, one v1 for each secret, in
 * the given order. Each is HMAC-SHA-256 over `<t>.` and the raw body; the key is the whole `whsec_…` string's
 * UTF-8 bytes.
 */
export function signatureHeader(secrets: readonly string[], unixSeconds: number, body: Uint8Array): string {
  if (secrets.length === 0) throw new Error('nothing to sign with')
  if (!Number.isSafeInteger(unixSeconds)) throw new Error('a signature needs whole seconds')
  const prefix = `${unixSeconds}.`
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(prefix).update(body).digest('hex')}`,
  )
  return [`t=${unixSeconds}`, ...signatures].join(',')
}

/**
 * The `webhook-signature` header of Standard Webhooks: `v1,<base64>`, one for each secret, separated by spaces. Each is
 * HMAC-SHA-256 over `<id>.<unix seconds>.` and the raw body; the key is what base64 decodes after the secret's prefix.
 */
function standardSignature(secrets: readonly string[], prefix: string, body: Uint8Array): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64')
      return `v1,${createHmac('sha256', key).update(prefix).update(body).digest('base64')}`
    })
    .join(' ')
}

/** The receiver has this long for a 2xx, name look-up and connecting included (spec §6.2.4). */
export const RECEIVER_DEADLINE_MS = 10_000
const COMMON_HEADERS = { 'content-type': 'application/json', 'user-agent': 'Paylink-Webhooks/1' }

export type SignedEvent = {
  /** The endpoint, whose own connections are used. */
  readonly queue: string
  readonly url: string
  readonly eventId: string
  readonly schemaVersion: number
  readonly body: Uint8Array
  /** Every secret that is valid now, the current one first. */
  readonly secrets: readonly string[]
  /** In place of our own body and signature, where the endpoint takes another format. */
  readonly message?: Message
}

export type SendOutcome = {
  readonly code: OutcomeCode
  readonly httpStatus: number | null
  readonly retryAfterMs: number | null
  readonly durationMs: number
  /** What the code stands for, for the log; null after a response. */
  readonly error: unknown
}

/** Signs an event now and POSTs it once. Never throws for what a receiver, its network or its name does. */
export async function sendEvent(
  deps: { http: HttpClient; clock: Clock },
  event: SignedEvent,
): Promise<SendOutcome> {
  const startedAt = performance.now()
  const elapsed = (): number => Math.round(performance.now() - startedAt)
  try {
    const response = await postSigned(deps, event, 0)
    const retryAfter = parseRetryAfter(headerOf(response, 'retry-after'), deps.clock().getTime())
    return { ...codeOfStatus(response.status), retryAfterMs: retryAfter, durationMs: elapsed(), error: null }
  } catch (error) {
    return { code: outcomeOfError(error), httpStatus: null, retryAfterMs: null, durationMs: elapsed(), error }
  }
}

/** The POST itself, within the receiver's deadline. Throws as `HttpClient.post` does. */
export function postSigned(
  deps: { http: HttpClient; clock: Clock },
  event: SignedEvent,
  readBytesMax: number,
): Promise<PostResponse> {
  const unixSeconds = Math.floor(deps.clock().getTime() / 1_000)
  const { headers, body } = event.message ?? { headers: signedHeaders(event, unixSeconds), body: event.body }
  return deps.http.post({
    queue: event.queue,
    url: new URL(event.url),
    headers: { ...COMMON_HEADERS, ...headers },
    body,
    deadlineMs: RECEIVER_DEADLINE_MS,
    readBytesMax,
  })
}

/** The headers of one attempt (spec §6.2.2), and those of Standard Webhooks, signed at `unixSeconds`. */
export function signedHeaders(
  event: Pick<SignedEvent, 'eventId' | 'schemaVersion' | 'body' | 'secrets'>,
  unixSeconds: number,
): Record<string, string> {
  const { secrets, eventId, body } = event
  return {
    ...COMMON_HEADERS,
    'paylink-signature': signatureHeader(secrets, unixSeconds, body),
    'paylink-event-id': eventId,
    'paylink-version': String(event.schemaVersion),
    'webhook-id': eventId,
    'webhook-timestamp': String(unixSeconds),
    'webhook-signature': standardSignature(secrets, `${eventId}.${unixSeconds}.`, body),
  }
}

function codeOfStatus(httpStatus: number): { code: OutcomeCode; httpStatus: number } {
  if (httpStatus >= 200 && httpStatus < 300) return { code: 'ok', httpStatus }
  return { code: httpStatus >= 300 && httpStatus < 400 ? 'redirect' : 'http_status', httpStatus }
}

/** One header of a response; the first where it is repeated. */
export function headerOf(response: PostResponse, name: string): string | undefined {
  const value = response.headers[name]
  return Array.isArray(value) ? value[0] : value
}

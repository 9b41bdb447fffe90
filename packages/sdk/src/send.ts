import type { Operations } from './api.ts'
import { ApiError, ConnectionError, errorOf, type PaylinkError, UnexpectedAnswer } from './errors.ts'
import { OPERATIONS } from './tables.ts'

export type OperationName = keyof Operations

export type ClientOptions = {
  /** `sk_test_…` or `sk_live_…`. It belongs on your server, never into a browser. */
  readonly apiKey: string
  /** Where your Paylink is, such as `https://pay.shop.example`. */
  readonly baseUrl: string
  /** How often a request that may safely be repeated is sent again; 3 by default, 0 for never. */
  readonly maxRetries?: number
  /** How long one try may take, in milliseconds; 30 seconds by default. */
  readonly timeoutMs?: number
  /** The wait before the first repetition, in milliseconds, doubled each time and jittered; half a second by default. */
  readonly retryDelayMs?: number
  /** In place of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

export type RequestOptions = {
  /** Ends the request, its repetitions included. */
  readonly signal?: AbortSignal
}

export type CreateOptions = RequestOptions & {
  /**
   * Makes a later repetition of yours safe too, for 72 hours: derive it from your order. Without it every call has a
   * key of its own, by which the library's repetitions are safe.
   */
  readonly idempotencyKey?: string
}

export type RequestInput = { readonly id?: string; readonly query?: object; readonly body?: object }

type Send = <Name extends OperationName>(
  name: Name,
  input: RequestInput,
  options?: CreateOptions,
) => Promise<unknown>

const MAX_RETRIES_DEFAULT = 3
const MAX_RETRIES_MAX = 10
const TIMEOUT_MS_DEFAULT = 30_000
/** A timer of more fires at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1
const RETRY_DELAY_MS_DEFAULT = 500
const RETRY_DELAY_MS_MAX = 8_000
/** A server that asks for more is not waited for. */
const RETRY_AFTER_MS_MAX = 60_000
const API_PREFIX = '/api/v1'
const VERSION = '0.1.0'

/** Sends requests of one client. The key is in this closure alone, where no log of an object finds it. */
export function createSend(options: ClientOptions): Send {
  const { apiKey, baseUrl, maxRetries, timeoutMs, retryDelayMs } = checkOptions(options)
  const ask = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init))
  return async (name, input, { signal, idempotencyKey } = {}) => {
    const [method, path, keyed] = OPERATIONS[name]
    const headers: Record<string, string> = {
      authorization: `Bearer ${apiKey}`,
      accept: 'application/json',
      'user-agent': `paylink-sdk/${VERSION}`,
    }
    if (input.body !== undefined) headers['content-type'] = 'application/json'
    if (keyed) headers['idempotency-key'] = keyOf(idempotencyKey)
    const url = baseUrl + API_PREFIX + pathOf(path, input.id) + queryOf(input.query)
    const body = input.body === undefined ? null : JSON.stringify(input.body)
    const isRepeatable = method !== 'POST' || keyed
    for (let attempts = 0; ; attempts += 1) {
      signal?.throwIfAborted()
      const outcome = await once(ask, url, { method, headers, body, redirect: 'manual' }, timeoutMs, signal)
      if (!(outcome instanceof Failure)) return outcome
      // Gone already: the try before this one has done it, and its answer was lost.
      if (attempts > 0 && method === 'DELETE' && outcome.status === 404) return undefined
      const mayRepeat = outcome.isRefusedEarly || (outcome.mayPass && isRepeatable)
      const waitMs = outcome.retryAfterMs ?? jittered(retryDelayMs, attempts)
      if (!mayRepeat || attempts >= maxRetries || waitMs > RETRY_AFTER_MS_MAX) throw outcome.error
      await pause(waitMs, signal)
    }
  }
}

function checkOptions(options: ClientOptions) {
  const { maxRetries = MAX_RETRIES_DEFAULT, timeoutMs = TIMEOUT_MS_DEFAULT } = options
  const { retryDelayMs = RETRY_DELAY_MS_DEFAULT } = options
  // A variable that was never set, or a secret of another kind, is reported here and not by a 401 in production.
  if (!/^sk_(?:test|live)_[!-~]+$/.test(options.apiKey))
    throw new TypeError('apiKey must be an API key: sk_test_… or sk_live_…')
  if (!/^https?:\/\/[^?#@]+$/.test(options.baseUrl) || !URL.canParse(options.baseUrl))
    throw new TypeError('baseUrl must be the address of your Paylink, such as https://pay.shop.example')
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > MAX_RETRIES_MAX)
    throw new TypeError(`maxRetries must be a whole number from 0 to ${MAX_RETRIES_MAX}`)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > TIMEOUT_MS_MAX)
    throw new TypeError(`timeoutMs must be whole milliseconds, from 1 to ${TIMEOUT_MS_MAX}`)
  if (!(retryDelayMs >= 0)) throw new TypeError('retryDelayMs must be milliseconds')
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  return { apiKey: options.apiKey, baseUrl, maxRetries, timeoutMs, retryDelayMs }
}

/** As the server takes one. What cannot stand in a header would look like a fault of the network. */
function keyOf(given: string | undefined): string {
  if (given === undefined) return crypto.randomUUID()
  if (!/^[!-~](?:[ -~]{0,253}[!-~])?$/.test(given))
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters, without blanks around')
  return given
}

/** Anything else in a path would lead to another route. */
function pathOf(path: string, id: string | undefined): string {
  if (!path.includes(':id')) return path
  if (typeof id !== 'string' || !/^[a-z]+_[0-9a-z]+$/.test(id))
    throw new TypeError('the id must be one of Paylink, such as inv_…')
  return path.replace(':id', id)
}

function queryOf(query: object = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? '' : `?${parameters}`
}

/** One try that gave nothing, and what may be done about it. */
class Failure {
  readonly error: PaylinkError
  readonly status: number | null
  readonly retryAfterMs: number | null
  /** The server did nothing yet, so that even what has no key may be sent again. */
  readonly isRefusedEarly: boolean
  /** A fault that another try may not meet. */
  readonly mayPass: boolean

  constructor(error: PaylinkError, status: number | null, retryAfter: string | null) {
    this.error = error
    this.status = status
    this.retryAfterMs = retryAfterMsOf(retryAfter)
    this.isRefusedEarly = status === 429
    const isInUse = error instanceof ApiError && error.code === 'idempotency_key_in_use'
    this.mayPass = status === null || status >= 500 || isInUse
  }
}

async function once(
  ask: NonNullable<ClientOptions['fetch']>,
  url: string,
  init: RequestInit,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const deadline = AbortSignal.timeout(timeoutMs)
  let response: Response
  let text: string
  try {
    response = await ask(url, {
      ...init,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    })
    text = await response.text()
  } catch (cause) {
    signal?.throwIfAborted()
    const what = deadline.aborted ? `no answer within ${timeoutMs} ms` : 'no whole answer came'
    return new Failure(new ConnectionError(`${init.method} ${url}: ${what}`, { cause }), null, null)
  }
  const { status, ok } = response
  // No content, as after a removal. An empty 200 is nobody's answer.
  if (status === 204) return undefined
  const retryAfter = response.headers.get('retry-after')
  const body = parse(text)
  if (ok && typeof body === 'object' && body !== null) return body
  const error = ok ? new UnexpectedAnswer(status, `${status}, and no JSON object`) : errorOf(status, body)
  return new Failure(error, status, retryAfter)
}

/** Undefined for what is no JSON: whose answer that is, `errorOf` says. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfterMsOf(header: string | null): number | null {
  if (header === null) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Between half and the whole of the doubled delay, so that many clients do not come back at once. */
function jittered(retryDelayMs: number, attempts: number): number {
  return Math.min(RETRY_DELAY_MS_MAX, retryDelayMs * 2 ** attempts) * (0.5 + Math.random() / 2)
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

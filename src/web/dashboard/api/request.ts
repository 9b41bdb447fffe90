/** The one way by which the dashboard talks to the server: JSON, the cookie of this origin, one kind of error. */

export type Mode = 'test' | 'live'
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Query = { readonly [name: string]: string | undefined }

type Request = {
  readonly query?: Query
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly headers?: { readonly [name: string]: string }
}

export const OFFLINE_MESSAGE = 'Paylink cannot be reached. Check your connection, then try again.'

/** What the server refused, or that it could not be reached: `message` says how to fix it. */
export class Problem extends Error {
  readonly code: string
  /** 0 where no answer came. */
  readonly status: number
  readonly param: string | null
  readonly requestId: string | null

  constructor(
    problem: {
      code: string
      message: string
      status: number
      param?: string | null
      requestId?: string | null
    },
    options?: ErrorOptions,
  ) {
    super(problem.message, options)
    this.name = 'Problem'
    this.code = problem.code
    this.status = problem.status
    this.param = problem.param ?? null
    this.requestId = problem.requestId ?? null
  }
}

/** Asks the person for what a request needs; false where they turned away. */
type Prove = () => Promise<boolean>
let proveSecondFactor: Prove | null = null
let signInAgain: Prove | null = null

/** Sets who asks for a second factor when a request needs a fresh one. */
export function onSecondFactorNeeded(prove: Prove | null): void {
  proveSecondFactor = prove
}

/** Sets who asks the person to sign in again when the session has ended below an open page. */
export function onSignInNeeded(prove: Prove | null): void {
  signInAgain = prove
}

/** Whether somebody whose session ended has signed in again; false where no page is open that would ask. */
export const signedInAgain = async (): Promise<boolean> => signInAgain !== null && (await signInAgain())

const SECOND_FACTOR_CODES = new Set(['second_factor_required', 'SECOND_FACTOR_REQUIRED'])
/** Of a 401 for want of a session; the sign-in library's has no code at all. */
const SESSION_CODES = new Set(['api_key_missing', 'UNAUTHORIZED', 'unknown'])
/** A new sign-in, then a second factor. */
const PROOFS_MAX = 2

/** What lets a refused request through, if anything does. */
function proofFor(error: unknown): Prove | null {
  if (!(error instanceof Problem)) return null
  if (SECOND_FACTOR_CODES.has(error.code)) return proveSecondFactor
  return error.status === 401 && SESSION_CODES.has(error.code) ? signInAgain : null
}

/**
 * A request to the API in a mode. What creates something carries a key, so that a repeat after a lost answer or a
 * second factor makes it once. Throws a `Problem`.
 */
export function requestApi<Result>(
  mode: Mode,
  method: Method,
  path: string,
  request: Request = {},
): Promise<Result> {
  const key: { [name: string]: string } = method === 'POST' ? { 'idempotency-key': randomKey() } : {}
  return requestUntilProved(method, `/api/v1${path}`, {
    ...request,
    headers: { 'paylink-mode': mode, ...key, ...request.headers },
  })
}

const isOfAnotherCell = (error: unknown): boolean => error instanceof Problem && error.code === 'CELL_WRONG'

/** Repeats once what belongs to another cell: the refusal's cookie leads the browser there. Throws a `Problem`. */
export async function inItsCell<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (error) {
    if (!isOfAnotherCell(error)) throw error
  }
  try {
    return await ask()
  } catch (error) {
    if (!isOfAnotherCell(error)) throw error
    throw new Problem(
      {
        code: 'cell_unreachable',
        status: 421,
        message:
          'The server that this belongs to cannot be reached. Try again in a minute. If that does not help, ask whoever runs this service.',
      },
      { cause: error },
    )
  }
}

/** A request to the sign-in. Throws a `Problem`. */
export function requestPeople<Result>(
  method: 'GET' | 'POST',
  path: string,
  request: Request = {},
): Promise<Result> {
  const body = method === 'POST' ? { body: {} } : {}
  return requestUntilProved(method, `/api/auth${path}`, { ...body, ...request })
}

/** Repeats a request that was refused for want of a sign-in or a second factor, once the person has proved it. */
async function requestUntilProved<Result>(method: Method, path: string, request: Request): Promise<Result> {
  for (let proofs = 0; ; proofs++) {
    try {
      return await send<Result>(method, path, request)
    } catch (error) {
      const prove = proofs < PROOFS_MAX ? proofFor(error) : null
      if (prove === null || !(await prove())) throw error
    }
  }
}

async function send<Result>(method: Method, path: string, request: Request): Promise<Result> {
  const { query = {}, body, signal, headers = {} } = request
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, value)
  const url = search.size === 0 ? path : `${path}?${search}`
  const response = await reach(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  const answer = parse(text)
  if (response.ok) return answer as Result
  throw problemOf(response, answer)
}

/** Whether the server answered the last request, and who wants to know. */
let isReached = true
const reachListeners = new Set<() => void>()
export const reachOf = {
  subscribe: (listener: () => void): (() => void) => {
    reachListeners.add(listener)
    return () => reachListeners.delete(listener)
  },
  read: (): boolean => isReached,
}

function setReached(reached: boolean): void {
  if (reached === isReached) return
  isReached = reached
  for (const listener of reachListeners) listener()
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init)
    setReached(true)
    return response
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause
    setReached(false)
    throw new Problem(
      {
        code: 'offline',
        status: 0,
        message: OFFLINE_MESSAGE,
      },
      { cause },
    )
  }
}

/** JSON, or null where the server sent none, as with a 204. */
function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    // A proxy's HTML page: the status says enough.
    return null
  }
}

type ResponseBody = {
  readonly error?: {
    code: string
    message: string
    param?: string | null
    reason?: string
    request_id?: string
  }
  readonly code?: string
  readonly message?: string
}

/** Why an endpoint could not be verified, and what its developer does about it. */
const REASONS: { readonly [reason: string]: string } = {
  http_status: 'It answered with a status that is not 2xx.',
  redirect: 'It redirected: enter the final URL.',
  timeout: 'It did not answer within 10 seconds.',
  dns: 'Its host name was not found: check the URL and the DNS record.',
  address_refused: 'Its host name leads to a private address, where no events are sent.',
  connect: 'No connection: nothing listens at that address and port.',
  tls: 'The secure connection failed.',
  tls_expired: 'Its certificate has expired.',
  tls_wrong_host: 'Its certificate is for another host name.',
  tls_untrusted: 'Its certificate is from no trusted authority.',
  reset: 'It closed the connection before it answered.',
  answer_too_large: 'Its answer was larger than 1 KiB.',
  answer_encoded: 'Its answer was compressed: send it as it is.',
  answer_not_json: 'Its answer was not JSON.',
  answer_wrong_fields: 'Its answer must have the field "challenge" and no other.',
  challenge_mismatch: 'It answered with another challenge than the one that was sent.',
  signature_not_checked: 'It also accepted an event with a wrong signature: check the signature first.',
}

/** The sign-in library's errors that do not say what to do. */
const PLAIN: { readonly [code: string]: string } = {
  INVALID_CODE:
    "That code isn't right. Enter the 6-digit code that your authenticator app shows now, and check that your phone's clock is correct.",
  INVALID_BACKUP_CODE: "That backup code isn't right. Each code works once: try another one.",
}

/** Which field the sign-in library's errors are about. */
const FIELDS: { readonly [code: string]: string } = {
  PASSWORD_TOO_WEAK: 'password',
  PASSWORD_TOO_SHORT: 'password',
  PASSWORD_TOO_LONG: 'password',
  INVALID_PASSWORD: 'currentPassword',
  INVALID_EMAIL: 'email',
  INVALID_CODE: 'code',
  INVALID_BACKUP_CODE: 'code',
}

function problemOf(response: Response, answer: unknown): Problem {
  const { status } = response
  const body = (answer ?? {}) as ResponseBody
  if (body.error !== undefined) {
    const { code, message, param = null, reason, request_id: requestId = null } = body.error
    const why = reason === undefined ? undefined : (REASONS[reason] ?? `${reason.replaceAll('_', ' ')}.`)
    const whole = why === undefined ? message : `${message} ${why}`
    return new Problem({ code, message: whole, status, param, requestId })
  }
  const fallback =
    status === 429
      ? 'Too many requests. Wait a minute, then try again.'
      : `Something went wrong (${status}). Try again in a moment.`
  const { code = 'unknown', message = fallback } = body
  return new Problem({ code, message: PLAIN[code] ?? message, status, param: FIELDS[code] ?? null })
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

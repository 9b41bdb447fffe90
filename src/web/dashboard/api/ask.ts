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

/** Asks the person for a second factor; false where they turned away. */
type ProveSecondFactor = () => Promise<boolean>
let proveSecondFactor: ProveSecondFactor | null = null

/** Sets who asks for a second factor when a request needs a fresh one. */
export function onSecondFactorNeeded(prove: ProveSecondFactor | null): void {
  proveSecondFactor = prove
}

const SECOND_FACTOR_CODES = new Set(['second_factor_required', 'SECOND_FACTOR_REQUIRED'])

/**
 * A request to the API in a mode. What creates something carries a key, so that a repeat after a lost answer or a
 * second factor makes it once. Throws a `Problem`.
 */
export function askApi<Result>(
  mode: Mode,
  method: Method,
  path: string,
  request: Request = {},
): Promise<Result> {
  const key: { [name: string]: string } = method === 'POST' ? { 'idempotency-key': randomKey() } : {}
  return askAgainWithSecondFactor(method, `/api/v1${path}`, {
    ...request,
    headers: { 'paylink-mode': mode, ...key, ...request.headers },
  })
}

/** A request to the sign-in. Throws a `Problem`. */
export function askPeople<Result>(
  method: 'GET' | 'POST',
  path: string,
  request: Request = {},
): Promise<Result> {
  const body = method === 'POST' ? { body: {} } : {}
  return askAgainWithSecondFactor(method, `/api/auth${path}`, { ...body, ...request })
}

async function askAgainWithSecondFactor<Result>(
  method: Method,
  path: string,
  request: Request,
): Promise<Result> {
  try {
    return await ask<Result>(method, path, request)
  } catch (error) {
    const needed = error instanceof Problem && SECOND_FACTOR_CODES.has(error.code)
    if (!needed || proveSecondFactor === null || !(await proveSecondFactor())) throw error
    return ask<Result>(method, path, request)
  }
}

async function ask<Result>(method: Method, path: string, request: Request): Promise<Result> {
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

async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause
    throw new Problem(
      {
        code: 'offline',
        status: 0,
        message: 'Paylink cannot be reached. Check your connection, then try again.',
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
    // A proxy's page of words: the status tells enough.
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

/** The sign-in library's errors that do not say what to do. */
const PLAIN: { readonly [code: string]: string } = {
  INVALID_CODE:
    "That code isn't right. Enter the 6-digit code that your authenticator app shows now, and check that your phone's clock is correct.",
  INVALID_BACKUP_CODE: "That backup code isn't right. Each code works once: try another one.",
}

function problemOf(response: Response, answer: unknown): Problem {
  const { status } = response
  const body = (answer ?? {}) as ResponseBody
  if (body.error !== undefined) {
    const { code, message, param = null, reason, request_id: requestId = null } = body.error
    const whole = reason === undefined ? message : `${message} (${reason.replaceAll('_', ' ')})`
    return new Problem({ code, message: whole, status, param, requestId })
  }
  const fallback =
    status === 429
      ? 'Too many requests. Wait a minute, then try again.'
      : `Something went wrong (${status}). Try again in a moment.`
  const { code = 'unknown', message = fallback } = body
  return new Problem({ code, message: PLAIN[code] ?? message, status })
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}

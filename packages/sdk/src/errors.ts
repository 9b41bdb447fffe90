import type { ErrorCode, ErrorType } from './api.ts'

/** Whatever a call fails with, but for a `TypeError`, which is a call that is wrong. */
export class PaylinkError extends Error {
  override name = 'PaylinkError'
}

/** What the server said of a request that it refused or could not serve. */
export type ApiErrorFields = {
  readonly status: number
  readonly type: ErrorType
  /** From the catalogue: compare with this. A server younger than this library may send codes it does not know. */
  readonly code: ErrorCode
  /** For people; may change. */
  readonly message: string
  /** The parameter at fault, such as `usd_amount`. */
  readonly param: string | null
  /** What exactly went wrong, with codes that say so. */
  readonly reason: string | null
  readonly docUrl: string
  /** Finds the request in the server's log. */
  readonly requestId: string
}

/** The server answered with an error of its catalogue. */
export class ApiError extends PaylinkError implements ApiErrorFields {
  override name = 'ApiError'
  readonly status: number
  readonly type: ErrorType
  readonly code: ErrorCode
  readonly param: string | null
  readonly reason: string | null
  readonly docUrl: string
  readonly requestId: string

  constructor(fields: ApiErrorFields) {
    super(`${fields.message} (${fields.code}, ${fields.requestId})`)
    this.status = fields.status
    this.type = fields.type
    this.code = fields.code
    this.param = fields.param
    this.reason = fields.reason
    this.docUrl = fields.docUrl
    this.requestId = fields.requestId
  }
}

/** No whole answer came: the network failed, or the time was up. What was asked for may have happened. */
export class ConnectionError extends PaylinkError {
  override name = 'ConnectionError'
}

/** An answer that is not Paylink's: a proxy's page, a redirect. What was asked for may have happened. */
export class UnexpectedAnswer extends PaylinkError {
  override name = 'UnexpectedAnswer'
  readonly status: number

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.status = status
  }
}

/** Reads the body of an answer that is not 2xx. */
export function errorOf(status: number, body: unknown): ApiError | UnexpectedAnswer {
  const error = fieldsOf(fieldsOf(body)?.error)
  const { type, code, message } = error ?? {}
  if (typeof type !== 'string' || typeof code !== 'string' || typeof message !== 'string')
    return new UnexpectedAnswer(status, `${status}, and not in the form of an error of Paylink`)
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return new ApiError({
    status,
    type: type as ErrorType,
    code: code as ErrorCode,
    message,
    param: text(error?.param),
    reason: text(error?.reason),
    docUrl: text(error?.doc_url) ?? '',
    requestId: text(error?.request_id) ?? '',
  })
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } | null {
  return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown }) : null
}

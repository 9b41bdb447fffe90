import { CELL_HEADER, cellTag } from '../../core/cells.ts'
import { merchantAway } from '../../core/merchant-away.ts'
import type { ErrorType } from '../../wire/error-types.ts'
import { ERRORS, type ErrorCode } from '../../wire/errors.ts'

/** A parameter's path can contain a key that the caller chose; we repeat at most this much of it. */
const PARAM_LENGTH_MAX = 200

/** A caller's mistake, or a condition the caller must know about: becomes the error answer of its code. */
export class ApiProblem extends Error {
  override name = 'ApiProblem'
  readonly code: ErrorCode
  readonly param: string | null
  /** From a bounded list, beside the code. */
  readonly reason: string | undefined
  readonly headers: { readonly [name: string]: string }

  constructor(
    code: ErrorCode,
    details: {
      param?: string | undefined
      /** In place of the catalogue's sentence. */
      message?: string | undefined
      reason?: string
      headers?: { readonly [name: string]: string }
      cause?: unknown
    } = {},
  ) {
    super(details.message ?? ERRORS[code].message, { cause: details.cause })
    this.code = code
    this.param = details.param === undefined ? null : details.param.slice(0, PARAM_LENGTH_MAX)
    this.reason = details.reason
    this.headers = details.headers ?? {}
  }
}

/** The problem that a merchant is moving to another cell, or has; any other error as it is. */
export function orAway(error: unknown, baseUrl: string): unknown {
  const away = merchantAway(error)
  if (away === null) return error
  if (away.kind === 'moving')
    return new ApiProblem('service_unavailable', {
      message: 'This merchant is being moved to another cell. Try again soon.',
      cause: error,
    })
  const tag = cellTag(away.cell)
  return new ApiProblem('cell_wrong', {
    message: `This belongs to cell ${tag}, whose dashboard is ${baseUrl}/cells/${tag}/dashboard. If the merchant has just moved there, send the request again in a minute, to the same address.`,
    headers: { [CELL_HEADER]: tag },
    cause: error,
  })
}

/** The body of every answer that is not 2xx. */
type ErrorBody = {
  readonly error: {
    readonly type: ErrorType
    readonly code: ErrorCode
    readonly message: string
    /** The parameter at fault, such as `usd_amount` or `metadata.order[0]`; null where none is. */
    readonly param: string | null
    /** What exactly went wrong, from a short list; only with codes that say so. */
    readonly reason?: string
    readonly doc_url: string
    readonly request_id: string
  }
}

/** The answer's body for a problem. `doc_url` is built on the configured base address, never on a Host header. */
export function errorBody(problem: ApiProblem, requestId: string, baseUrl: string): ErrorBody {
  return {
    error: {
      type: ERRORS[problem.code].type,
      code: problem.code,
      message: problem.message,
      param: problem.param,
      ...(problem.reason === undefined ? {} : { reason: problem.reason }),
      doc_url: `${baseUrl}/docs/errors#${problem.code}`,
      request_id: requestId,
    },
  }
}

/** The kinds of error a caller can handle without knowing every code. */
export const ERROR_TYPES = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'idempotency_error',
  'rate_limit_error',
  'api_error',
] as const
export type ErrorType = (typeof ERROR_TYPES)[number]

export type ErrorEntry = {
  readonly status: number
  readonly type: ErrorType
  /** What went wrong and how to fix it, for the person who reads the answer. */
  readonly message: string
}

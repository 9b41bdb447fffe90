import { ApiProblem } from './problem.ts'

const RETRY_AFTER_SECONDS = '1'

/**
 * PostgreSQL's and the network's codes for "not now": the connection is refused or lost, the server stops, has no
 * connection left, or ended the statement to resolve a deadlock or a timeout. Repeating the request is right.
 */
const TRANSIENT_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  '08000',
  '08003',
  '08006',
  '40001',
  '40P01',
  '53300',
  '55P03',
  '57014',
  '57P01',
  '57P02',
  '57P03',
])
/** Messages of `pg` for conditions that it gives no code. */
const TRANSIENT_MESSAGES = ['timeout exceeded when trying to connect', 'Connection terminated']

/** The 503 for an error that passes; null for a fault of ours. */
export function asServiceUnavailable(error: Error): ApiProblem | null {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const isTransient =
    TRANSIENT_CODES.has(code) || TRANSIENT_MESSAGES.some((message) => error.message.startsWith(message))
  if (!isTransient) return null
  return new ApiProblem('service_unavailable', {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    cause: error,
  })
}

/**
 * PostgreSQL's and the network's codes for temporary failures: the connection is refused or lost, its host has no
 * address or no way leads there (as while a container is replaced, or a machine is cut off), the server is
 * stopping, has no connection left, is not (or no longer) the primary, or ended the statement because of a deadlock
 * or timeout. Repeating the request is right.
 */
const TRANSIENT_CODES = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  '08000',
  '08003',
  '08006',
  '25006',
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
const TRANSIENT_MESSAGES = [
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
]

/** Whether an error means that the database is temporarily unavailable, as opposed to a wrong statement. */
export function isDatabaseAway(error: Error): boolean {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return TRANSIENT_CODES.has(code) || TRANSIENT_MESSAGES.some((message) => error.message.startsWith(message))
}

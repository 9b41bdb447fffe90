import { ATTEMPT_CODE_NAMES } from '../wire/event.ts'

/**
 * How an attempt ended: a bounded list, so that nothing a receiver says is ever stored (spec §6.2.9).
 *
 * - `ok`: a 2xx answer in time.
 * - `http_status`: another answer; `redirect`: one that sends us elsewhere, which is never followed.
 * - `timeout`: no answer within 10 seconds, looking up the name and connecting included.
 * - `dns`: the name does not resolve. `address_refused`: it resolves, also or only, to an address that is not on
 *   the public internet, or the URL names an address.
 * - `connect`: no TCP connection. `tls_expired`, `tls_wrong_host`, `tls_untrusted`, `tls`: no trusted TLS session.
 * - `reset`: the connection broke before an answer. `malformed_response`: what came back is not HTTP.
 * - `unknown_outcome`: the worker that took the delivery ended before it could record an answer. The event may have
 *   been sent or not: the same is written where a worker ended, or lost its database, before it sent anything.
 * - `superseded`: not sent, because a later event of its invoice says it all to a receiver without numbers.
 * - `internal`: the fault is ours; the log says more.
 */
export const OUTCOME_CODES = ATTEMPT_CODE_NAMES
export type OutcomeCode = (typeof ATTEMPT_CODE_NAMES)[number]

/** A connection that failed, with the code that says why. */
export class ConnectFailed extends Error {
  override name = 'ConnectFailed'
  readonly outcome: OutcomeCode

  constructor(outcome: OutcomeCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.outcome = outcome
  }
}

const TLS_CODES: ReadonlyMap<string, OutcomeCode> = new Map([
  ['CERT_HAS_EXPIRED', 'tls_expired'],
  ['CERT_NOT_YET_VALID', 'tls_expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_wrong_host'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_untrusted'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_untrusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'tls_untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls_untrusted'],
  ['CERT_UNTRUSTED', 'tls_untrusted'],
  ['INVALID_CA', 'tls_untrusted'],
])

const RESET_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'])

/** What the network may say of a connection that was made and then led nowhere. */
const BROKEN_CODES: ReadonlySet<string> = new Set([
  ...RESET_CODES,
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENETRESET',
])

const MALFORMED_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  // How undici refuses an upgrade that nobody asked for.
  'ERR_ASSERTION',
])

/** The code of a TLS handshake's failure. */
export function tlsOutcome(error: unknown): OutcomeCode {
  return TLS_CODES.get(codeOf(error)) ?? 'tls'
}

/** Whether the connection broke, as opposed to never having been made or having said something odd. */
export function isReset(error: unknown): boolean {
  return RESET_CODES.has(codeOf(error))
}

/** The code of a request's failure before its answer. */
export function outcomeOfError(error: unknown): OutcomeCode {
  if (error instanceof ConnectFailed) return error.outcome
  if (error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError'))
    return 'timeout'
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  if (BROKEN_CODES.has(code)) return 'reset'
  // Inside a session that was made, a receiver can still send records that belong to none.
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'tls'
  if (MALFORMED_CODES.has(code) || (error instanceof Error && error.name === 'HTTPParserError')) {
    return 'malformed_response'
  }
  return 'internal'
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

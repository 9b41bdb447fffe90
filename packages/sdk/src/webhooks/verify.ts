import { createHmac, timingSafeEqual } from 'node:crypto'
import { kindOf, type WebhookEvent } from './events.ts'
import { parseSignature, readHeader, type Signature, type WebhookHeaders } from './read-headers.ts'
import { UnsupportedSchemaVersion, WebhookRejected } from './rejected.ts'

/** Spec §6.4.3. */
const TOLERANCE_SECONDS_DEFAULT = 300
const SCHEMA_VERSION = 1

export type VerifyOptions = {
  /** How far the signature's time may be from `now`, either way; 300 by default. */
  readonly toleranceSeconds?: number
  /** In place of this machine's clock. */
  readonly now?: Date
}

/**
 * Verifies one webhook request and returns its event. Do nothing with a request before it.
 *
 * `rawBody` is the body exactly as it came, before any parsing: JSON that was parsed and written again has another
 * signature. `secrets` is the endpoint's signing secret, or all that are valid while you rotate.
 *
 * Throws `WebhookRejected` (answer 400), `UnsupportedSchemaVersion` (alert, answer 503), and `TypeError` where it
 * is called wrongly. A genuine event may still be a repetition: whoever stores it decides that, by `event.id`.
 */
export function verify(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): WebhookEvent {
  const body = bytesOf(rawBody)
  const keys = keysOf(secrets)
  const toleranceSeconds = options.toleranceSeconds ?? TOLERANCE_SECONDS_DEFAULT
  const nowSeconds = Math.floor((options.now ?? new Date()).getTime() / 1_000)
  // A comparison with NaN or Infinity is false, and would let every request through, however old.
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0)
    throw new TypeError('toleranceSeconds must be a finite number from 0 up')
  if (Number.isNaN(nowSeconds)) throw new TypeError('now must be a valid Date')

  const signature = parseSignature(readHeader(headers, 'paylink-signature'))
  if (Math.abs(nowSeconds - signature.unixSeconds) > toleranceSeconds) {
    throw new WebhookRejected(
      'timestamp_out_of_tolerance',
      `it was signed at ${signature.unixSeconds} and it is ${nowSeconds}`,
    )
  }
  if (!isSignedByAny(keys, signature, body)) {
    throw new WebhookRejected('signature_mismatch', 'no signature fits the body and the secrets')
  }
  return readEvent(body, headers)
}

function bytesOf(rawBody: string | Uint8Array): Uint8Array {
  if (typeof rawBody === 'string') return Buffer.from(rawBody, 'utf8')
  if (rawBody instanceof Uint8Array) return rawBody
  throw new TypeError(
    'rawBody must be the body as it came, a string or bytes, and not what was parsed from it',
  )
}

function keysOf(secrets: string | readonly string[]): readonly string[] {
  const keys: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  // Anybody can sign with an empty key, or with 'undefined': a variable that was never set must not open the door.
  if (keys.length > 0 && keys.every(isSecret)) return keys
  throw new TypeError('secrets must be one signing secret, or several, each of the form whsec_…')
}

const SECRET = /^whsec_\S+$/
const isSecret = (key: unknown): key is string => typeof key === 'string' && SECRET.test(key)

/** Every pair is compared, in constant time each, so that the time taken does not show which fits (spec §6.4.4). */
function isSignedByAny(keys: readonly string[], signature: Signature, body: Uint8Array): boolean {
  let isSigned = false
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(`${signature.unixSeconds}.`).update(body).digest()
    for (const digest of signature.digests) isSigned = timingSafeEqual(expected, digest) || isSigned
  }
  return isSigned
}

type Fields = { readonly [name: string]: unknown }

function readEvent(body: Uint8Array, headers: WebhookHeaders): WebhookEvent {
  const fields = parseObject(body)
  const { id, schema_version: version, event_type: type, data } = fields
  if (typeof id !== 'string' || id === '') throw bodyMalformed('it has no id')
  if (typeof version !== 'number' || !Number.isSafeInteger(version))
    throw bodyMalformed('it has no schema_version')
  if (readHeader(headers, 'paylink-event-id') !== id) {
    throw new WebhookRejected('event_id_mismatch', 'paylink-event-id is not the id of the body')
  }
  if (readHeader(headers, 'paylink-version') !== String(version)) {
    throw new WebhookRejected('version_mismatch', 'paylink-version is not the schema_version of the body')
  }
  // Nothing further is read of a version that nobody here knows.
  if (version !== SCHEMA_VERSION) throw new UnsupportedSchemaVersion(version, id)
  if (typeof type !== 'string' || !isObject(data)) throw bodyMalformed('it has no event_type or no data')
  // Signed by us and of a version we know: the rest is as that version says.
  return { ...fields, kind: kindOf(type) } as unknown as WebhookEvent
}

function parseObject(body: Uint8Array): Fields {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    if (isObject(value)) return value
  } catch (error) {
    throw bodyMalformed('it is not JSON in UTF-8', error)
  }
  throw bodyMalformed('it is not a JSON object')
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bodyMalformed(reason: string, cause?: unknown): WebhookRejected {
  return new WebhookRejected('body_malformed', `the body is no event: ${reason}`, { cause })
}

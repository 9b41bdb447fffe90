/**
 * Why a request is no event of ours. Answer 400 and change nothing.
 *
 * - `header_missing`, `header_repeated`, `header_malformed`: one of the three `paylink-` headers.
 * - `timestamp_out_of_tolerance`: signed too long ago or in the future: an old request sent again, or a clock that
 *   is wrong.
 * - `signature_mismatch`: no signature fits any of the secrets and this body, byte for byte.
 * - `body_malformed`: signed, and yet no event.
 * - `event_id_mismatch`, `version_mismatch`: a header says something else than the body.
 */
export type RejectionCode =
  | 'header_missing'
  | 'header_repeated'
  | 'header_malformed'
  | 'timestamp_out_of_tolerance'
  | 'signature_mismatch'
  | 'body_malformed'
  | 'event_id_mismatch'
  | 'version_mismatch'

/** The request is not to be believed. */
export class WebhookRejected extends Error {
  override name = 'WebhookRejected'
  readonly code: RejectionCode

  constructor(code: RejectionCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/**
 * The event is genuine and of a schema version that this library does not know (spec §9). Alert somebody, answer
 * 503 so that it is sent again after your update, and do not guess what it means.
 */
export class UnsupportedSchemaVersion extends Error {
  override name = 'UnsupportedSchemaVersion'
  readonly schemaVersion: number
  readonly eventId: string

  constructor(schemaVersion: number, eventId: string) {
    super(
      `event ${eventId} has schema version ${schemaVersion}, which this version of the library does not know`,
    )
    this.schemaVersion = schemaVersion
    this.eventId = eventId
  }
}

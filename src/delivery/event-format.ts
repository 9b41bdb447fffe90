/** Body and signature headers of one request; the headers that every request has are added when it is sent. */
export type Message = { readonly headers: Record<string, string>; readonly body: Uint8Array }

/** Another payload format than our own: an older service's, for a receiver that was written for it. */
export type EventFormat = {
  /** What is sent of a stored event. It follows from these alone, so that every attempt sends the same bytes. */
  bodyOf(event: {
    readonly endpointId: string
    readonly eventId: string
    /** The event as it is stored. */
    readonly body: Uint8Array
  }): Uint8Array
  /**
   * A body that reports no event: the challenge by which a receiver shows that it checks signatures. Where the format's
   * API can be asked for what it names, that it was asked for is recorded (`noteTrialTaken`).
   */
  trialBody(of: {
    readonly endpointId: string
    readonly merchantId: string
    readonly eventId: string
    readonly now: Date
  }): Uint8Array
  /** The one signature that the format has room for, as headers. */
  signature(body: Uint8Array, secret: string): Record<string, string>
}
export type EventFormats = { readonly [name: string]: EventFormat }

/** The format of that name; null for our own. */
export function formatOf(formats: EventFormats, name: string): EventFormat | null {
  if (name === 'paylink') return null
  const format = formats[name]
  if (format === undefined) throw new Error(`nobody knows how to write the format ${name}`)
  return format
}

/** A body of a format with its signature by one secret. */
export function signedIn(format: EventFormat, body: Uint8Array, secret: string): Message {
  return { headers: format.signature(body, secret), body }
}

/**
 * One attempt at a stored event in a format that has room for one signature: while two secrets are valid, the
 * attempts take turns, the newer first, so that a receiver which has either takes the second one at the latest.
 */
export function attemptIn(
  format: EventFormat,
  event: Parameters<EventFormat['bodyOf']>[0],
  /** 1, 2, 3… */
  attempt: number,
  secrets: readonly string[],
): Message {
  const secret = secrets[(attempt - 1) % secrets.length]
  if (secret === undefined) throw new Error('nothing to sign with')
  return signedIn(format, format.bodyOf(event), secret)
}

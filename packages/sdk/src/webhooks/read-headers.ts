import { WebhookRejected } from './rejected.ts'

/** A `Headers` object, node's `request.headers`, `request.headersDistinct`, or any object of names and values. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  // `Headers` as TypeScript knows them by `lib: dom` alone before version 6: without their iteration.
  | { get(name: string): string | null; has(name: string): boolean }
  | { readonly [name: string]: string | readonly string[] | undefined }

/** The one value of a header, whatever the case of its name. Throws `WebhookRejected` where there is none, or several. */
export function readHeader(headers: WebhookHeaders, name: string): string {
  const values = entriesOf(headers)
    .filter(([given]) => given.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
  const [value] = values
  if (value === undefined) throw new WebhookRejected('header_missing', `there is no header ${name}`)
  if (values.length > 1)
    throw new WebhookRejected('header_repeated', `there are ${values.length} headers ${name}`)
  return value
}

function entriesOf(headers: WebhookHeaders): (readonly [string, string | readonly string[] | undefined])[] {
  return Symbol.iterator in headers
    ? [...(headers as Iterable<readonly [string, string]>)]
    : Object.entries(headers)
}

export type Signature = { readonly unixSeconds: number; readonly digests: readonly Uint8Array[] }

/** Far above what two secrets need, and far below what costs time. */
const HEADER_LENGTH_MAX = 2_048
const PART = /^([a-z][a-z0-9]*)=([^=\s]+)$/
const UNIX_SECONDS = /^(?:0|[1-9][0-9]{0,14})$/
const DIGEST = /^[0-9a-f]{64}$/i

/**
 * Reads `t=<unix seconds>,v1=<hex>[,v1=<hex>…]` (spec §6.4): exactly one `t`, at least one `v1`. Schemes of other
 * names are left for those who know them. Node joins a repeated header with a comma and a blank: it does not parse.
 */
export function parseSignature(header: string): Signature {
  if (header.length > HEADER_LENGTH_MAX) throw malformed('it is too long')
  const times: string[] = []
  const digests: Uint8Array[] = []
  for (const part of header.split(',')) {
    const [, name, value = ''] = PART.exec(part) ?? []
    if (name === undefined) throw malformed('a part is not name=value')
    if (name === 't') times.push(value)
    if (name !== 'v1') continue
    if (!DIGEST.test(value)) throw malformed('a v1 is not 64 hexadecimal digits')
    digests.push(Buffer.from(value, 'hex'))
  }
  const [time] = times
  if (time === undefined || times.length > 1) throw malformed('it needs exactly one t')
  if (!UNIX_SECONDS.test(time)) throw malformed('t is not whole seconds')
  if (digests.length === 0) throw malformed('it has no v1')
  return { unixSeconds: Number(time), digests }
}

const malformed = (reason: string): WebhookRejected =>
  new WebhookRejected('header_malformed', `paylink-signature cannot be read: ${reason}`)

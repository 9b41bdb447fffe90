/**
 * Ids are a prefix, `_`, and the 26 lower-case Crockford base32 characters of a UUIDv7 (RFC 9562 §5.7). They
 * sort by time and are not secrets.
 */
export const ID_PREFIXES = {
  invoice: 'inv',
  paymentLink: 'plink',
  checkoutSession: 'cs',
  webhookEndpoint: 'we',
  event: 'evt',
  delivery: 'dlv',
  attempt: 'att',
  payout: 'po',
  payoutDestination: 'dst',
  sweep: 'swp',
  x402Authorization: 'xau',
  merchant: 'mer',
  member: 'mem',
  apiKey: 'key',
  auditEntry: 'aud',
  requestLog: 'log',
  payment: 'pay',
  depositAddress: 'da',
  deposit: 'dep',
  balanceEntry: 'ent',
  cardPurchase: 'card',
  maintenance: 'cho',
  importedInvoice: 'imp',
  operator: 'opr',
} as const
export type IdKind = keyof typeof ID_PREFIXES

/** Whether an id is of this kind, as far as its prefix says. */
export const isIdOf = (kind: IdKind, id: string): boolean => id.startsWith(`${ID_PREFIXES[kind]}_`)

/** What an id of any kind looks like. In a path, anything else could lead to another route. */
export const ID_PATTERN = idPattern('[a-z]{2,8}')

/** What an id with this prefix looks like. */
export function idPattern(prefix: string): RegExp {
  return new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`)
}

/** Crockford's base32, in lower case. */
export const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'

/** 16 bytes as 26 base32 characters, most significant first; the first character carries three bits. */
export function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  // 130 bits for 128: the first two are always zero.
  let held = 0
  let heldBits = 2
  for (const byte of bytes) {
    held = (held << 8) | byte
    heldBits += 8
    while (heldBits >= 5) {
      heldBits -= 5
      text += BASE32[(held >> heldBits) & 31]
    }
    held &= 31
  }
  return text
}

/** The 16 bytes of 26 base32 characters, or null where the text is not one. */
export function decodeBase32(text: string): Uint8Array | null {
  if (text.length !== 26) return null
  let value = 0n
  for (const character of text) {
    const digit = BASE32.indexOf(character)
    if (digit < 0) return null
    value = (value << 5n) | BigInt(digit)
  }
  if (value >> 128n !== 0n) return null
  const bytes = new Uint8Array(16)
  for (let index = 15; index >= 0; index--) {
    bytes[index] = Number(value & 255n)
    value >>= 8n
  }
  return bytes
}

/** The 16 bytes of a UUIDv7: 48 bits of Unix milliseconds, version, variant, and 74 of the given random bits. */
export function uuidv7(unixMs: number, random: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(16)
  let rest = unixMs
  for (let index = 5; index >= 0; index--) {
    bytes[index] = rest % 256
    rest = Math.floor(rest / 256)
  }
  bytes.set(random.subarray(0, 10), 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes
}

/** `inv_01jd…` from the bytes of a UUID. */
export function formatId(kind: IdKind, uuid: Uint8Array): string {
  return `${ID_PREFIXES[kind]}_${encodeBase32(uuid)}`
}

/** The UUID's bytes of an id of this kind, or null where the text is not one. */
export function parseId(kind: IdKind, text: string): Uint8Array | null {
  const prefix = `${ID_PREFIXES[kind]}_`
  return text.startsWith(prefix) ? decodeBase32(text.slice(prefix.length)) : null
}

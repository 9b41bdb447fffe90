import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BITS_PER_CHARACTER = Math.log2(62)
/** So many more random bits than the text carries that no character is likelier than another. */
const SPARE_BYTES = 8

/** Random characters of base 62, digits first. */
export function randomBase62(length: number): string {
  const bytes = Math.ceil((length * BITS_PER_CHARACTER) / 8) + SPARE_BYTES
  let rest = BigInt(`0x${randomBytes(bytes).toString('hex')}`)
  let text = ''
  for (let position = 0; position < length; position++) {
    text = `${ALPHABET[Number(rest % 62n)]}${text}`
    rest /= 62n
  }
  return text
}

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBase32, encodeBase32, formatId, parseId, uuidv7 } from './ids.ts'

const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 })

test('an id is its prefix and 26 lower-case characters, and reads back as the same bytes', () => {
  fc.assert(
    fc.property(bytes16, (bytes) => {
      const id = formatId('invoice', bytes)
      expect(id).toMatch(/^inv_[0-9a-z]{26}$/)
      expect(parseId('invoice', id)).toEqual(bytes)
      expect(parseId('event', id)).toBeNull()
    }),
  )
})

test('text that is not 128 bits in the alphabet is no id', () => {
  for (const text of [
    '',
    'z'.repeat(26),
    '0'.repeat(25),
    '0'.repeat(27),
    'i'.repeat(26),
    '0'.repeat(25).concat('A'),
  ]) {
    expect(decodeBase32(text), text).toBeNull()
  }
})

test('ids made later sort later', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 2 ** 31 }),
      fc.integer({ min: 1, max: 1e9 }),
      bytes16,
      bytes16,
      (at, after, a, b) => {
        const [earlier, later] = [uuidv7(at, a), uuidv7(at + after, b)]
        expect(encodeBase32(earlier) < encodeBase32(later)).toBe(true)
      },
    ),
  )
})

test('the version and variant are those of RFC 9562', () => {
  const uuid = uuidv7(0x0123456789ab, new Uint8Array(10).fill(0xff))
  expect(Buffer.from(uuid).toString('hex')).toBe('0123456789ab7fffbfffffffffffffff')
})

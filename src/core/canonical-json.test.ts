import { expect, test } from 'vitest'
import { canonicalJson, isPlainNumber, NotCanonical } from './canonical-json.ts'

test('names are sorted by UTF-16 code units, nothing is indented, and strings are written as RFC 8785 says', () => {
  // The order of RFC 8785, section 3.2.3.
  const names = { '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 }
  expect(canonicalJson(names)).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}')
  expect(canonicalJson({ b: [true, null, 'a\u000f\n"\\/'], a: {} })).toBe(
    '{"a":{},"b":[true,null,"a\\u000f\\n\\"\\\\/"]}',
  )
})

test('numbers are written as ECMAScript writes them', () => {
  for (const [value, text] of [
    [1.5, '1.5'],
    [-0, '0'],
    [1e21, '1e+21'],
    [4.5e-7, '4.5e-7'],
  ] as const)
    expect(canonicalJson([value])).toBe(`[${text}]`)
})

test('where only plain numbers are allowed, any that languages write differently is refused at any depth', () => {
  for (const value of [1.5, -0, 2 ** 53, 1e21])
    expect(() => canonicalJson([{ a: value }], isPlainNumber)).toThrow(NotCanonical)
  expect(canonicalJson([{ a: 2 ** 53 - 1 }], isPlainNumber)).toBe('[{"a":9007199254740991}]')
})

test('values that JSON does not know are refused', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, () => 1, { a: undefined }])
    expect(() => canonicalJson(value)).toThrow(NotCanonical)
})

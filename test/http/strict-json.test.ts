import { expect, test } from 'vitest'
import { parseStrictQuery } from '../../src/http/api/parse-input.ts'
import { ApiProblem } from '../../src/http/api/problem.ts'
import { parseStrictJson } from '../../src/http/api/strict-json.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function refusal(work: () => unknown): { code: string; param: string | null } | null {
  try {
    work()
    return null
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error
    return { code: error.code, param: error.param }
  }
}
const bodyRefusal = (text: string) => refusal(() => parseStrictJson(bytes(text)))

test('honest JSON comes through unchanged', () => {
  const value = {
    a: [1, -0.25, 1e21, 123456789012345, 'ü\n"\\', { b: null, '': [[]] }],
    constructor: 'x',
    c: '😀',
  }
  expect(parseStrictJson(bytes(JSON.stringify(value, null, 2)))).toEqual(value)
})

test('what is not one JSON object in UTF-8 is refused', () => {
  for (const text of [
    '',
    ' ',
    'null',
    '[]',
    '"x"',
    '1',
    '{',
    '{"a":1}{',
    "{'a':1}",
    '{"a":1,}',
    '{"a":NaN}',
    '{a:1}',
    '\ufeff{}',
  ]) {
    expect(bodyRefusal(text)).toEqual({ code: 'body_invalid', param: null })
  }
  expect(refusal(() => parseStrictJson(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)))?.code).toBe(
    'body_invalid',
  )
})

test('a repeated name is refused wherever it stands, however it is spelt', () => {
  expect(bodyRefusal('{"a":1,"b":{"c":[{"d":1,"d":2}]}}')).toEqual({
    code: 'parameter_duplicate',
    param: 'b.c[0].d',
  })
  expect(bodyRefusal('{"a":1,"\\u0061":2}')).toEqual({ code: 'parameter_duplicate', param: 'a' })
  expect(bodyRefusal('{"a":{"x":1},"b":{"x":1}}')).toBeNull()
})

test('what would change on its way is refused by name: __proto__, NUL, half characters, inexact numbers', () => {
  expect(bodyRefusal('{"__proto__":{"x":1}}')).toEqual({ code: 'parameter_invalid', param: '__proto__' })
  expect(bodyRefusal('{"m":{"\\u005f_proto__":1}}')).toEqual({
    code: 'parameter_invalid',
    param: 'm.__proto__',
  })
  expect(bodyRefusal('{"m":["ok","a\\u0000"]}')).toEqual({ code: 'parameter_invalid', param: 'm[1]' })
  expect(bodyRefusal('{"m":"\\ud800"}')).toEqual({ code: 'parameter_invalid', param: 'm' })
  expect(bodyRefusal('{"m":"\\udc00\\ud800"}')).toEqual({ code: 'parameter_invalid', param: 'm' })
  for (const number of [
    '1e400',
    '12345678901234567890',
    '0.1000000000000000055',
    '1e-400',
    '1'.repeat(200),
  ]) {
    expect(bodyRefusal(`{"m":${number}}`)).toEqual({ code: 'parameter_invalid', param: 'm' })
  }
  for (const number of ['0', '-0', '1.0', '1.50', '1e2', '0.1', '9007199254740991', '5e-324']) {
    expect(bodyRefusal(`{"m":${number}}`)).toBeNull()
  }
})

test('nesting has an end', () => {
  const nested = (depth: number) => `{"m":${'['.repeat(depth)}${']'.repeat(depth)}}`
  expect(bodyRefusal(nested(63))).toBeNull()
  expect(bodyRefusal(nested(64))?.code).toBe('parameter_invalid')
  expect(bodyRefusal(nested(30_000))?.code).toBe('parameter_invalid')
})

test('the worst 64 KiB are read in a few milliseconds', () => {
  const size = 64 * 1024
  const fill = (piece: string) => piece.repeat(Math.floor((size - 20) / piece.length))
  const bodies = [
    `{"a":"${fill('\\\\')}"}`,
    `{"a":"${fill('\\u0041')}"}`,
    `{"a":"${fill('😀')}"}`,
    `{"a":[${fill('1,')}1]}`,
    `{"a":[${fill('"",')}1]}`,
    `{"a":1${fill('0')}1}`,
    `{"a":0.${fill('0')}1}`,
    `{${fill('"a":1,')}"b":1}`,
    `{"a":"${fill('-')}`,
    fill('{"a":'),
    fill('"'),
  ]
  for (const body of bodies) {
    const encoded = bytes(body)
    // Processor time, the best of some: what else the machine does is no matter here.
    const times = Array.from({ length: 10 }, () => {
      const before = process.cpuUsage()
      refusal(() => parseStrictJson(encoded))
      return process.cpuUsage(before).user / 1_000
    })
    expect(Math.min(...times), body.slice(0, 20)).toBeLessThan(40)
  }
})

test('a query string is read strictly', () => {
  const known = ['limit', 'q']
  expect(parseStrictQuery('', known)).toEqual({})
  expect(parseStrictQuery('?', known)).toEqual({})
  expect(parseStrictQuery('?limit=5&q=a+b%2B%C3%BC%26', known)).toEqual({ limit: '5', q: 'a b+ü&' })
  expect(parseStrictQuery('?q', known)).toEqual({ q: '' })
  const codeOf = (search: string) => refusal(() => parseStrictQuery(search, known))
  expect(codeOf('?limit=1&limit=1')).toEqual({ code: 'parameter_duplicate', param: 'limit' })
  expect(codeOf('?limit=1&%6cimit=1')).toEqual({ code: 'parameter_duplicate', param: 'limit' })
  for (const search of [
    '?x=1',
    '?limit[]=1',
    '?Limit=1',
    '?limit=1&',
    '?=1',
    '?__proto__=1',
    '?constructor=1',
  ]) {
    expect(codeOf(search)?.code).toBe('parameter_unknown')
  }
  for (const search of ['?q=%', '?q=%zz', '?q=%ff', '?q=%00', '?q=%ed%a0%80']) {
    expect(codeOf(search)).toEqual({ code: 'parameter_invalid', param: 'q' })
  }
})

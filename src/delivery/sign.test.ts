import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { signatureHeader } from './send.ts'

test('the header has one t and one v1 for each secret, over the raw bytes', () => {
  const body = Buffer.from('{"a":"ü"}')
  const header = signatureHeader(['whsec_new', 'whsec_old'], 1_700_000_000, body)
  const expected = ['whsec_new', 'whsec_old'].map(
    (secret) =>
      `v1=${createHmac('sha256', Buffer.from(secret, 'utf8')).update('1700000000.{"a":"ü"}', 'utf8').digest('hex')}`,
  )
  expect(header).toBe(`t=1700000000,${expected.join(',')}`)
})

test('nothing is ever signed with no secret or with a broken time', () => {
  expect(() => signatureHeader([], 1, Buffer.alloc(0))).toThrow()
  expect(() => signatureHeader(['whsec_a'], 1.5, Buffer.alloc(0))).toThrow()
  expect(() => signatureHeader(['whsec_a'], Number.NaN, Buffer.alloc(0))).toThrow()
})

import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { newSigningSecret, signingSecretFrom } from '../secrets/signing-secret.ts'
import { signatureHeader, signedHeaders } from './send.ts'

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

test('the library of Standard Webhooks verifies what is sent, with each of two secrets and no other', () => {
  const body = Buffer.from('{"a":"ü"}')
  const [first, second, other] = [newSigningSecret(), newSigningSecret(), newSigningSecret()]
  const event = { eventId: 'evt_1', schemaVersion: 1, body, secrets: [first, second] }
  const headers = signedHeaders(event, Math.floor(Date.now() / 1_000))
  for (const secret of [first, second]) expect(new Webhook(secret).verify(body, headers)).toEqual({ a: 'ü' })
  expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature')
  expect(() => new Webhook(first).verify(Buffer.from('{"a":"u"}'), headers)).toThrow('No matching signature')
  const moved = { ...headers, 'webhook-id': 'evt_2' }
  expect(() => new Webhook(first).verify(body, moved)).toThrow('No matching signature')
})

test('a secret is the same text in both kinds of base64, whatever its bytes', () => {
  const every = Array.from({ length: 8 }, (_, n) => signingSecretFrom(Buffer.alloc(32, 255 - n)))
  for (const secret of every) expect(secret).toMatch(/^whsec_[0-9A-Za-z]{40}$/)
})

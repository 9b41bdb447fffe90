import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { deliveryKeyOf, keyCheckOf, openDeliveryKey, openKeyring, SealBroken } from './keyring.ts'

const keyring = openKeyring(Buffer.alloc(32, 7))
const context = 'endpoint_secret/mer_1/row_1'

test('what was sealed opens in its own context', () => {
  for (const length of [0, 1, 45, 5000]) {
    const plaintext = randomBytes(length)
    expect(keyring.open(keyring.seal(plaintext, context), context)).toEqual(plaintext)
  }
})

test('a ciphertext moved to another row, merchant or table does not open', () => {
  const sealed = keyring.seal(Buffer.from('whsec_secret'), context)
  for (const other of [
    'endpoint_secret/mer_1/row_2',
    'endpoint_secret/mer_2/row_1',
    'idempotency_key/mer_1/row_1',
    '',
  ]) {
    expect(() => keyring.open(sealed, other)).toThrow(SealBroken)
  }
})

test('two rows that swap their ciphertexts both fail', () => {
  const first = keyring.seal(Buffer.from('one'), 'endpoint_secret/mer_1/row_1')
  const second = keyring.seal(Buffer.from('two'), 'endpoint_secret/mer_1/row_2')
  expect(() => keyring.open(second, 'endpoint_secret/mer_1/row_1')).toThrow(SealBroken)
  expect(() => keyring.open(first, 'endpoint_secret/mer_1/row_2')).toThrow(SealBroken)
})

test('no flipped bit and no cut or added byte goes unnoticed', () => {
  const sealed = keyring.seal(Buffer.from('whsec_secret'), context)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(() => keyring.open(flipped, context)).toThrow(SealBroken)
  }
  for (let length = 0; length < sealed.length; length++) {
    expect(() => keyring.open(sealed.subarray(0, length), context)).toThrow(SealBroken)
  }
  expect(() => keyring.open(Buffer.concat([sealed, Buffer.of(0)]), context)).toThrow(SealBroken)
})

test('the same plaintext never seals to the same bytes', () => {
  const seen = new Set(
    Array.from({ length: 200 }, () => keyring.seal(Buffer.from('x'), context).toString('hex')),
  )
  expect(seen.size).toBe(200)
})

test('a delivery key opens what the keyring sealed, knows its installation, and makes nothing', () => {
  const key = deliveryKeyOf(Buffer.alloc(32, 7))
  const delivery = openDeliveryKey(key)
  expect(delivery.open(keyring.seal(Buffer.from('whsec_secret'), context), context).toString()).toBe(
    'whsec_secret',
  )
  expect(delivery.check).toEqual(keyCheckOf(keyring))
  expect(openDeliveryKey(deliveryKeyOf(Buffer.alloc(32, 8))).check).not.toEqual(delivery.check)
  expect(Object.keys(delivery).sort()).toEqual(['check', 'open'])
  // Neither half is the secret key: of what it derives, such as the key of approvals, nothing follows.
  const approvals = keyring.mac('payout_approval_key/1', Buffer.from('Ed25519'))
  for (const half of [key.subarray(0, 32), key.subarray(32)]) {
    expect(openKeyring(half).mac('payout_approval_key/1', Buffer.from('Ed25519'))).not.toEqual(approvals)
  }
  expect(() => openDeliveryKey(key.subarray(1))).toThrow('64 bytes')
})

test('another installation opens nothing, and its error holds no plaintext', () => {
  const other = openKeyring(Buffer.alloc(32, 8))
  expect(() => other.open(keyring.seal(Buffer.from('whsec_secret'), context), context)).toThrow(SealBroken)
})

test('each purpose has a key of its own', () => {
  const message = Buffer.from('same')
  expect(keyring.mac('a', message)).toEqual(keyring.mac('a', message))
  expect(keyring.mac('a', message)).not.toEqual(keyring.mac('b', message))
  expect(keyring.mac('a', message)).toHaveLength(32)
})

test('a secret key of another length is refused', () => {
  expect(() => openKeyring(Buffer.alloc(31))).toThrow('32 bytes')
  expect(() => openKeyring(Buffer.alloc(33))).toThrow('32 bytes')
})

import { HDKey } from '@scure/bip32'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RECEIVE_INDEX_MAX, receiveKeys } from './receive-keys.ts'

test('every key is the one that BIP32’s library derives, from the public key and from the private', () => {
  const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const index = fc.oneof(fc.nat(RECEIVE_INDEX_MAX), fc.constantFrom(0, 1, RECEIVE_INDEX_MAX))
  fc.assert(
    fc.property(seed, index, (seed, index) => {
      const account = HDKey.fromMasterSeed(seed).derive("m/84'/0'/0'")
      const expected = [account, HDKey.fromExtendedKey(account.publicExtendedKey)].map(
        (node) => node.deriveChild(0).deriveChild(index).publicKey,
      )
      const key = receiveKeys(account.publicExtendedKey)(index)
      expect(expected).toEqual([key, key])
    }),
    { numRuns: 40 },
  )
})

test.each([-1, 0.5, RECEIVE_INDEX_MAX + 1, Number.NaN])('%d is no index', (index) => {
  const { publicExtendedKey } = HDKey.fromMasterSeed(new Uint8Array(32)).derive("m/84'/0'/0'")
  expect(() => receiveKeys(publicExtendedKey)(index)).toThrow('no index')
})

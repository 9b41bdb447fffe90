import { expect, test } from 'vitest'
import { encodeAddress } from './address.ts'

// The key of BIP173's examples, and the first receive address of BIP84's test vectors.
const KEY_HASH = Buffer.from('751e76e8199196d454941c45d1b3a323f1433bd6', 'hex')
const SCRIPT_HASH = Buffer.from('1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262', 'hex')

test.each([
  ['bc', KEY_HASH, 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
  ['tb', KEY_HASH, 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
  ['bc', SCRIPT_HASH, 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3'],
  ['tb', SCRIPT_HASH, 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'],
])('BIP173 vector %#', (hrp, addressBytes, address) => {
  expect(encodeAddress(hrp, addressBytes)).toBe(address)
})

test('what is no witness program of version 0 has no address', () => {
  for (const length of [0, 19, 21, 33]) {
    expect(() => encodeAddress('bc', new Uint8Array(length))).toThrow('20 or 32 bytes')
  }
})

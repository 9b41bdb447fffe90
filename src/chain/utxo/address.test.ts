import { expect, test } from 'vitest'
import { decodeAddress, encodeAddress } from './address.ts'

// The key of BIP173's examples, and the first receive address of BIP84's test vectors.
const PROGRAM = Buffer.from('751e76e8199196d454941c45d1b3a323f1433bd6', 'hex')
const SCRIPT_PROGRAM = Buffer.from('1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262', 'hex')

test.each([
  ['bc', PROGRAM, 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
  ['tb', PROGRAM, 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
  ['bc', SCRIPT_PROGRAM, 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3'],
  ['tb', SCRIPT_PROGRAM, 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'],
])('BIP173 vector %#', (hrp, program, address) => {
  expect(encodeAddress(hrp, program)).toBe(address)
  expect(decodeAddress(hrp, address)).toEqual(new Uint8Array(program))
  expect(decodeAddress(hrp, address.toUpperCase())).toEqual(new Uint8Array(program))
})

test.each([
  ['another chain', 'ltc', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
  ['a wrong checksum', 'bc', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5'],
  ['mixed case', 'bc', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4'],
  [
    'another witness version',
    'bc',
    'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y',
  ],
  ['an invalid program length', 'bc', 'bc1rw5uspcuh'],
  ['nothing', 'bc', ''],
])('%s is no address', (_what, hrp, address) => {
  expect(decodeAddress(hrp, address)).toBeNull()
})

import { expect, test } from 'vitest'
import { lookalikeOf } from './judge-destination.ts'

const BTC = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'
const EVM = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

test('an address with the ends of a used one and another middle is flagged, whatever its letter case', () => {
  expect(lookalikeOf('bc1qw508aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8f3t4', [EVM, BTC])).toBe(BTC)
  expect(lookalikeOf('0x5AAE000000000000000000000000000000001bEAED', [BTC, EVM])).toBe(EVM)
})

test('the same address, and one with another end, are not', () => {
  expect(lookalikeOf(BTC, [BTC, EVM])).toBeNull()
  expect(lookalikeOf('bc1qw508aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8f3t5', [BTC])).toBeNull()
  expect(lookalikeOf('bc1qx508aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8f3t4', [BTC])).toBeNull()
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AddressSet } from './address-set.ts'

const addressBytes = fc.uint8Array({ minLength: 20, maxLength: 20 })
const longAddress = fc.uint8Array({ minLength: 32, maxLength: 32 })
const MANY = 50_000

test('finds exactly what was added, wherever it lies in the bytes', () => {
  fc.assert(
    fc.property(
      fc.array(addressBytes, { maxLength: 200 }),
      fc.array(longAddress, { maxLength: 50 }),
      fc.array(addressBytes, { maxLength: 50 }),
      fc.nat(64),
      (short, long, others, offset) => {
        const set = new AddressSet()
        set.add([...short, ...long])
        const added = new Set(short.map((bytes) => Buffer.from(bytes).toString('hex')))
        const within = (bytes: Uint8Array) => Buffer.concat([Buffer.alloc(offset, 1), bytes, Buffer.alloc(3)])
        for (const bytes of short) expect(set.hasShort(within(bytes), offset)).toBe(true)
        for (const bytes of long) expect(set.hasLong(within(bytes), offset)).toBe(true)
        for (const bytes of others) {
          expect(set.hasShort(within(bytes), offset)).toBe(added.has(Buffer.from(bytes).toString('hex')))
        }
      },
    ),
  )
})

test('addresses that share their first eight bytes are told apart', () => {
  const set = new AddressSet()
  const addresses = Array.from({ length: 300 }, (_, index) => {
    const bytes = Buffer.alloc(20, 9)
    bytes.writeUInt32LE(index, 12)
    return bytes
  })
  set.add(addresses.slice(0, 200))
  expect(addresses.map((bytes) => set.hasShort(bytes, 0))).toEqual(addresses.map((_, index) => index < 200))
})

test('adding again changes nothing, and growing loses nothing', () => {
  const set = new AddressSet()
  const addresses = Array.from({ length: MANY }, (_, index) => {
    const bytes = Buffer.alloc(20)
    bytes.writeUInt32LE(index, 0)
    bytes.writeUInt32LE(Math.imul(index, 0x9e3779b1) >>> 0, 4)
    return bytes
  })
  set.add(addresses)
  set.add(addresses)
  expect(set.size).toBe(MANY)
  expect(addresses.every((bytes) => set.hasShort(bytes, 0))).toBe(true)
})

test('bytes of another length are refused', () => {
  expect(() => new AddressSet().add([new Uint8Array(21)])).toThrow('20 or 32 bytes')
})

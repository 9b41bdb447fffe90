import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ProgramSet } from './program-set.ts'

const program = fc.uint8Array({ minLength: 20, maxLength: 20 })
const scriptProgram = fc.uint8Array({ minLength: 32, maxLength: 32 })
const MANY = 50_000

test('finds exactly what was added, wherever it lies in the bytes', () => {
  fc.assert(
    fc.property(
      fc.array(program, { maxLength: 200 }),
      fc.array(scriptProgram, { maxLength: 50 }),
      fc.array(program, { maxLength: 50 }),
      fc.nat(64),
      (short, long, others, offset) => {
        const set = new ProgramSet()
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

test('programs that share their first eight bytes are told apart', () => {
  const set = new ProgramSet()
  const programs = Array.from({ length: 300 }, (_, index) => {
    const bytes = Buffer.alloc(20, 9)
    bytes.writeUInt32LE(index, 12)
    return bytes
  })
  set.add(programs.slice(0, 200))
  expect(programs.map((bytes) => set.hasShort(bytes, 0))).toEqual(programs.map((_, index) => index < 200))
})

test('adding again changes nothing, and growing loses nothing', () => {
  const set = new ProgramSet()
  const programs = Array.from({ length: MANY }, (_, index) => {
    const bytes = Buffer.alloc(20)
    bytes.writeUInt32LE(index, 0)
    bytes.writeUInt32LE(Math.imul(index, 0x9e3779b1) >>> 0, 4)
    return bytes
  })
  set.add(programs)
  set.add(programs)
  expect(set.size).toBe(MANY)
  expect(programs.every((bytes) => set.hasShort(bytes, 0))).toBe(true)
})

test('what is no witness program is refused', () => {
  expect(() => new ProgramSet().add([new Uint8Array(21)])).toThrow('20 or 32 bytes')
})

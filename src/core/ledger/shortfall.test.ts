import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Availability, coverMoves } from './shortfall.ts'

const amount = fc.bigInt({ min: 1n, max: 1_000n })
const move = fc.oneof(
  fc.record({ from: fc.constant('chain' as const), to: fc.constant('available' as const), amount }),
  fc.record({ from: fc.constant('available' as const), to: fc.constant('chain' as const), amount }),
  fc.record({ from: fc.constant('pending' as const), to: fc.constant('suspense' as const), amount }),
)
const EMPTY: Availability = { available: 0n, shortfall: 0n }

test('in any moves nothing is available during a shortfall, and both sum to what came minus what left', () => {
  fc.assert(
    fc.property(fc.array(fc.array(move, { maxLength: 3 })), (groups) => {
      let availability = EMPTY
      let sum = 0n
      for (const moves of groups) {
        const { covered, repaid, after } = coverMoves(moves, availability)
        let available = availability.available + covered
        for (const { from, to, amount: moved } of moves) {
          available += (to === 'available' ? moved : 0n) - (from === 'available' ? moved : 0n)
          expect(available).toBeGreaterThanOrEqual(0n)
        }
        expect(after.available).toBe(available - repaid)
        expect(after.shortfall).toBe(availability.shortfall - covered + repaid)
        availability = after
        for (const { from, to, amount: moved } of moves) {
          sum += (to === 'available' ? moved : 0n) - (from === 'available' ? moved : 0n)
        }
        expect(availability.available).toBeGreaterThanOrEqual(0n)
        expect(availability.shortfall).toBeLessThanOrEqual(0n)
        expect(availability.available === 0n || availability.shortfall === 0n).toBe(true)
        expect(availability.available + availability.shortfall).toBe(sum)
      }
    }),
  )
})

test('a deposit that is taken back and comes back leaves both as they were', () => {
  const taken = coverMoves([{ from: 'available', to: 'chain', amount: 10n }], {
    available: 4n,
    shortfall: 0n,
  })
  expect(taken).toEqual({ covered: 6n, repaid: 0n, after: { available: 0n, shortfall: -6n } })
  const back = coverMoves([{ from: 'chain', to: 'available', amount: 10n }], taken.after)
  expect(back).toEqual({ covered: 0n, repaid: 6n, after: { available: 4n, shortfall: 0n } })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Credit, unverifiedIn } from './verify-credits.ts'

const credit = fc.record({
  addressBytes: fc.constantFrom('aa', 'bb'),
  txid: fc.constantFrom('t1', 't2', 't3'),
  amount: fc.bigInt({ min: 1n, max: 9n }),
})
const credits = fc.array(credit, { maxLength: 6 })
const sumOf = (all: readonly Credit[], addressBytes: string) =>
  all.reduce((sum, each) => sum + (each.addressBytes === addressBytes ? each.amount : 0n), 0n)

test('what is borne out is never more, for any address, than the other reading found there', () => {
  fc.assert(
    fc.property(credits, credits, (claims, found) => {
      const unverified = unverifiedIn(claims, found)
      const borneOut = claims.filter((claim) => !unverified.includes(claim))
      for (const addressBytes of ['aa', 'bb']) {
        expect(sumOf(borneOut, addressBytes) <= sumOf(found, addressBytes)).toBe(true)
      }
    }),
  )
})

test('the same credits are found, and so are their sums if no provider names the transactions', () => {
  fc.assert(
    fc.property(credits, (claims) => {
      expect(unverifiedIn(claims, claims)).toEqual([])
      const unreported = ['aa', 'bb'].map((addressBytes) => ({
        addressBytes,
        txid: 'block',
        amount: sumOf(claims, addressBytes),
      }))
      expect(unverifiedIn(claims, unreported)).toEqual([])
    }),
  )
})

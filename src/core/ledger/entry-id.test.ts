import fc from 'fast-check'
import { expect, test } from 'vitest'
import { balanceEntryId, positionOfEntry } from './entry-id.ts'

const entries = fc.record({
  createdAtMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  livemode: fc.boolean(),
  position: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
})

test("an entry's id gives its position back, and no two entries of a merchant share one", () => {
  fc.assert(
    fc.property(entries, entries, (first, second) => {
      const id = balanceEntryId(first)
      expect(id).toMatch(/^ent_[0-9a-hjkmnp-tv-z]{26}$/)
      expect(positionOfEntry(id)).toBe(BigInt(first.position))
      const isSame = first.livemode === second.livemode && first.position === second.position
      if (!isSame) expect(balanceEntryId(second)).not.toBe(id)
    }),
  )
})

test('what is no id of an entry has no position', () => {
  for (const text of ['', 'ent_', `inv_${'0'.repeat(26)}`, `ent_${'z'.repeat(26)}`]) {
    expect(positionOfEntry(text), text).toBeNull()
  }
})

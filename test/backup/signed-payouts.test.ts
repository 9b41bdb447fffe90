import { expect, test } from 'vitest'
import { payoutsSignedIn } from '../../src/backup/restore-backup.ts'

test('a sweep for a payout is no signature of it, nor is a line that was cut off', () => {
  const sweep = { payout_id: 'sweep_1', intent: { kind: 'sweep', payout_id: 'payout_1' } }
  const payout = { payout_id: 'payout_2', intent: { kind: 'payout' } }
  const journal = [sweep, payout, { payout_id: 'payout_3' }].map((line) => JSON.stringify(line)).join('\n')
  expect([...payoutsSignedIn(journal.slice(0, -1))]).toEqual(['sweep_1', 'payout_2'])
})

import { expect, test } from 'vitest'
import { StaffCodeTries } from './staff-code-tries.ts'

test('no number of addresses that try another till gives a till its tries anew', () => {
  const tries = new StaffCodeTries()
  let callers = 0
  const attempt = (till: string) => tries.take(till, `caller ${callers++}`, 0)
  for (let count = 0; count < 100; count++) expect(attempt('target')).toBe(true)
  for (let count = 0; count < 70_000; count++) attempt('other')
  expect(attempt('target')).toBe(false)
  expect(tries.take('target', 'later', 60 * 60_000)).toBe(true)
})

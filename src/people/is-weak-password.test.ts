import { expect, test } from 'vitest'
import { isWeakPassword } from './is-weak-password.ts'

test.each([
  'password12',
  'qwertyuiop',
  '1234567890',
  'aaaaaaaaaa',
  'bitcoin2024',
  'P@ssw0rd123',
  'iloveyou12',
  'letmein1234',
])('the password %s is weak', (password) => {
  expect(isWeakPassword(password)).toBe(true)
})

test.each(['correct horse battery', 'xK4-plume-otter', 'w7Rq2mZp9t'])(
  'the password %s is strong enough',
  (password) => {
    expect(isWeakPassword(password)).toBe(false)
  },
)

test.each(['p4$$w0rd'.repeat(16), '4@8({[<3€6!1|7$5'.repeat(8), '19'.repeat(64), '1/1/1991'.repeat(16)])(
  'a password of 128 characters costs no more than a short one: %s',
  (password) => {
    // Processor time, the best of some: what else the machine does is no matter here.
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage()
      isWeakPassword(password)
      return process.cpuUsage(before).user / 1_000
    })
    expect(Math.min(...times)).toBeLessThan(600)
  },
)

import { expect, test } from 'vitest'
import { refuseWeakPassword } from './refuse-weak-password.ts'

test.each([
  'password12',
  'qwertyuiop',
  '1234567890',
  'aaaaaaaaaa',
  'bitcoin2024',
  'P@ssw0rd123',
  'iloveyou12',
  'letmein1234',
])('the password %s is refused as easy to guess', (password) => {
  expect(() => refuseWeakPassword(password)).toThrow('easy to guess')
})

test.each(['correct horse battery', 'xK4-plume-otter', 'w7Rq2mZp9t'])(
  'the password %s is taken',
  (password) => {
    expect(() => refuseWeakPassword(password)).not.toThrow()
  },
)

test('the longest password that is taken at all is judged within a second', () => {
  const began = performance.now()
  expect(() => refuseWeakPassword('ab1!'.repeat(32))).toThrow('easy to guess')
  expect(performance.now() - began).toBeLessThan(1_000)
})

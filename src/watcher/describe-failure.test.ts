import { expect, test } from 'vitest'
import { describeFailure } from './describe-failure.ts'

test.each([
  ['a connection that was ended', { code: '57P01', message: 'terminating connection' }],
  ['a connection that broke off', { message: 'Connection terminated unexpectedly' }],
])('%s halts no network', (_name, { message, ...rest }) => {
  expect(describeFailure(Object.assign(new Error(message), rest)).status).toBe('unavailable')
})

test('a bug halts the network and names the log', () => {
  const { status, reason } = describeFailure(new TypeError('x is undefined'))
  expect({ status, reason }).toEqual({ status: 'halted', reason: 'Paylink itself failed: see its log' })
})

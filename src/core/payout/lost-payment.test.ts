import { expect, test } from 'vitest'
import { type CoinPayment, isWithinFee, mayPayCoins, SEQUENCE_REPLACEABLE } from './lost-payment.ts'

const PAYOUT = { amount: 1_000_000n, networkFeeMax: 900n }
const paying = (amount: bigint) => ({ script: '0014aa', amount })
const CHANGE = { script: '0014bb', amount: 5n }
const SIGNED: CoinPayment = {
  outputs: [paying(999_100n), CHANGE],
  sequences: [SEQUENCE_REPLACEABLE, SEQUENCE_REPLACEABLE],
  lockTime: 0,
}

test.each([
  ['as it is signed, at the highest fee', SIGNED],
  ['as it is signed, at the lowest', { ...SIGNED, outputs: [paying(999_999n), CHANGE] }],
  ['without change', { ...SIGNED, outputs: [paying(999_500n)] }],
  ['over other coins', { ...SIGNED, sequences: [SEQUENCE_REPLACEABLE] }],
  ['by a node that says less', { ...SIGNED, sequences: [], lockTime: null }],
])('may be the payout: %s', (_, payment) => {
  expect(mayPayCoins(PAYOUT, '0014aa', payment)).toBe(true)
})

test.each([
  ['pays less than the highest fee leaves', { ...SIGNED, outputs: [paying(999_099n)] }],
  ['takes no fee from the amount', { ...SIGNED, outputs: [paying(1_000_000n)] }],
  ['pays more', { ...SIGNED, outputs: [paying(2_000_000n)] }],
  ['pays somebody else', { ...SIGNED, outputs: [CHANGE] }],
  ['pays somebody else first', { ...SIGNED, outputs: [CHANGE, paying(999_500n)] }],
  ['pays a third', { ...SIGNED, outputs: [paying(999_500n), CHANGE, CHANGE] }],
  ['pays nobody', { ...SIGNED, outputs: [] }],
  ['may not be replaced', { ...SIGNED, sequences: [SEQUENCE_REPLACEABLE, 0xfffffffe] }],
  ['waits for a height', { ...SIGNED, lockTime: 800_000 }],
])('is not the payout where it %s', (_, payment) => {
  expect(mayPayCoins(PAYOUT, '0014aa', payment)).toBe(false)
})

test('an account pays the amount less a fee of nothing to the highest', () => {
  const paid = [999_099n, 999_100n, 1_000_000n, 1_000_001n]
  expect(paid.map((value) => isWithinFee(PAYOUT, value))).toEqual([false, true, true, false])
})

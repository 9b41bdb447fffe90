import type { Balance } from '../api/types.ts'
import { coinAmount, isMissent } from './money.ts'

/** Whether there is anything in a coin. */
export const isHeld = ({ available, pending, suspense, reserved, shortfall }: Balance): boolean =>
  [available, pending, suspense, reserved, shortfall].some((amount) => amount !== '0')

/** What stands in a coin besides what is available, in words. */
export const besides = ({ asset, pending, suspense, reserved, shortfall }: Balance): string[] => {
  const named = (amount: string, words: string) =>
    amount === '0' ? [] : [`${coinAmount(amount.replace('-', ''), asset)} ${words}`]
  return [
    ...named(pending, 'pending'),
    ...named(suspense, isMissent(asset) ? 'cannot be paid out here' : 'to review'),
    ...named(reserved, 'reserved'),
    ...named(shortfall, 'missing, repaid by what comes next'),
  ]
}

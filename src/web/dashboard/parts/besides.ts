import type { Balance } from '../api/types.ts'
import { isMissent } from './money.ts'

/** What stands in a coin besides what is available, in words. */
export const besides = ({ asset, pending, suspense, reserved, shortfall }: Balance): string[] =>
  [
    pending === '0' ? '' : `${pending} pending`,
    suspense === '0' ? '' : `${suspense} ${isMissent(asset) ? 'cannot be paid out here' : 'to review'}`,
    reserved === '0' ? '' : `${reserved} reserved`,
    shortfall === '0' ? '' : `${shortfall.replace('-', '')} missing, repaid by what comes next`,
  ].filter(Boolean)

import type { Pool } from '../db/pool.ts'
import { countPayoutHolds } from '../db/queries/payout-holds.ts'
import { type Finding, notice } from './finding.ts'

/** Approved payouts that the signer holds back, by its own files. */
export async function inspectHeldPayouts(pool: Pool): Promise<Finding[]> {
  return (await countPayoutHolds(pool)).map(({ reason, count, until }) => {
    const when = until === null ? '' : `, the first until ${until.toISOString()}`
    return notice(`Payouts: the signer holds back ${count}${when}: ${WHY[reason] ?? reason}`)
  })
}

const WHY: { readonly [reason: string]: string } = {
  destination_new:
    'it has known their destinations for less than a day; if you do not know an address, remove it and find out who added it',
  payouts_in_hour: 'as many payouts were signed as an hour may have',
  value_in_hour: 'with them, a merchant would be above the limit of an hour in limits.json of the signer',
  value_in_day: 'with them, a merchant would be above the limit of a day in limits.json of the signer',
}

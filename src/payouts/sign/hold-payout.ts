import { ASSETS } from '../../core/assets.ts'
import { formatCoinAmount } from '../../core/money.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { isDestinationListed } from '../store/destination-sightings.ts'
import { savePayoutHold } from '../store/payout-holds.ts'
import { payableFrom } from './known-destinations.ts'
import { type Unsigned, WAITS } from './payout-signer.ts'
import type { SigningContext } from './signing-context.ts'
import { findOverLimit, LONGEST_WINDOW_MS } from './signing-limits.ts'

type Hold = { readonly reason: string; readonly until: Date | null; readonly why: string }

/**
 * Whether an approved payout is signed now, as far as the signer's own files say: they alone decide where money goes and
 * how much of it. Null: it is.
 */
export async function holdPayout(signer: SigningContext, payout: Payout): Promise<Unsigned | null> {
  if (payout.livemode && !(await isDestinationListed(signer.pool, payout)))
    return { kind: 'refused', code: 'destination_removed' }
  const hold = await findHold(signer, payout)
  if (hold === null) return null
  const { reason, until, why } = hold
  if (signer.told.isNew(payout.id, `held back: ${reason}`)) {
    const { id: payoutId, merchantId, asset, amount } = payout
    const worth = formatCoinAmount(amount, ASSETS[asset].decimals)
    signer.log.warn({ payoutId, merchantId, asset, amount: worth, reason, until }, why)
    await savePayoutHold(signer.pool, payout, { reason, until, now: signer.clock() })
  }
  return WAITS
}

async function findHold(
  { seen, journal, limits, clock }: SigningContext,
  payout: Payout,
): Promise<Hold | null> {
  const now = clock()
  const from = payout.livemode ? await payableFrom(seen, payout, now) : now
  if (from === null || from > now)
    return {
      reason: 'destination_new',
      until: from,
      why: 'a payout waits: the signer has not known its destination for a day',
    }
  const signed = journal.firstSignedWithin(LONGEST_WINDOW_MS, now.getTime(), payout.livemode)
  const over = findOverLimit(limits, payout, signed, now.getTime())
  return over === null ? null : { ...over, why: WHY[over.reason] }
}

const WHY = {
  payouts_in_hour: 'as many payouts were signed as an hour may have; this one waits',
  value_in_hour: "a payout waits: with it, the merchant's payouts of an hour would be above limits.json",
  value_in_day: "a payout waits: with it, the merchant's payouts of a day would be above limits.json",
} as const

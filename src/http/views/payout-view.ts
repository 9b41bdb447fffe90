import { createHash } from 'node:crypto'
import { ASSETS, type AssetId } from '../../core/assets.ts'
import { formatCoinAmount } from '../../core/money.ts'
import type { Payout } from '../../core/payout/payout.ts'
import { renderPayout } from '../../core/payout/render.ts'
import type { PayoutDecided } from '../../payouts/advance-payout.ts'
import type { PayoutRequested } from '../../payouts/request-payout.ts'
import type { PayoutDestination } from '../../payouts/store/payout-destinations.ts'
import { ApiProblem } from '../api/problem.ts'
import type { RouteDeps } from '../api/route.ts'

export function payoutDestinationViewOf(destination: PayoutDestination) {
  const { id, livemode, asset, address, name } = destination
  return {
    id,
    object: 'payout_destination' as const,
    livemode,
    asset,
    address,
    name,
    usable_at: destination.usableAt.toISOString(),
    digest: createHash('sha256')
      .update(`paylink payout destination 1\n${asset}\n${livemode ? 'live' : 'test'}\n${address}\n`)
      .digest('hex'),
    created_at: destination.createdAt.toISOString(),
  }
}

/** The payout after a decision, or the problem that says why there is none. */
export function decidedPayoutView(deps: RouteDeps, decided: PayoutDecided): ReturnType<typeof renderPayout> {
  switch (decided.kind) {
    case 'not_found':
      throw new ApiProblem('not_found')
    case 'not_open':
      throw new ApiProblem('payout_not_open')
    case 'own_request':
      throw new ApiProblem('approver_is_requester')
    case 'destination_removed':
      throw new ApiProblem('destination_not_usable')
    case 'over_limit':
      throw new ApiProblem('payout_limit_exceeded')
    case 'decided':
      return announcePayout(deps, decided)
  }
}

/** The payout that was asked for, or the problem that says why there is none. */
export function payoutOf(requested: PayoutRequested): Payout {
  switch (requested.kind) {
    case 'requested':
      return requested.payout
    case 'not_found':
      throw new ApiProblem('not_found', { param: 'destination_id' })
    case 'invalid':
      throw new ApiProblem('parameter_invalid', requested)
    case 'too_small':
      throw new ApiProblem('payout_too_small', {
        param: 'amount',
        message: `At the network's fees of the moment a payout must be at least ${coins(requested)}.`,
      })
    case 'dust_remainder':
      throw new ApiProblem('payout_too_small', {
        param: 'amount',
        message: `It would leave dust, which cannot be sent by itself: pay out all that is available, or leave at least ${coins(requested)}.`,
      })
    case 'not_usable':
      throw new ApiProblem('destination_not_usable', { param: 'destination_id' })
    case 'not_covered':
      throw new ApiProblem('balance_insufficient', { param: 'amount' })
    case 'over_limit':
      throw new ApiProblem('payout_limit_exceeded', { param: 'amount' })
    case 'unavailable':
      throw new ApiProblem('payout_unavailable')
  }
}

const coins = ({ asset, minimum }: { asset: AssetId; minimum: bigint }): string =>
  `${formatCoinAmount(minimum, ASSETS[asset].decimals)} ${ASSETS[asset].symbol}`

/** What a payout would come to, of one that was tried and not made. */
export function payoutQuoteViewOf(payout: Payout) {
  const { livemode, asset, amount, network_fee, net_amount, destination_id, destination } =
    renderPayout(payout)
  return {
    object: 'payout_quote' as const,
    livemode,
    asset,
    amount,
    network_fee,
    network_fee_max: formatCoinAmount(payout.networkFeeMax, ASSETS[asset].decimals),
    net_amount,
    destination_id,
    destination,
  }
}

/** Wakes who delivers its event, and shows it. */
function announcePayout(
  deps: RouteDeps,
  { payout, deliveries }: { readonly payout: Payout; readonly deliveries: number },
): ReturnType<typeof renderPayout> {
  if (deliveries > 0) deps.notifier.deliveriesWaiting()
  return renderPayout(payout)
}

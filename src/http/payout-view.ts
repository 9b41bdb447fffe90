import { createHash } from 'node:crypto'
import type { Payout } from '../core/payout/payout.ts'
import { renderPayout } from '../core/payout/render.ts'
import type { PayoutDestination } from '../db/queries/payout-destinations.ts'
import type { PayoutDecided } from '../flows/decide-payout.ts'
import { ApiProblem } from './problem.ts'
import type { RouteDeps } from './route.ts'

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
    case 'decided':
      return tellPayout(deps, decided)
  }
}

/** Wakes who delivers its event, and shows it. */
export function tellPayout(
  deps: RouteDeps,
  { payout, deliveries }: { readonly payout: Payout; readonly deliveries: number },
): ReturnType<typeof renderPayout> {
  if (deliveries > 0) deps.notifier.deliveriesWaiting()
  return renderPayout(payout)
}

import { ASSETS } from '../assets.ts'
import { isoTimeOrNull } from '../iso-time.ts'
import { formatCoinAmount } from '../money.ts'
import { netAmountOf, type Payout } from './payout.ts'

/** A payout as the API shows it; its events carry exactly this. */
export function renderPayout(payout: Payout) {
  const coins = (units: bigint) => formatCoinAmount(units, ASSETS[payout.asset].decimals)
  return {
    id: payout.id,
    object: 'payout' as const,
    livemode: payout.livemode,
    status: payout.status,
    asset: payout.asset,
    amount: coins(payout.amount),
    network_fee: coins(payout.networkFee),
    net_amount: coins(netAmountOf(payout)),
    destination_id: payout.destinationId,
    destination: payout.destination,
    requested_by: payout.requestedBy,
    approved_by: payout.approvedBy,
    txid: payout.txid,
    failure_code: payout.failureCode,
    created_at: new Date(payout.createdAtMs).toISOString(),
    approved_at: isoTimeOrNull(payout.approvedAtMs),
    submitted_at: isoTimeOrNull(payout.submittedAtMs),
    confirmed_at: isoTimeOrNull(payout.confirmedAtMs),
  }
}

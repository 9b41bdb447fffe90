import { netAmountOf, type Payout } from '../payout/payout.ts'
import type { LedgerAccount } from './deposit.ts'

/** A ledger transfer of a payout; its id makes posting it twice impossible. */
export type PayoutTransfer = {
  readonly id: string
  readonly kind: 'payout' | 'payout_return' | 'payout_sent' | 'network_fee'
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  readonly amount: bigint
}

export const reserveTransferId = (payoutId: string): string => `payout:${payoutId}:reserve`

/**
 * The ledger transfers of one move of a payout. What was set aside goes out as two: what the destination gets, and
 * the network's fee. `reserved` is what the ledger itself says was set aside.
 */
export function payoutTransfers(
  payout: Payout,
  move: 'reserve' | 'return' | 'settle',
  reserved: bigint,
): readonly PayoutTransfer[] {
  const name = `payout:${payout.id}`
  switch (move) {
    case 'reserve':
      return [
        {
          id: reserveTransferId(payout.id),
          kind: 'payout',
          from: 'available',
          to: 'reserved',
          amount: reserved,
        },
      ]
    case 'return':
      return [
        { id: `${name}:return`, kind: 'payout_return', from: 'reserved', to: 'available', amount: reserved },
      ]
    case 'settle': {
      const sent: PayoutTransfer = {
        id: `${name}:sent`,
        kind: 'payout_sent',
        from: 'reserved',
        to: 'chain',
        amount: netAmountOf(payout),
      }
      const fee: PayoutTransfer = {
        id: `${name}:fee`,
        kind: 'network_fee',
        from: 'reserved',
        to: 'chain',
        amount: payout.networkFee,
      }
      if (sent.amount + fee.amount !== reserved) {
        throw new Error(`payout ${payout.id} sends another amount than was set aside`)
      }
      return fee.amount === 0n ? [sent] : [sent, fee]
    }
  }
}

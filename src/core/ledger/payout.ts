import { netAmountOf, type Payout, PayoutContradicted, type PayoutSource } from '../payout/payout.ts'
import type { LedgerAccount } from './deposit.ts'

/** A ledger transfer of a payout; its id makes posting it twice impossible. */
export type PayoutTransfer = {
  readonly id: string
  readonly kind: 'payout' | 'payout_return' | 'payout_sent' | 'network_fee'
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  readonly amount: bigint
}

/** Where the ledger keeps what is set aside from each source. */
export const RESERVE_ACCOUNTS = {
  available: 'reserved',
  fees: 'fees_reserved',
} as const satisfies { readonly [source in PayoutSource]: LedgerAccount }

export const reserveTransferId = (payoutId: string): string => `payout:${payoutId}:reserve`

/**
 * The ledger transfers of one move of a payout. What was set aside goes out as two: what the destination gets, and
 * the network's fee. `reserved` is how much the ledger itself says was set aside, and of what.
 */
export function payoutTransfers(
  payout: Payout,
  move: 'reserve' | 'return' | 'settle',
  reserved: { readonly source: PayoutSource; readonly amount: bigint },
): readonly PayoutTransfer[] {
  const name = `payout:${payout.id}`
  const { source, amount } = reserved
  const aside = RESERVE_ACCOUNTS[source]
  switch (move) {
    case 'reserve':
      return [{ id: reserveTransferId(payout.id), kind: 'payout', from: source, to: aside, amount }]
    case 'return':
      return [{ id: `${name}:return`, kind: 'payout_return', from: aside, to: source, amount }]
    case 'settle': {
      const sent: PayoutTransfer = {
        id: `${name}:sent`,
        kind: 'payout_sent',
        from: aside,
        to: 'chain',
        amount: netAmountOf(payout),
      }
      const fee: PayoutTransfer = {
        id: `${name}:fee`,
        kind: 'network_fee',
        from: aside,
        to: 'chain',
        amount: payout.networkFee,
      }
      if (sent.amount + fee.amount !== amount) {
        throw new PayoutContradicted(`payout ${payout.id} sends another amount than was set aside`)
      }
      return fee.amount === 0n ? [sent] : [sent, fee]
    }
  }
}

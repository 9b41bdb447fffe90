import type { PaymentAsset } from '../../core/assets.ts'
import type { RateEvidence } from '../../core/invoice/types.ts'
import type { LedgerAccount, OutsideAccount } from '../../core/ledger/deposit.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { HOME_COLUMNS, HOME_JOINS, type HomeRow, REFERENCE_COLUMN, REFERENCE_JOIN } from './currency-rates.ts'

/** One entry of a merchant's own account, with the other side of its transfer. */
export type BookRow = HomeRow & {
  readonly position: number
  readonly account: Exclude<LedgerAccount, OutsideAccount>
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly balance_after: bigint
  readonly other_account: LedgerAccount
  /** Null for an account of the outside. */
  readonly other_position: number | null
  readonly transfer_id: string
  readonly kind: string
  readonly usd_cents: bigint | null
  readonly created_at: Date
  /** Or the deposit account's. */
  readonly invoice_id: string | null
  readonly deposit_id: string | null
  readonly deposit_rate: RateEvidence | null
  readonly payout_id: string | null
  readonly payout_fee: bigint | null
  /** Of a deposit or of what a payout sent; null where several transactions are one payment. */
  readonly txid: string | null
  /** The shop's own for the invoice, or the customer. */
  readonly reference: string | null
}

/** Entries after `after`, in the order in which they were posted. Served by ledger_entry_in_order. */
export async function listBookRows(
  tx: Tx,
  tenant: Tenant,
  page: { readonly after: number; readonly limit: number },
): Promise<readonly BookRow[]> {
  const { rows } = await tx.query<BookRow>(
    `select e.position, e.account, e.asset, e.amount, e.balance_after, o.account as other_account,
       o.position as other_position, e.transfer_id, t.kind, t.usd_cents, t.created_at, t.invoice_id, t.payout_id,
       p.network_fee as payout_fee, coalesce(d.txid, p.txid) as txid,
       x.id as deposit_id, x.rate as deposit_rate, ${REFERENCE_COLUMN}, ${HOME_COLUMNS}
     from ledger_entry e
     join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
     join ledger_entry o on o.merchant_id = e.merchant_id and o.transfer_id = e.transfer_id
       and o.asset = e.asset and o.account <> e.account
     ${HOME_JOINS}
     ${REFERENCE_JOIN}
     left join payout p on p.merchant_id = t.merchant_id and p.id = t.payout_id
       and t.kind in ('payout_sent', 'network_fee')
     left join transfer d on d.merchant_id = t.merchant_id and d.id = t.payment_id
       and t.kind = 'deposit' and d.transfers = 1 and not d.is_block_sum
     left join deposit x on x.merchant_id = t.merchant_id and x.id = 'dep_' || substr(t.payment_id, 5)
     where e.merchant_id = $1 and e.livemode = $2 and e.position > $3
     order by e.position limit $4`,
    [tenant.merchantId, tenant.livemode, page.after, page.limit],
  )
  return rows
}

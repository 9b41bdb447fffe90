import type { AssetId, PaymentAsset } from '../../core/assets.ts'
import type { Payout } from '../../core/payout/payout.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** How the operator's fees of one mode and asset stand, over all merchants, base units. */
type FeeTotal = {
  readonly livemode: boolean
  readonly asset: PaymentAsset
  /** What could be sent, and of how many merchants' payments. */
  readonly collected: bigint
  readonly merchants: number
  /** Set aside for payouts that are under way. */
  readonly reserved: bigint
  /** Sent before the chain took the payments back. */
  readonly owed: bigint
}

/** Where there are fees, or were. Reads every balance of them, by ledger_balance_outside. */
export async function listFeeTotals(db: Queryable): Promise<FeeTotal[]> {
  const { rows } = await db.query<FeeTotal>(
    `select livemode, asset,
       coalesce(sum(balance) filter (where account = 'fees' and balance > 0), 0) as collected,
       count(*) filter (where account = 'fees' and balance > 0)::int as merchants,
       coalesce(sum(balance) filter (where account = 'fees_reserved'), 0) as reserved,
       coalesce(-sum(balance) filter (where account = 'fees' and balance < 0), 0) as owed
     from ledger_balance where account in ('fees', 'fees_reserved') group by livemode, asset order by livemode desc, asset`,
  )
  return rows
}

/** Merchants with fees of an asset in a mode, after one of them in the order of their ids. Served by ledger_balance_outside. */
export async function listMerchantsWithFees(
  db: Queryable,
  of: { readonly livemode: boolean; readonly asset: AssetId; readonly after: string; readonly limit: number },
): Promise<string[]> {
  const { rows } = await db.query<{ merchant_id: string }>(
    `select merchant_id from ledger_balance
     where livemode = $1 and asset = $2 and account = 'fees' and balance > 0 and merchant_id > $3
     order by merchant_id limit $4`,
    [of.livemode, of.asset, of.after, of.limit],
  )
  return rows.map((row) => row.merchant_id)
}

/** Whose coins a payout of fees takes, by its id; null where it is none. Served by payout_of_fees. */
export async function findFeePayoutTenant(db: Queryable, payoutId: string): Promise<Tenant | null> {
  const { rows } = await db.query<Tenant>(
    `select merchant_id as "merchantId", livemode from payout where id = $1 and source = 'fees'`,
    [payoutId],
  )
  return rows[0] ?? null
}

/** A payout of fees, for the operator's eyes. */
export type FeePayout = Pick<
  Payout,
  'id' | 'merchantId' | 'livemode' | 'status' | 'asset' | 'amount' | 'networkFee' | 'destination'
> &
  Pick<Payout, 'requestedBy' | 'approvedBy' | 'txid' | 'failureCode'>

/** Payouts of fees, the newest first. Served by payout_of_fees. */
export async function listFeePayouts(db: Queryable, limit: number): Promise<FeePayout[]> {
  const { rows } = await db.query<FeePayout>(
    `select id, merchant_id as "merchantId", livemode, status, asset, amount, network_fee as "networkFee", destination,
       requested_by as "requestedBy", approved_by as "approvedBy", txid, failure_code as "failureCode"
     from payout where source = 'fees' order by id desc limit $1`,
    [limit],
  )
  return rows
}

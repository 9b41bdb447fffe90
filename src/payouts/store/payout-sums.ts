import type { AssetId } from '../../core/assets.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** What the merchant asked for since then in one asset and neither rejected nor failed, base units. Served by payout_of_a_day. */
export async function sumRequestedSince(
  tx: Tx,
  tenant: Tenant,
  asset: AssetId,
  since: Date,
): Promise<bigint> {
  const { rows } = await tx.query<{ total: bigint }>(
    `select coalesce(sum(amount), 0) as total from payout
     where merchant_id = $1 and livemode = $2 and asset = $3 and created_at > $4 and source = 'available'
       and status not in ('rejected', 'failed')`,
    [tenant.merchantId, tenant.livemode, asset, since],
  )
  return rows[0]?.total ?? 0n
}

/** What the merchant approved since then in one asset and did not fail, base units. Served by payout_approved_of_a_day. */
export async function sumApprovedSince(tx: Tx, tenant: Tenant, asset: AssetId, since: Date): Promise<bigint> {
  const { rows } = await tx.query<{ total: bigint }>(
    `select coalesce(sum(amount), 0) as total from payout
     where merchant_id = $1 and livemode = $2 and asset = $3 and approved_at > $4 and source = 'available'
       and status <> 'failed'`,
    [tenant.merchantId, tenant.livemode, asset, since],
  )
  return rows[0]?.total ?? 0n
}

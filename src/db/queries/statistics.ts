import type { AssetId } from '../../core/assets.ts'
import type { Tenant, Tx } from '../transaction.ts'

type DayRow = {
  readonly day: string
  readonly opened: number
  readonly paid: number
  readonly paidCents: bigint
  readonly exceptions: number
}

/**
 * Each day's invoices, in UTC: how many were opened, paid and put to review, and what the paid ones were worth.
 * A range of invoice_by_mode, as long as the days asked for.
 */
export async function statisticsByDay(tx: Tx, tenant: Tenant, firstId: string): Promise<DayRow[]> {
  const { rows } = await tx.query<{
    day: string
    opened: number
    paid: number
    paid_cents: bigint
    exceptions: number
  }>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
       count(*) as opened,
       count(*) filter (where status in ('paid', 'overpaid')) as paid,
       coalesce(sum(usd_cents) filter (where status in ('paid', 'overpaid')), 0) as paid_cents,
       count(*) filter (where status in ('partially_paid', 'overpaid', 'manual_review')) as exceptions
     from invoice where merchant_id = $1 and livemode = $2 and id >= $3 group by 1 order by 1`,
    [tenant.merchantId, tenant.livemode, firstId],
  )
  return rows.map((row) => ({
    day: row.day,
    opened: row.opened,
    paid: row.paid,
    paidCents: row.paid_cents,
    exceptions: row.exceptions,
  }))
}

/** What was paid in which coin, and the median time from opening to paid. The same range. */
export async function statisticsByAsset(
  tx: Tx,
  tenant: Tenant,
  firstId: string,
): Promise<{ asset: AssetId; paid: number; paidCents: bigint; medianSeconds: number }[]> {
  const { rows } = await tx.query<{ asset: AssetId; paid: number; paid_cents: bigint; median: number }>(
    `select asset, count(*) as paid, coalesce(sum(usd_cents), 0) as paid_cents,
       percentile_cont(0.5) within group (order by extract(epoch from paid_at - created_at)::double precision) as median
     from invoice
     where merchant_id = $1 and livemode = $2 and id >= $3 and status in ('paid', 'overpaid') and paid_at is not null
     group by asset order by asset`,
    [tenant.merchantId, tenant.livemode, firstId],
  )
  return rows.map(({ asset, paid, paid_cents: paidCents, median }) => ({
    asset,
    paid,
    paidCents,
    medianSeconds: Math.round(median),
  }))
}

/** How webhook attempts went. Partitions of the days asked for. */
export async function statisticsOfAttempts(
  tx: Tx,
  tenant: Tenant,
  since: Date,
): Promise<{ attempts: number; ok: number }> {
  const { rows } = await tx.query<{ attempts: number; ok: number }>(
    `select count(*) as attempts, count(*) filter (where code = 'ok') as ok from attempt
     where merchant_id = $1 and livemode = $2 and created_at >= $3`,
    [tenant.merchantId, tenant.livemode, since],
  )
  return rows[0] ?? { attempts: 0, ok: 0 }
}

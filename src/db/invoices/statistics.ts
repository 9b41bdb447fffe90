import type { AssetId, PaymentAsset } from '../../core/assets.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** What a day brought in one coin: base units, and what they were worth when they came. Below zero where the chain took back more. */
type ReceivedRow = {
  readonly day: string
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly usdCents: bigint
}

/** What became final on each day in UTC, less what the chain took back on it. By the primary key, some rows a day. */
export async function receivedByDay(tx: Tx, tenant: Tenant, firstDay: string): Promise<ReceivedRow[]> {
  const { rows } = await tx.query<ReceivedRow>(
    `select to_char(day, 'YYYY-MM-DD') as day, asset, amount, usd_cents as "usdCents" from received_by_day
     where merchant_id = $1 and livemode = $2 and day >= $3::date order by day, asset`,
    [tenant.merchantId, tenant.livemode, firstDay],
  )
  return rows
}

/** A day in UTC: `2026-11-22`, the first id of its invoices, and the first of the next day's. */
type Day = { readonly day: string; readonly firstId: string; readonly nextId: string }

/**
 * How many invoices were created on each day, how many of those are paid by now, and how many are exceptions. Counted
 * on invoice_by_mode and invoice_by_status alone, without their rows.
 */
export async function countInvoicesByDay(
  tx: Tx,
  tenant: Tenant,
  days: readonly Day[],
): Promise<
  { readonly day: string; readonly created: number; readonly paid: number; readonly exceptions: number }[]
> {
  const { rows } = await tx.query<{ day: string; created: number; paid: number; exceptions: number }>(
    `select asked.day, created.count as created, paid.count as paid, exceptions.count as exceptions
     from unnest($3::text[], $4::text[], $5::text[]) as asked (day, first_id, next_id)
     cross join lateral (
       select count(*) from invoice
       where merchant_id = $1 and livemode = $2 and id >= first_id and id < next_id) created
     cross join lateral (
       select count(*) from invoice
       where merchant_id = $1 and livemode = $2 and status in ('paid', 'overpaid')
         and id >= first_id and id < next_id) paid
     cross join lateral (
       select count(*) from invoice
       where merchant_id = $1 and livemode = $2 and status in ('partially_paid', 'overpaid', 'manual_review')
         and id >= first_id and id < next_id) exceptions
     where created.count > 0 order by asked.day`,
    [
      tenant.merchantId,
      tenant.livemode,
      days.map(({ day }) => day),
      days.map(({ firstId }) => firstId),
      days.map(({ nextId }) => nextId),
    ],
  )
  return rows
}

/** A median of more would be the same, and take longer. */
const NEWEST_MAX = 10_000
const newest = (status: string): string => `(select * from invoice
  where merchant_id = $1 and livemode = $2 and status = '${status}' and id >= $3 order by id desc limit $4)`
const SETTLED = `(${newest('paid')} union all ${newest('overpaid')}) settled`

/**
 * The median time from creation to paid, in seconds, of the newest invoices that the money alone settled: how long a person
 * thought about the others says nothing of payments. On invoice_by_status.
 */
export async function medianTimesToPay(
  tx: Tx,
  tenant: Tenant,
  firstId: string,
): Promise<ReadonlyMap<PaymentAsset, number>> {
  const { rows } = await tx.query<{ asset: AssetId; median: number }>(
    `select asset,
       percentile_cont(0.5) within group (order by extract(epoch from paid_at - created_at)::double precision) as median
     from ${SETTLED}
     where accepted_at is null group by asset`,
    [tenant.merchantId, tenant.livemode, firstId, NEWEST_MAX],
  )
  return new Map(rows.map(({ asset, median }) => [asset, Math.round(median)]))
}

/** The median time from creation to paid of each day's invoices, of the same newest ones. On invoice_by_status. */
export async function medianTimesByDay(
  tx: Tx,
  tenant: Tenant,
  firstId: string,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await tx.query<{ day: string; median: number }>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
       percentile_cont(0.5) within group (order by extract(epoch from paid_at - created_at)::double precision) as median
     from ${SETTLED}
     where accepted_at is null and paid_at is not null group by 1`,
    [tenant.merchantId, tenant.livemode, firstId, NEWEST_MAX],
  )
  return new Map(rows.map(({ day, median }) => [day, Math.round(median)]))
}

/** How the newest webhook attempts since then went, by day. On the primary keys of the partitions of the days asked for. */
export async function attemptsByDay(
  tx: Tx,
  tenant: Tenant,
  since: Date,
): Promise<{ day: string; attempts: number; ok: number }[]> {
  const { rows } = await tx.query<{ day: string; attempts: number; ok: number }>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*) as attempts,
       count(*) filter (where code = 'ok') as ok from (
       select code, created_at from attempt where merchant_id = $1 and livemode = $2 and created_at >= $3
         and code <> 'superseded'
       order by id desc limit $4) newest group by 1`,
    [tenant.merchantId, tenant.livemode, since, NEWEST_MAX],
  )
  return rows
}

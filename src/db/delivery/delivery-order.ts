import type { QueueTx } from '../../postgres/transaction.ts'
import { deliveryId, LEASE_MS } from './deliveries.ts'

/**
 * The order of an invoice's events at endpoints in an older service's format. Its bodies have no number, so that a shop
 * becomes what came last. Paylink's own format has one, and no order.
 */

/** What settles an invoice. It is sent at all costs, and nothing from before it is worth sending any more. */
const SETTLED = `('invoice.paid', 'invoice.overpaid')`
/** An event that was not taken for so long holds up no later one: BTCPay itself gives up after 71 minutes. */
const HOLDS_UP_FOR = `interval '1 hour'`

/** Whether a later event of the same resource, which endpoint `w` gets too, is all that its shop has to know. By event_by_resource. */
const isSuperseded = (event: string): string => `(${event}.event_type not in ${SETTLED} and exists (
  select from event later
  where later.merchant_id = ${event}.merchant_id and later.resource_id = ${event}.resource_id
    and later.sequence > ${event}.sequence and w.subscribed_events && array[later.event_type, '*']
    and (later.event_type in ${SETTLED} or ${event}.created_at < now() - ${HOLDS_UP_FOR})))`

/** A lease that ends later than this is that of an outcome that waits to be recorded: nothing is being sent under it. */
const SENDING_UNTIL = `now() + ${LEASE_MS} * interval '1 millisecond'`

type Turn = {
  readonly id: string
  readonly superseded: boolean
  /** How long until the one that it waits for is due; null where it waits for none. */
  readonly waitMs: number | null
}

type Held = { readonly merchantId: string; readonly id: string }

/**
 * Of deliveries that are held under a lease, whose turn it is. One waits for all earlier ones of its invoice to its
 * endpoint that are still worth sending, and for any that is being sent. Asked after the claim's commit: of two workers
 * that claimed one each, the second to ask sees the other's. By the keys and event_by_resource.
 */
export async function readTurns(tx: QueueTx, leaseId: string, held: readonly Held[]): Promise<Turn[]> {
  const { rows } = await tx.query<{ id: string; superseded: boolean; wait_ms: number | null }>(
    `select d.id, ${isSuperseded('e')} as superseded, (
       select date_part('epoch', max(case when o.lease_id is null or o.due_at > ${SENDING_UNTIL} then greatest(o.due_at, now()) else now() end) - now())
         * 1000
       from event earlier cross join lateral (
         select o.lease_id, o.due_at from delivery o
         where o.merchant_id = earlier.merchant_id and o.id >= ${deliveryId('earlier.id', 'd.endpoint_id')}
           and o.id < ${deliveryId('earlier.id', 'd.endpoint_id')} || '\`' offset 0) o
       where earlier.merchant_id = e.merchant_id and earlier.resource_id = e.resource_id
         and earlier.sequence < e.sequence
         and (o.lease_id <> $1 and o.due_at > now() and o.due_at <= ${SENDING_UNTIL} or not ${isSuperseded('earlier')})) as wait_ms
     from unnest($2::text[], $3::text[]) as f (merchant_id, id)
     cross join lateral (
       select d.id, d.merchant_id, d.endpoint_id, d.event_id from delivery d
       where d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = $1 offset 0) d
     cross join lateral (
       select e.merchant_id, e.resource_id, e.sequence, e.event_type, e.created_at from event e
       where e.merchant_id = d.merchant_id and e.id = d.event_id offset 0) e
     cross join lateral (
       select w.subscribed_events from webhook_endpoint w
       where w.merchant_id = d.merchant_id and w.id = d.endpoint_id offset 0) w`,
    [leaseId, held.map((one) => one.merchantId), held.map((one) => one.id)],
  )
  return rows.map((row) => ({ id: row.id, superseded: row.superseded, waitMs: row.wait_ms }))
}

/** Gives back deliveries whose turn has not come, due in so many milliseconds. By the key, fenced by the lease. */
export async function putBehind(
  tx: QueueTx,
  leaseId: string,
  waiting: readonly (Held & { readonly delayMs: number })[],
): Promise<void> {
  await tx.query(
    `update delivery d set attempt = d.attempt - 1, lease_id = null, due_at = now() + f.ms * interval '1 millisecond'
     from unnest($2::text[], $3::text[], $4::float8[]) as f (merchant_id, id, ms)
     where d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = $1`,
    [
      leaseId,
      waiting.map((one) => one.merchantId),
      waiting.map((one) => one.id),
      waiting.map((one) => one.delayMs),
    ],
  )
}

/** Ends deliveries that are not worth sending any more, and records why. By the key, fenced by the lease. */
export async function endSuperseded(
  tx: QueueTx,
  leaseId: string,
  ended: readonly (Held & { readonly attemptId: string })[],
): Promise<void> {
  await tx.query(
    `with gone as (
       delete from delivery d using unnest($2::text[], $3::text[], $4::text[]) as f (merchant_id, id, attempt_id)
       where d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = $1
       returning d.merchant_id, f.attempt_id, d.livemode, d.event_id, d.endpoint_id, d.attempt)
     insert into attempt
       (merchant_id, id, livemode, event_id, endpoint_id, number, http_status, code, duration_ms, created_at)
     select merchant_id, attempt_id, livemode, event_id, endpoint_id, attempt, null, 'superseded', 0, now() from gone`,
    [
      leaseId,
      ended.map((one) => one.merchantId),
      ended.map((one) => one.id),
      ended.map((one) => one.attemptId),
    ],
  )
}

import { GIVE_UP_AFTER_MS } from '../../core/endpoint/backoff.ts'
import type { QueueTx, Tenant, Tx } from '../../postgres/transaction.ts'
import { SECRETS_MAX } from './endpoint-secrets.ts'

/** A claimed delivery is ours for this long; then anybody may send it again. */
export const LEASE_MS = 30_000

/** A delivery on its way out, with all it takes to send it. */
export type ClaimedDelivery = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly endpointId: string
  readonly eventId: string
  /** 1, 2, 3…: the try that begins now. */
  readonly attempt: number
  readonly giveUpAtMs: number
  /** The try before this one was never recorded: whoever made it is gone. */
  readonly lapsed: boolean
  readonly url: string
  /** The format of the endpoint's bodies; `paylink` for the stored body as it is. */
  readonly format: string
  readonly body: Buffer
  readonly schemaVersion: number
  /** How often in a row the endpoint has failed, whoever tried. */
  readonly failures: number
  /** Sealed secrets that are valid now, the current one first. */
  readonly secrets: readonly { readonly id: string; readonly sealed: Buffer }[]
}

/** Of an endpoint `w`: events may be sent to it. */
export const ELIGIBLE = `w.status = 'enabled' and w.verified_at is not null and w.removed_at is null`

/**
 * Whether a delivery claimed some time ago may still be sent: the lease is held with time to spare for one
 * request, the endpoint is eligible, and its URL and its valid secrets are those of the claim. By the keys and
 * endpoint_secret_by_endpoint.
 */
export async function isStillSendable(
  tx: QueueTx,
  delivery: Pick<ClaimedDelivery, 'merchantId' | 'id' | 'url' | 'secrets'>,
  leaseId: string,
  spareMs: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from delivery d
     join webhook_endpoint w on w.merchant_id = d.merchant_id and w.id = d.endpoint_id
     where d.merchant_id = $1 and d.id = $2 and d.lease_id = $3
       and d.due_at > clock_timestamp() + $4 * interval '1 millisecond' and ${ELIGIBLE} and w.url = $6
       and $5::text[] = array(
         select k.id from endpoint_secret k
         where k.merchant_id = d.merchant_id and k.endpoint_id = d.endpoint_id
           and (k.valid_until is null or k.valid_until > clock_timestamp())
         order by k.valid_until desc nulls first, k.id limit ${SECRETS_MAX})`,
    [
      delivery.merchantId,
      delivery.id,
      leaseId,
      spareMs,
      delivery.secrets.map((secret) => secret.id),
      delivery.url,
    ],
  )
  return rowCount === 1
}

/**
 * Gives back deliveries that were claimed and not sent, each to its place in its queue. By the key, fenced by the
 * lease.
 */
export async function releaseDeliveries(
  tx: QueueTx,
  held: readonly { merchantId: string; id: string; leaseId: string }[],
): Promise<number> {
  const { rowCount } = await tx.query(
    `update delivery d set attempt = d.attempt - 1, due_at = d.was_due_at, lease_id = null
     from unnest($1::text[], $2::text[], $3::uuid[]) as f (merchant_id, id, lease_id)
     where d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = f.lease_id`,
    [held.map((row) => row.merchantId), held.map((row) => row.id), held.map((row) => row.leaseId)],
  )
  return rowCount ?? 0
}

/**
 * The id of the delivery that an event's commit queues to an endpoint. Those that are requested later begin with it, so
 * that all of an event's deliveries to an endpoint are found by the key.
 */
export const deliveryId = (event: string, endpoint: string): string =>
  `'dlv_' || substr(${event}, 5) || '_' || substr(${endpoint}, 4)`

/**
 * New deliveries of events that exist, due at once; with `first`, before all that is due to the endpoint. Each is a
 * row of its own, with an id that ends as its `uniqueId`, a new id, does: a replay is never mistaken for a repeat of the
 * delivery that may still be under way. Returns their ids, in no order. Served by delivery_lane_order.
 */
export async function insertDeliveries(
  tx: Tx,
  tenant: Tenant,
  endpointId: string,
  deliveries: readonly { uniqueId: string; eventId: string }[],
  first = false,
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
     select $1, ${deliveryId('d.event_id', '$3')} || '_' || substr(d.unique_id, 5), $2, $3, d.event_id,
       least(now(), ahead.due_at), now() + $6 * interval '1 millisecond'
     from unnest($4::text[], $5::text[]) as d (unique_id, event_id)
     left join (
       select o.due_at - interval '1 millisecond' as due_at from delivery o
       where $7 and o.merchant_id = $1 and o.endpoint_id = $3 order by o.due_at limit 1) ahead on true
     returning id`,
    [
      tenant.merchantId,
      tenant.livemode,
      endpointId,
      deliveries.map((delivery) => delivery.uniqueId),
      deliveries.map((delivery) => delivery.eventId),
      GIVE_UP_AFTER_MS,
      first,
    ],
  )
  return rows.map((row) => row.id)
}

/**
 * Whether a try that began at `moment` or before may still be under way: its lease is held. A lease's time is its
 * end less its length. Served by delivery_lane_order.
 */
export async function isSendingSince(
  tx: Tx,
  tenant: Tenant,
  endpointId: string,
  moment: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from delivery
     where merchant_id = $1 and endpoint_id = $2 and lease_id is not null
       and due_at > clock_timestamp() and due_at <= $3::timestamptz + ${LEASE_MS} * interval '1 millisecond'
     limit 1`,
    [tenant.merchantId, endpointId, moment],
  )
  return rowCount === 1
}

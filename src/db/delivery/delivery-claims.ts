import type { QueueTx } from '../../postgres/transaction.ts'
import { type ClaimedDelivery, ELIGIBLE, LEASE_MS } from './deliveries.ts'
import { SECRETS_MAX } from './endpoint-secrets.ts'

/** Rows one claim may take from one endpoint's queue, however many queues share it; where there are few, each has more. */
const ROWS_PER_QUEUE_MIN = 4
/** Queues one claim looks at; the next claim goes on from there. */
const QUEUES_PER_CLAIM_MAX = 256

type ReceiverRow = {
  readonly endpointId: string
  readonly url: string
  readonly format: string
  readonly failures: number
  readonly secrets: readonly { readonly id: string; readonly sealed: string }[]
}

/** The first row of a claim's result is about the claim itself; each of the others is a delivery. */
type ClaimRow =
  | {
      readonly claim: {
        readonly databaseNowMs: number
        readonly queues: number
        readonly lastQueue: string | null
        readonly receivers: readonly ReceiverRow[]
      }
    }
  | {
      readonly claim: null
      readonly merchant_id: string
      readonly id: string
      readonly livemode: boolean
      readonly endpoint_id: string
      readonly event_id: string
      readonly attempt: number
      readonly give_up_at_ms: number
      readonly lapsed: boolean
      readonly body: string
      readonly schema_version: number
    }

type Claim = {
  readonly deliveries: readonly ClaimedDelivery[]
  readonly databaseNowMs: number
}

type QueueClaim = Claim & {
  /** Where the next claim goes on; '' when the last queue was reached. */
  readonly nextCursor: string
}

/**
 * The end of both claims: takes the rows whose ctids are in `picked`. By an array of ctids, never by a join with
 * the CTE, which the planner may turn into a scan of the whole table. The rows are locked by `picked`, so that
 * their ctids stand.
 */
const TAKE_PICKED = `
  claimed as (
    update delivery d
    set attempt = d.attempt + 1, due_at = now() + ${LEASE_MS} * interval '1 millisecond', lease_id = $1,
      was_due_at = d.due_at, lapsed = d.lease_id is not null
    where d.ctid = any (array(select p.ctid from picked p))
    returning d.merchant_id, d.id, d.livemode, d.endpoint_id, d.event_id, d.attempt, d.give_up_at, d.lapsed)`

/**
 * URL, payload format, secrets and failures in a row, once for each endpoint of the claim.
 * Secrets are read here, at every claim, and cached nowhere: a rotation counts from its commit. Served by the
 * endpoint's key and endpoint_secret_by_endpoint.
 */
const RECEIVERS = `
  receiver as (
    select one.endpoint_id as "endpointId", w.url, w.format, s.secrets, coalesce((
      select b.failures from delivery_lane b
      where b.merchant_id = one.merchant_id and b.endpoint_id = one.endpoint_id), 0) as failures
    from (select distinct merchant_id, endpoint_id from picked) one
    cross join lateral (
      select w.url, w.format from webhook_endpoint w
      where w.merchant_id = one.merchant_id and w.id = one.endpoint_id offset 0) w
    cross join lateral (
      select coalesce(
        json_agg(json_build_object('id', k.id, 'sealed', encode(k.secret_sealed, 'hex'))
          order by k.valid_until desc nulls first, k.id), '[]') as secrets
      from (
        select k.id, k.secret_sealed, k.valid_until from endpoint_secret k
        where k.merchant_id = one.merchant_id and k.endpoint_id = one.endpoint_id
          and (k.valid_until is null or k.valid_until > clock_timestamp())
        order by k.valid_until desc nulls first, k.id limit ${SECRETS_MAX}) k) s)`

/**
 * The result of both claims, and how many `queues` were looked at: no CTE is joined with another, since a plan that was made while the
 * queue was empty would compare each row of one with each of the other. A body comes as text and is bytes again on our
 * side: it is JSON, whose UTF-8 stands for the same bytes both ways (RFC 8259 §8.1). As bytea it would come in
 * hexadecimal, twice as long. Served by the event's key.
 */
const CLAIM_RESULT = (queues: { count: string; last: string }): string => `
  select json_build_object(
      'databaseNowMs', date_part('epoch', clock_timestamp()) * 1000,
      'queues', ${queues.count}, 'lastQueue', ${queues.last},
      'receivers', coalesce((select json_agg(r) from receiver r), '[]')) as claim,
    null as merchant_id, null as id, null as livemode, null as endpoint_id, null as event_id, null as attempt,
    null as give_up_at_ms, null as lapsed, null as body, null as schema_version
  union all
  select null, c.merchant_id, c.id, c.livemode, c.endpoint_id, c.event_id, c.attempt,
    date_part('epoch', c.give_up_at) * 1000, c.lapsed, convert_from(e.body, 'UTF8'), e.schema_version
  from claimed c
  cross join lateral (
    select e.body, e.schema_version from event e
    where e.merchant_id = c.merchant_id and e.id = c.event_id offset 0) e`

/**
 * Claims due deliveries of endpoints that are not throttled, at most a few a queue, so that no endpoint's backlog stands before
 * another's. Queues are found by a loose scan of delivery_lane_order from `cursor` on, and each queue's rows by its
 * own range of the same index. `roomByQueue` gives queues that may take other than `rowsByDefault` rows, or none.
 */
export async function claimFromQueues(
  tx: QueueTx,
  input: {
    leaseId: string
    cursor: string
    rowsMax: number
    rowsByDefault: number
    roomByQueue: ReadonlyMap<string, number>
  },
): Promise<QueueClaim> {
  const { rows } = await tx.query<ClaimRow>(
    `with recursive queue as (
       (select merchant_id, endpoint_id, due_at, 1 as number
        from delivery where endpoint_id > $2 order by endpoint_id, due_at limit 1)
       union all
       select n.merchant_id, n.endpoint_id, n.due_at, queue.number + 1
       from queue cross join lateral (
         select d.merchant_id, d.endpoint_id, d.due_at
         from delivery d where d.endpoint_id > queue.endpoint_id
         order by d.endpoint_id, d.due_at limit 1) n
       where queue.number < ${QUEUES_PER_CLAIM_MAX}),
     ready as (
       select queue.endpoint_id, coalesce(room.rows, $4) as rows,
         greatest(${ROWS_PER_QUEUE_MIN}, $3 / count(*) over ()) as share
       from queue
       cross join lateral (
         select from webhook_endpoint w
         where w.merchant_id = queue.merchant_id and w.id = queue.endpoint_id and ${ELIGIBLE} offset 0) w
       left join unnest($5::text[], $6::int[]) as room (endpoint_id, rows) on room.endpoint_id = queue.endpoint_id
       where queue.due_at <= now() and coalesce(room.rows, $4) > 0 and not exists (
         select from delivery_lane b
         where b.merchant_id = queue.merchant_id and b.endpoint_id = queue.endpoint_id and b.next_at is not null)
       order by queue.endpoint_id),
     picked as materialized (
       select due.* from ready cross join lateral (
         select d.ctid, d.merchant_id, d.endpoint_id
         from delivery d
         where d.endpoint_id = ready.endpoint_id and d.due_at <= now()
         order by d.due_at limit least(ready.rows, ready.share)
         for update skip locked) due
       limit $3),
     ${TAKE_PICKED},
     ${RECEIVERS}
     ${CLAIM_RESULT({ count: '(select count(*) from queue)', last: '(select max(endpoint_id) from queue)' })}`,
    [
      input.leaseId,
      input.cursor,
      input.rowsMax,
      input.rowsByDefault,
      [...input.roomByQueue.keys()],
      [...input.roomByQueue.values()],
    ],
  )
  const { deliveries, databaseNowMs, queues, lastQueue } = toClaim(rows)
  const afterScan = queues < QUEUES_PER_CLAIM_MAX ? '' : (lastQueue ?? '')
  // A claim that was full stopped at its last row's queue, wherever the scan itself went.
  const stoppedAt = deliveries.length < input.rowsMax ? null : lastEndpointOf(deliveries)
  const atEnd = stoppedAt === null || stoppedAt === lastQueue
  return { deliveries, databaseNowMs, nextCursor: atEnd ? afterScan : stoppedAt }
}

/** Claims due deliveries of throttled endpoints, so many of each. Served by delivery_lane_order. */
export async function claimThrottled(
  tx: QueueTx,
  input: { leaseId: string; rowsByQueue: ReadonlyMap<string, number> },
): Promise<Claim> {
  const { rows } = await tx.query<ClaimRow>(
    `with picked as materialized (
       select due.* from unnest($2::text[], $3::int[]) as turn (endpoint_id, rows) cross join lateral (
         select d.ctid, d.merchant_id, d.endpoint_id
         from delivery d
         where d.endpoint_id = turn.endpoint_id and d.due_at <= now()
         order by d.due_at limit turn.rows
         for update skip locked) due),
     ${TAKE_PICKED},
     ${RECEIVERS}
     ${CLAIM_RESULT({ count: '0', last: 'null' })}`,
    [input.leaseId, [...input.rowsByQueue.keys()], [...input.rowsByQueue.values()]],
  )
  return toClaim(rows)
}

function lastEndpointOf(deliveries: readonly ClaimedDelivery[]): string {
  return (
    deliveries
      .map((delivery) => delivery.endpointId)
      .sort()
      .at(-1) ?? ''
  )
}

function toClaim(rows: readonly ClaimRow[]): Claim & { queues: number; lastQueue: string | null } {
  const claimed = rows.find((row) => row.claim !== null)?.claim
  if (claimed === undefined || claimed === null) throw new Error('a claim returned nothing')
  const receivers = new Map(claimed.receivers.map((receiver) => [receiver.endpointId, toReceiver(receiver)]))
  const deliveries = rows.flatMap((row): ClaimedDelivery[] => {
    if (row.claim !== null) return []
    const receiver = receivers.get(row.endpoint_id)
    if (receiver === undefined) throw new Error('a claim returned a delivery and not its endpoint')
    return [toDelivery(row, receiver)]
  })
  return {
    deliveries,
    databaseNowMs: claimed.databaseNowMs,
    queues: claimed.queues,
    lastQueue: claimed.lastQueue,
  }
}

type Receiver = Pick<ClaimedDelivery, 'url' | 'format' | 'failures' | 'secrets'>

function toReceiver({ url, format, failures, secrets }: ReceiverRow): Receiver {
  const sealed = secrets.map((secret) => ({ id: secret.id, sealed: Buffer.from(secret.sealed, 'hex') }))
  return { url, format, failures, secrets: sealed }
}

function toDelivery(row: Extract<ClaimRow, { claim: null }>, receiver: Receiver): ClaimedDelivery {
  return {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    attempt: row.attempt,
    giveUpAtMs: row.give_up_at_ms,
    lapsed: row.lapsed,
    url: receiver.url,
    format: receiver.format,
    body: Buffer.from(row.body),
    schemaVersion: row.schema_version,
    failures: receiver.failures,
    secrets: receiver.secrets,
  }
}

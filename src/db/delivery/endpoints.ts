import type { EndpointFormat } from '../../core/endpoint/subscriptions.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

const ENDPOINT_STATUSES = ['pending_verification', 'enabled', 'disabled'] as const
type EndpointStatus = (typeof ENDPOINT_STATUSES)[number]

/** Why an endpoint is disabled: by the merchant, or because the receiver answered 410 Gone. */
type EndpointStatusReason = 'merchant' | 'receiver_gone'

export type WebhookEndpoint = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly url: string
  readonly subscribedEvents: readonly string[]
  readonly format: EndpointFormat
  readonly status: EndpointStatus
  readonly statusReason: string | null
  /** The API key that asked for it in live mode; null where a person, or a test key, added it. */
  readonly requestedBy: string | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
  /** Since when its deliveries fail, while it is throttled; null while it is not. */
  readonly failingSince: Date | null
  /** Its receiver answers 2xx to what it refuses too: what is signed with a secret that it does not have is lost. */
  readonly refusesSilently: boolean
  /** When the older secret stops signing; null where only one signs. */
  readonly rotationEndsAt: Date | null
}

/** Whether events may go to it now. */
export function isEligible(endpoint: WebhookEndpoint): boolean {
  return endpoint.status === 'enabled' && endpoint.verifiedAt !== null
}

type EndpointRow = {
  merchant_id: string
  id: string
  livemode: boolean
  url: string
  subscribed_events: string[]
  format: EndpointFormat
  status: EndpointStatus
  status_reason: string | null
  requested_by: string | null
  verified_at: Date | null
  created_at: Date
  failing_since: Date | null
  refuses_silently: boolean
  rotation_ends_at: Date | null
}

const COLUMNS = `
  w.merchant_id, w.id, w.livemode, w.url, w.subscribed_events, w.format, w.status, w.status_reason, w.requested_by, w.verified_at, w.created_at,
  w.refuses_silently,
  (select l.failing_since from delivery_lane l
   where l.merchant_id = w.merchant_id and l.endpoint_id = w.id and l.next_at is not null) as failing_since,
  (select max(k.valid_until) from endpoint_secret k
   where k.merchant_id = w.merchant_id and k.endpoint_id = w.id and k.valid_until > clock_timestamp())
    as rotation_ends_at`

function toEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    url: row.url,
    subscribedEvents: row.subscribed_events,
    format: row.format,
    status: row.status,
    statusReason: row.status_reason,
    requestedBy: row.requested_by,
    verifiedAt: row.verified_at,
    createdAt: row.created_at,
    failingSince: row.failing_since,
    refusesSilently: row.refuses_silently,
    rotationEndsAt: row.rotation_ends_at,
  }
}

/** Queues creations of one merchant and mode behind one another, so that the limit on endpoints holds. */
export async function lockEndpointCreation(tx: Tx, tenant: Tenant): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `endpoint/${tenant.merchantId}/${tenant.livemode}`,
  ])
}

/** How many endpoints the merchant has in this mode. By the key's first column. */
export async function countEndpoints(tx: Tx, tenant: Tenant): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from webhook_endpoint
     where merchant_id = $1 and livemode = $2 and removed_at is null`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows[0]?.count ?? 0
}

export async function insertEndpoint(
  tx: Tx,
  tenant: Tenant,
  endpoint: {
    id: string
    url: string
    subscribedEvents: readonly string[]
    format: EndpointFormat
    requestedBy: string | null
    createdAt: Date
  },
): Promise<void> {
  await tx.query(
    `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, format, status, created_at, requested_by)
     values ($1, $2, $3, $4, $5, $6, 'pending_verification', $7, $8)`,
    [
      tenant.merchantId,
      endpoint.id,
      tenant.livemode,
      endpoint.url,
      endpoint.subscribedEvents,
      endpoint.format,
      endpoint.createdAt,
      endpoint.requestedBy,
    ],
  )
}

/** Requested endpoints that nobody has verified yet, newest first. By the key's first column. */
export async function listRequestedEndpoints(
  tx: Tx,
  tenant: Tenant,
): Promise<readonly { id: string; url: string }[]> {
  const { rows } = await tx.query<{ id: string; url: string }>(
    `select id, url from webhook_endpoint
     where merchant_id = $1 and livemode = $2 and requested_by is not null and verified_at is null
       and removed_at is null order by id desc`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows
}

/** One endpoint that was not removed, or null. `forUpdate` holds its row. By the key. */
export async function loadEndpoint(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { forUpdate?: boolean } = {},
): Promise<WebhookEndpoint | null> {
  const { rows } = await tx.query<EndpointRow>(
    `select ${COLUMNS} from webhook_endpoint w
     where w.merchant_id = $1 and w.id = $2 and w.livemode = $3 and w.removed_at is null
     ${options.forUpdate === true ? 'for update of w' : ''}`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0] === undefined ? null : toEndpoint(rows[0])
}

/** Whether the tenant has this endpoint. By the key. */
export async function endpointExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from webhook_endpoint where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rowCount === 1
}

/** A page of endpoints, newest first. Served by the key, read backwards. */
export async function listEndpoints(
  tx: Tx,
  tenant: Tenant,
  page: { limit: number; startingAfter: string | null; endingBefore: string | null },
): Promise<{ data: WebhookEndpoint[]; hasMore: boolean }> {
  const backwards = page.endingBefore !== null
  const { rows } = await tx.query<EndpointRow>(
    `select ${COLUMNS} from webhook_endpoint w
     where w.merchant_id = $1 and w.livemode = $2 and w.removed_at is null
       and ($3::text is null or w.id < $3) and ($4::text is null or w.id > $4)
     order by w.id ${backwards ? 'asc' : 'desc'} limit $5`,
    [
      tenant.merchantId,
      tenant.livemode,
      page.startingAfter ?? null,
      page.endingBefore ?? null,
      page.limit + 1,
    ],
  )
  const data = rows.slice(0, page.limit).map(toEndpoint)
  return { data: backwards ? data.reverse() : data, hasMore: rows.length > page.limit }
}

/**
 * The receiver answered the challenge: verified and enabled. Guarded by the endpoint not being removed, and by the URL
 * and the status that it had when the challenge was sent.
 */
export async function markVerified(
  tx: Tx,
  tenant: Tenant,
  id: string,
  verified: { url: string; statusBefore: EndpointStatus; refusesSilently: boolean; now: Date },
): Promise<boolean> {
  const { url, statusBefore, refusesSilently, now } = verified
  const { rowCount } = await tx.query(
    `update webhook_endpoint
     set status = 'enabled', status_reason = null, stop_told_at = null, verified_at = $4, refuses_silently = $7
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null and status = $5 and url = $6`,
    [tenant.merchantId, id, tenant.livemode, now, statusBefore, url, refusesSilently],
  )
  return rowCount === 1
}

/** Two ids of events with a space between. */
const TRIALS_CHARACTERS = 61

/**
 * Its receiver asked our API for what an event of a verification names, and so has taken it: the last two are kept. By the
 * key.
 */
export async function noteTrialTaken(tx: Tx, tenant: Tenant, id: string, eventId: string): Promise<void> {
  await tx.query(
    `update webhook_endpoint set trial_taken = case when $4 = any (string_to_array(trial_taken, ' ')) then trial_taken
       else right(concat_ws(' ', trial_taken, $4::text), ${TRIALS_CHARACTERS}) end
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, eventId],
  )
}

/** Whether this event is one of the last two that `noteTrialTaken` noted. By the key. */
export async function isTrialTaken(tx: Tx, tenant: Tenant, id: string, eventId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from webhook_endpoint where merchant_id = $1 and id = $2 and livemode = $3
       and $4 = any (string_to_array(trial_taken, ' '))`,
    [tenant.merchantId, id, tenant.livemode, eventId],
  )
  return rowCount === 1
}

/** What an endpoint subscribes to from now on. Guarded by the endpoint not being removed. */
export async function setSubscriptions(
  tx: Tx,
  tenant: Tenant,
  id: string,
  subscribedEvents: readonly string[],
): Promise<void> {
  await tx.query(
    `update webhook_endpoint set subscribed_events = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, subscribedEvents],
  )
}

/**
 * Another URL, which nobody has verified yet, and which no API key asked for. Guarded by the endpoint not being removed.
 */
export async function setUrl(tx: Tx, tenant: Tenant, id: string, url: string): Promise<void> {
  await tx.query(
    `update webhook_endpoint
     set url = $4, status = 'pending_verification', status_reason = null, verified_at = null, requested_by = null
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, url],
  )
}

/** No more delivery, whatever the status was. Guarded by the endpoint not being removed. */
export async function markDisabled(
  tx: Tx,
  tenant: Tenant,
  id: string,
  reason: EndpointStatusReason,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update webhook_endpoint set status = 'disabled', status_reason = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, reason],
  )
  return rowCount === 1
}

/** The endpoint is gone for its merchant; the row stays for the attempts that name it. */
export async function markRemoved(tx: Tx, tenant: Tenant, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update webhook_endpoint set status = 'disabled', status_reason = 'removed', removed_at = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and removed_at is null`,
    [tenant.merchantId, id, tenant.livemode, now],
  )
  return rowCount === 1
}

/**
 * Receivers that answered 410 Gone at the URL that is still their endpoint's: the endpoints are disabled, in the order of
 * their keys. Returns their ids, those that were disabled before included; of one that has moved since, nothing was said.
 * By the key.
 */
export async function disableGoneEndpoints(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string; url: string }[],
): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string }>(
    `select w.id from unnest($1::text[], $2::text[], $3::text[]) as f (merchant_id, id, url)
     join webhook_endpoint w on w.merchant_id = f.merchant_id and w.id = f.id and w.url = f.url
     order by w.merchant_id, w.id for update of w`,
    [
      endpoints.map((endpoint) => endpoint.merchantId),
      endpoints.map((endpoint) => endpoint.endpointId),
      endpoints.map((endpoint) => endpoint.url),
    ],
  )
  const gone = new Set(rows.map((row) => row.id))
  const disabled = endpoints.filter(({ endpointId }) => gone.has(endpointId))
  await tx.query(
    `update webhook_endpoint w set status = 'disabled', status_reason = 'receiver_gone'
     from (select distinct * from unnest($1::text[], $2::text[]) as f (merchant_id, id)) f
     where w.merchant_id = f.merchant_id and w.id = f.id and w.status = 'enabled'`,
    [disabled.map((endpoint) => endpoint.merchantId), disabled.map((endpoint) => endpoint.endpointId)],
  )
  return gone
}

import { ASSET_IDS, type AssetId } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

export const NOTICE_KINDS = ['paid', 'attention', 'endpoint_disabled', 'sign_in'] as const
type NoticeKind = (typeof NOTICE_KINDS)[number]

/**
 * Takes the right to write emails for a minute; null where another process has it. The one row of notice_cursor.
 */
export async function leaseNotices(db: Queryable, leaseSeconds: number): Promise<{ eventId: string } | null> {
  const { rows } = await db.query<{ event_id: string }>(
    `update notice_cursor set leased_until = now() + make_interval(secs => $1) where leased_until <= now()
     returning event_id`,
    [leaseSeconds],
  )
  const row = rows[0]
  return row === undefined ? null : { eventId: row.event_id }
}

/** Moves on and gives the lease back. */
export async function releaseNotices(db: Queryable, eventId: string): Promise<void> {
  await db.query(`update notice_cursor set event_id = $1, leased_until = now()`, [eventId])
}

export type NoticedEvent = { readonly id: string; readonly merchantId: string; readonly body: Buffer }

/**
 * Live events worth an email after `eventId`. Ids are made a moment before their transaction commits: the newest
 * seconds are left for the next reading, so that none is passed by. One from `beforeId` on is of a time to come: nobody made
 * it, and reading past it would pass by all until then. Served by event_for_notice.
 */
export async function eventsForNotice(
  db: Queryable,
  input: { afterId: string; beforeId: string; settleSeconds: number; limit: number },
): Promise<NoticedEvent[]> {
  const { rows } = await db.query<{ id: string; merchant_id: string; body: Buffer }>(
    `select id, merchant_id, body from event
     where livemode and event_type in ('invoice.paid', 'invoice.overpaid', 'invoice.manual_review')
       and id > $1 and id < $4 and created_at < now() - make_interval(secs => $2)
     order by id limit $3`,
    [input.afterId, input.settleSeconds, input.limit, input.beforeId],
  )
  return rows.map(({ id, merchant_id: merchantId, body }) => ({ id, merchantId, body }))
}

/** The newest event there is before `beforeId`, where reading starts on the first run: what is past is no news. */
export async function newestEventId(db: Queryable, beforeId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `select id from event
     where livemode and event_type in ('invoice.paid', 'invoice.overpaid', 'invoice.manual_review') and id < $1
     order by id desc limit 1`,
    [beforeId],
  )
  return rows[0]?.id ?? null
}

/** Live endpoints that stopped by themselves and that nobody was emailed about; marked as notified now. Served by webhook_endpoint_stopped. */
export async function takeStoppedEndpoints(
  db: Queryable,
  limit: number,
): Promise<{ id: string; merchantId: string; url: string }[]> {
  const { rows } = await db.query<{ id: string; merchant_id: string; url: string }>(
    `update webhook_endpoint set stop_told_at = now() where (merchant_id, id) in (
       select merchant_id, id from webhook_endpoint
       where livemode and status_reason = 'receiver_gone' and stop_told_at is null limit $1)
     returning id, merchant_id, url`,
    [limit],
  )
  return rows.map(({ id, merchant_id: merchantId, url }) => ({ id, merchantId, url }))
}

/** Managers of one shop who get an email, and former ones beside them who are warned; no shop has as many. */
export const WARNED_MAX = 100

/** Owners and admins with a confirmed address who did not refuse this kind. Served by the keys. */
export async function noticeAddressees(
  db: Queryable,
  merchantId: string,
  kind: NoticeKind,
): Promise<{ email: string; name: string }[]> {
  const { rows } = await db.query<{ email: string; name: string }>(
    `select person.email, person.name from organization_member member join person on person.id = member.user_id
     left join known_manager k
       on k.merchant_id = member.organization_id and k.person_id = member.user_id and k.email = person.email
     where member.organization_id = $1 and member.role in ('owner', 'admin') and person.email_verified
       and not exists (select from notice_refusal
                       where notice_refusal.merchant_id = $1 and notice_refusal.user_id = person.id and kind = $2)
     order by k.known_since, person.email limit ${WARNED_MAX}`,
    [merchantId, kind],
  )
  return rows
}

export type NewDestination = {
  readonly merchantId: string
  readonly id: string
  readonly asset: AssetId
  readonly address: string
  readonly payableAt: Date
}

/**
 * Destinations that the signer has seen and nobody was notified of, those that can be paid first, and each merchant's first
 * before any merchant's second. Served by destination_sighting_untold.
 */
export async function listUnannouncedDestinations(db: Queryable, limit: number): Promise<NewDestination[]> {
  const { rows } = await db.query<NewDestination>(
    `select merchant_id as "merchantId", destination_id as id, asset, address, payable_at as "payableAt"
     from destination_sighting where told_at is null and asset = any($2)
     order by row_number() over (partition by merchant_id order by payable_at), payable_at limit $1`,
    [limit, ASSET_IDS],
  )
  return rows
}

/** Keeps that a merchant was notified of a destination. By primary key. */
export async function markDestinationNotified(
  db: Queryable,
  { merchantId, id }: Pick<NewDestination, 'merchantId' | 'id'>,
): Promise<void> {
  await db.query(
    'update destination_sighting set told_at = now() where merchant_id = $1 and destination_id = $2',
    [merchantId, id],
  )
}

/**
 * The owners and admins, those known longest first, whatever they refused and whether or not their address is confirmed: of what may be a theft they
 * are warned in any case. Served by the keys.
 */
export async function listManagers(
  db: Queryable,
  merchantId: string,
): Promise<{ email: string; name: string }[]> {
  const { rows } = await db.query<{ email: string; name: string }>(
    `select person.email, person.name from organization_member member join person on person.id = member.user_id
     left join known_manager k
       on k.merchant_id = member.organization_id and k.person_id = member.user_id and k.email = person.email
     where member.organization_id = $1 and member.role in ('owner', 'admin')
     order by k.known_since, person.email limit ${WARNED_MAX}`,
    [merchantId],
  )
  return rows
}

/** The kinds that a person refused at a merchant. By primary key. */
export async function refusedNotices(db: Queryable, merchantId: string, userId: string): Promise<string[]> {
  const { rows } = await db.query<{ kind: string }>(
    `select kind from notice_refusal where merchant_id = $1 and user_id = $2`,
    [merchantId, userId],
  )
  return rows.map(({ kind }) => kind)
}

/** Refuses a kind, or takes the refusal back. By primary key. */
export async function setNotice(
  tx: Tx,
  input: { merchantId: string; userId: string; kind: NoticeKind; wanted: boolean },
): Promise<void> {
  const { merchantId, userId, kind, wanted } = input
  await tx.query(
    wanted
      ? `delete from notice_refusal where merchant_id = $1 and user_id = $2 and kind = $3`
      : `insert into notice_refusal (merchant_id, user_id, kind) values ($1, $2, $3) on conflict do nothing`,
    [merchantId, userId, kind],
  )
}

/** Whether a person who already had sign-ins comes with a browser and address that none of them had. By person_session_by_user. */
export async function isNewPlace(
  db: Queryable,
  session: { id: string; userId: string; ipAddress: string | null; userAgent: string | null },
): Promise<boolean> {
  const { rows } = await db.query<{ others: number; same: number }>(
    `select count(*) as others,
       count(*) filter (where ip_address is not distinct from $3 and user_agent is not distinct from $4) as same
     from person_session where user_id = $1 and id <> $2`,
    [session.userId, session.id, session.ipAddress, session.userAgent],
  )
  const row = rows[0]
  return row !== undefined && row.others > 0 && row.same === 0
}

/** Whether a row of known_manager is still true: its person is an owner or admin of the shop at this address. */
const IS_MANAGER = `exists (
  select from organization_member m join person p on p.id = m.user_id
  where m.organization_id = k.merchant_id and m.user_id = k.person_id and m.role in ('owner', 'admin') and p.email = k.email)`

/** Notes at which addresses the owners and admins of shops are, as far as that is new. Reads organization_member. */
export async function noteManagers(db: Queryable, limit: number): Promise<void> {
  await db.query(
    `insert into known_manager (merchant_id, person_id, email)
     select m.organization_id, m.user_id, p.email from organization_member m join person p on p.id = m.user_id
     where m.role in ('owner', 'admin') and length(p.email) <= 320 and not exists (
       select from known_manager k
       where k.merchant_id = m.organization_id and k.person_id = m.user_id and k.email = p.email)
     limit $1
     on conflict do nothing`,
    [limit],
  )
  await db.query(`update known_manager k set left_at = null where left_at is not null and ${IS_MANAGER}`)
}

type FormerAddress = { readonly merchantId: string; readonly personId: string; readonly email: string }

/** Managers who are none any more at the address where they were, and were not notified of it. Reads known_manager, by its key. */
export async function listLeavingManagers(db: Queryable, limit: number): Promise<FormerAddress[]> {
  const { rows } = await db.query<FormerAddress>(
    `select merchant_id as "merchantId", person_id as "personId", email from known_manager k
     where left_at is null and not ${IS_MANAGER} limit $1`,
    [limit],
  )
  return rows
}

/** Records that a former manager was notified. By primary key. */
export async function markManagerLeft(
  db: Queryable,
  { merchantId, personId, email }: FormerAddress,
): Promise<void> {
  await db.query(
    'update known_manager set left_at = now() where merchant_id = $1 and person_id = $2 and email = $3',
    [merchantId, personId, email],
  )
}

/** Forgets who left so many days ago. Served by known_manager_left. */
export async function forgetFormerManagers(db: Queryable, days: number): Promise<void> {
  await db.query('delete from known_manager where left_at < now() - make_interval(days => $1)', [days])
}

/** Where the managers of a shop were until lately, and are no more. By the key. */
export async function listFormerAddresses(db: Queryable, merchantId: string): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `select email from known_manager k where merchant_id = $1 and not ${IS_MANAGER}
     group by email order by min(known_since), email limit ${WARNED_MAX}`,
    [merchantId],
  )
  return rows.map(({ email }) => email)
}

import type { Payout } from '../../core/payout/payout.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** A live destination on the list of a merchant, or of the operator (`merchantId` null). */
export type ListedDestination = {
  readonly merchantId: string | null
  readonly id: string
  readonly asset: string
  readonly address: string
  /** As the row claims. */
  readonly usableAt: Date
}

/** What no row of ours lacks; the API's role could write others, to fill the signer's disk. */
const WELL_FORMED = `merchant_id ~ '^[0-9a-z_]{1,64}$' and id ~ '^[0-9a-z_]{1,64}$' and asset ~ '^[0-9A-Z_]{1,32}$'
  and address ~ '^[0-9A-Za-z]{1,128}$' and isfinite(usable_at)`
const COLUMNS = `merchant_id as "merchantId", id, asset, address, usable_at as "usableAt"`

/** A page of merchants' live destinations, those after `after`. `isSighted`: the signer has said that it saw it. By primary keys. */
export async function listLiveDestinations(
  db: Queryable,
  after: { readonly merchantId: string; readonly id: string },
  limit: number,
): Promise<(ListedDestination & { readonly merchantId: string; readonly isSighted: boolean })[]> {
  const { rows } = await db.query<ListedDestination & { merchantId: string; isSighted: boolean }>(
    `select ${COLUMNS}, exists (select from destination_sighting s
       where s.merchant_id = d.merchant_id and s.destination_id = d.id) as "isSighted"
     from payout_destination d
     where livemode and removed_at is null and ${WELL_FORMED} and (merchant_id, id) > ($1, $2)
     order by merchant_id, id limit $3`,
    [after.merchantId, after.id, limit],
  )
  return rows
}

/** Merchants' live destinations of which the signer has not said yet that it saw them. Reads both tables, a few thousand rows. */
export async function listUnsightedDestinations(
  db: Queryable,
  limit: number,
): Promise<(ListedDestination & { readonly merchantId: string })[]> {
  const { rows } = await db.query<ListedDestination & { readonly merchantId: string }>(
    `select ${COLUMNS} from payout_destination d
     where livemode and removed_at is null and ${WELL_FORMED}
       and not exists (select from destination_sighting s where s.merchant_id = d.merchant_id and s.destination_id = d.id)
     order by row_number() over (partition by merchant_id order by id), id limit $1`,
    [limit],
  )
  return rows
}

/** The operator's live destinations; a few rows. */
export async function listLiveFeeDestinations(db: Queryable, limit: number): Promise<ListedDestination[]> {
  const { rows } = await db.query<ListedDestination>(
    `select null as "merchantId", id, asset, address, usable_at as "usableAt" from fee_destination
     where livemode and removed_at is null order by id desc limit $1`,
    [limit],
  )
  return rows
}

/**
 * Says from when on the signer pays to merchants' destinations. What can be paid to already is not new and is reported to
 * nobody. By primary key.
 */
export async function saveSightings(
  db: Queryable,
  sightings: readonly (ListedDestination & { readonly payableAt: Date })[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into destination_sighting (merchant_id, destination_id, livemode, asset, address, payable_at, told_at)
     select seen.merchant_id, seen.id, true, seen.asset, seen.address, seen.payable_at,
       case when seen.payable_at <= $6 then $6::timestamptz end
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
       as seen (merchant_id, id, asset, address, payable_at)
     on conflict (merchant_id, destination_id) do update set payable_at = excluded.payable_at
     where destination_sighting.payable_at <> excluded.payable_at`,
    [
      sightings.map(({ merchantId }) => merchantId),
      sightings.map(({ id }) => id),
      sightings.map(({ asset }) => asset),
      sightings.map(({ address }) => address),
      sightings.map(({ payableAt }) => payableAt),
      now,
    ],
  )
}

/** Whether the signer has begun a list before, in a file that may have been lost since. By primary key. */
export async function hasBegunList(db: Queryable, kind: string): Promise<boolean> {
  const { rows } = await db.query('select from signer_list where kind = $1', [kind])
  return rows.length > 0
}

/** Keeps that the signer has begun a list; once is enough. */
export async function saveBegunList(db: Queryable, kind: string, now: Date): Promise<void> {
  await db.query('insert into signer_list (kind, began_at) values ($1, $2) on conflict do nothing', [
    kind,
    now,
  ])
}

/** Whether a payout's destination is still on its owner's list (merchant or operator). By primary key. */
export async function isDestinationListed(
  db: Queryable,
  { merchantId, destinationId, source, livemode }: Payout,
): Promise<boolean> {
  const { rows } = await db.query(
    `select from payout_destination where $3 = 'available' and merchant_id = $1 and id = $2 and livemode = $4 and removed_at is null
     union all
     select from fee_destination where $3 = 'fees' and id = $2 and livemode = $4 and removed_at is null`,
    [merchantId, destinationId, source, livemode],
  )
  return rows.length > 0
}

import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { PayoutDestination } from './payout-destinations.ts'

/** An address on the operator's list. */
export type FeeDestination = PayoutDestination & { readonly createdBy: string }

const COLUMNS = `id, livemode, asset, address, name, created_by as "createdBy", created_at as "createdAt",
  usable_at as "usableAt", removed_at as "removedAt"`

/** Holds the operator's list until the transaction ends: who adds to it comes after who does. */
export async function lockFeeDestinations(tx: Tx): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('fee_destination', 0))`)
}

/** Writes a destination. False if the address is on the list already (fee_destination_once). */
export async function insertFeeDestination(
  tx: Tx,
  livemode: boolean,
  destination: Omit<FeeDestination, 'livemode' | 'removedAt'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into fee_destination (id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
    [
      destination.id,
      livemode,
      destination.asset,
      destination.address,
      destination.name,
      destination.createdBy,
      destination.createdAt,
      destination.usableAt,
    ],
  )
  return rowCount === 1
}

/** Every address that was ever on the operator's list in a mode, newest first; a few rows. */
export async function listFeeDestinations(
  db: Queryable,
  livemode: boolean,
  limit: number,
): Promise<FeeDestination[]> {
  const { rows } = await db.query<FeeDestination>(
    `select ${COLUMNS} from fee_destination where livemode = $1 order by id desc limit $2`,
    [livemode, limit],
  )
  return rows
}

/** One that stands on the list of a mode (null: of either), or null. `share` keeps others from removing it meanwhile. By primary key. */
export async function loadFeeDestination(
  tx: Queryable,
  livemode: boolean | null,
  id: string,
  options: { readonly share?: boolean } = {},
): Promise<FeeDestination | null> {
  const { rows } = await tx.query<FeeDestination>(
    `select ${COLUMNS} from fee_destination where id = $1 and ($2::boolean is null or livemode = $2) and removed_at is null
     ${options.share === true ? 'for share' : ''}`,
    [id, livemode],
  )
  return rows[0] ?? null
}

/** Takes one off the list; false where it was not on it. By primary key. */
export async function removeFeeDestination(
  db: Queryable,
  id: string,
  removed: { readonly by: string; readonly now: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    'update fee_destination set removed_at = $2, removed_by = $3 where id = $1 and removed_at is null',
    [id, removed.now, removed.by],
  )
  return rowCount === 1
}

import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../pool.ts'

export type DerivedAddress = { readonly idx: number; readonly program: Uint8Array; readonly address: string }

/** How many addresses wait to be taken, counted up to `max`. Served by address_pool. */
export async function countPool(
  db: Queryable,
  keyspace: Keyspace,
  parameters: string,
  max: number,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from (
       select from address where keyspace = $1 and parameters = $2 and assigned_at is null limit $3
     ) as waiting`,
    [keyspace, parameters, max],
  )
  return rows[0]?.count ?? 0
}

/** Adds derived addresses to the pool. An index or program that is there already is an error. */
export async function insertPoolAddresses(
  db: Queryable,
  keyspace: Keyspace,
  parameters: string,
  addresses: readonly DerivedAddress[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at)
     select $1, idx, program, address, $2, $3
     from unnest($4::bigint[], $5::bytea[], $6::text[]) as derived (idx, program, address)`,
    [
      keyspace,
      parameters,
      now,
      addresses.map((derived) => derived.idx),
      addresses.map((derived) => Buffer.from(derived.program)),
      addresses.map((derived) => derived.address),
    ],
  )
}

/** Takes from the pool what was derived for another chain's parameters; the indexes stay used. Served by address_pool. */
export async function deleteForeignPoolAddresses(
  db: Queryable,
  keyspace: Keyspace,
  parameters: string,
): Promise<number> {
  const { rowCount } = await db.query(
    'delete from address where keyspace = $1 and parameters <> $2 and assigned_at is null',
    [keyspace, parameters],
  )
  return rowCount ?? 0
}

/** Empties a keyspace's pool: after a restored backup nobody knows which of these were given out since. Served by address_pool. */
export async function deletePoolAddresses(db: Queryable, keyspace: string): Promise<number> {
  const { rowCount } = await db.query('delete from address where keyspace = $1 and assigned_at is null', [
    keyspace,
  ])
  return rowCount ?? 0
}

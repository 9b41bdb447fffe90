import type { PooledAddress } from '../../core/address-batch.ts'
import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../pool.ts'

export type DerivedAddress = { readonly program: Uint8Array; readonly address: string }

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

/** The next addresses that an invoice will take, in their order. Served by address_pool. */
export async function listPooledAddresses(
  db: Queryable,
  keyspace: Keyspace,
  max: number,
): Promise<PooledAddress[]> {
  const { rows } = await db.query<{ idx: number; program: Buffer; address: string }>(
    `select idx, program, address from address where keyspace = $1 and assigned_at is null
     order by assigned_at, idx limit $2`,
    [keyspace, max],
  )
  return rows
}

/**
 * Takes the indexes from `first` on for good and adds their addresses to the pool, both or neither. False where
 * somebody else took them meanwhile: read the account again. The lock on the account's row is held until the commit,
 * so that addresses become visible in the order of their indexes: whoever sees one has seen all below it.
 */
export async function addPoolAddresses(
  db: Queryable,
  pool: { readonly keyspace: Keyspace; readonly form: string; readonly first: number },
  addresses: readonly DerivedAddress[],
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with taken as (
       update account_key set next_index = $4::bigint + cardinality($5::bytea[])
       where keyspace = $1 and next_index = $4 returning keyspace)
     insert into address (keyspace, idx, program, address, parameters, created_at)
     select taken.keyspace, $4 + place - 1, program, address, $2, $3
     from taken, unnest($5, $6::text[]) with ordinality as derived (program, address, place)`,
    [
      pool.keyspace,
      pool.form,
      now,
      pool.first,
      addresses.map((derived) => Buffer.from(derived.program)),
      addresses.map((derived) => derived.address),
    ],
  )
  return rowCount !== 0
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

import type { PooledAddress } from '../../core/address-batch.ts'
import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

export type DerivedAddress = { readonly addressBytes: Uint8Array; readonly address: string }

/** The next addresses that an invoice will take, in their order. Served by address_pool. */
export async function listPooledAddresses(
  db: Queryable,
  keyspace: Keyspace,
  max: number,
): Promise<PooledAddress[]> {
  const { rows } = await db.query<{ idx: number; addressBytes: Buffer; address: string }>(
    `select idx, program as "addressBytes", address from address where keyspace = $1 and assigned_at is null
     order by assigned_at, idx limit $2`,
    [keyspace, max],
  )
  return rows
}

/** Addresses that invoices have, after an index and in the order of the indexes. By primary key. */
export async function listAssignedAddresses(
  db: Queryable,
  keyspace: Keyspace,
  page: { readonly after: number; readonly limit: number },
): Promise<PooledAddress[]> {
  const { rows } = await db.query<{ idx: number; addressBytes: Buffer; address: string }>(
    `select idx, program as "addressBytes", address from address
     where keyspace = $1 and idx > $2 and assigned_at is not null order by idx limit $3`,
    [keyspace, page.after, page.limit],
  )
  return rows
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

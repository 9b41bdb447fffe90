import type { Queryable } from '../pool.ts'

/**
 * The pools that hold at least one address, as `keyspace/parameters`. For each account key one step into
 * address_pool, which lists unassigned addresses only.
 */
export async function findPoolsWithAddresses(db: Queryable): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ pool: string }>(
    `select account_key.keyspace || '/' || next_address.parameters as pool
     from account_key
     cross join lateral (
       select parameters from address
       where address.keyspace = account_key.keyspace and assigned_at is null
       order by idx desc limit 1) as next_address`,
  )
  return new Set(rows.map((row) => row.pool))
}

import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/**
 * The networks for which an address could be taken now, each with the form it is written in. For each watched
 * network one step into address_pool, which lists unassigned addresses only.
 */
export async function findNetworksWithAddresses(db: Queryable): Promise<ReadonlyMap<Network, string>> {
  const { rows } = await db.query<{ network: Network; form: string }>(
    `select watched.network, next_address.parameters as form
     from (select network, keyspace, min(through) over (partition by keyspace) as through
           from network_watch) as watched
     cross join lateral (
       select parameters from address
       where address.keyspace = watched.keyspace and assigned_at is null and idx <= watched.through
       order by assigned_at desc, idx desc limit 1) as next_address`,
  )
  return new Map(rows.map((row) => [row.network, row.form]))
}

/** The watched networks for which no address could be taken now. */
export async function listFollowedWithoutAddresses(db: Queryable): Promise<Network[]> {
  const ready = await findNetworksWithAddresses(db)
  const { rows } = await db.query<{ network: Network }>('select network from network_watch order by network')
  return rows.map(({ network }) => network).filter((network) => !ready.has(network))
}

import type { Keyspace, Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

/**
 * Records that a network is watched from now on, and in which term of leadership (column `turn`): addresses beyond what its
 * watcher has reported wait for it. How far it has come stays. On the leader's own connection, as `raiseWatch`; waits for
 * what the term before is committing.
 */
export async function beginWatch(
  leader: Queryable,
  watch: { readonly network: Network; readonly keyspace: Keyspace; readonly term: string },
  now: Date,
): Promise<void> {
  await leader.query(
    `insert into network_watch (network, keyspace, through, turn, updated_at) values ($1, $2, -1, $3, $4)
     on conflict (network) do update set turn = $3`,
    [watch.network, watch.keyspace, watch.term, now],
  )
}

/**
 * Whether this is the network's latest term. If so, its row is locked, and no other term begins until the transaction ends.
 * Served by the primary key.
 */
export async function lockLatestTerm(tx: Tx, network: Network, term: string): Promise<boolean> {
  const { rows } = await tx.query('select from network_watch where network = $1 and turn = $2 for share', [
    network,
    term,
  ])
  return rows.length === 1
}

/**
 * Raises how far a network is watched, never lowers it. Sent on the connection that holds the leader's lock: whoever
 * has lost the leadership cannot say that its successor watches what only it has loaded.
 */
export async function raiseWatch(
  leader: Queryable,
  network: Network,
  through: number,
  now: Date,
): Promise<void> {
  await leader.query(
    'update network_watch set through = $2, updated_at = $3 where network = $1 and through < $2',
    [network, through, now],
  )
}

/**
 * Forgets the watch of a network that this installation follows no longer, so that it holds back no address of
 * the others. Nothing happens while somebody leads, whose lock `lockKey` names.
 */
export async function endWatch(
  db: Queryable,
  network: Network,
  lockKey: readonly [number, number],
): Promise<boolean> {
  const { rowCount } = await db.query(
    'delete from network_watch where network = $1 and pg_try_advisory_xact_lock($2, $3)',
    [network, ...lockKey],
  )
  return rowCount === 1
}

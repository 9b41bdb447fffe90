import type { Network } from '../../core/assets.ts'
import type { BlockPosition } from '../../core/invoice/types.ts'
import type { Queryable } from '../pool.ts'

export type NetworkStatus = 'starting' | 'ok' | 'syncing' | 'unavailable' | 'halted'

/** How far a network was read, and how it stands. */
export type NetworkState = {
  readonly network: Network
  /** Name of the chain's parameters, learnt from the node; null until one was reached. */
  readonly parameters: string | null
  /** The last block whose consequences are all committed. */
  readonly height: number | null
  readonly hash: string | null
  readonly blockTime: Date | null
  /** The node's tip. */
  readonly tipHeight: number | null
  readonly status: NetworkStatus
  /** What is wrong and how to mend it; null where nothing is. */
  readonly reason: string | null
  /** When tip and mempool were last read in full. */
  readonly readAt: Date | null
}

type NetworkStateRow = {
  network: Network
  parameters: string | null
  height: number | null
  hash: string | null
  block_time: Date | null
  tip_height: number | null
  status: NetworkStatus
  reason: string | null
  read_at: Date | null
}

/** Every network that was ever followed: a handful of rows. */
export async function loadNetworkStates(db: Queryable): Promise<NetworkState[]> {
  const { rows } = await db.query<NetworkStateRow>('select * from network_state order by network')
  return rows.map(stateFromRow)
}

/** One network's state; null before its first start. Served by the primary key. */
export async function loadNetworkState(db: Queryable, network: Network): Promise<NetworkState | null> {
  const { rows } = await db.query<NetworkStateRow>('select * from network_state where network = $1', [
    network,
  ])
  return rows[0] === undefined ? null : stateFromRow(rows[0])
}

/** Says how a network stands; makes its row on the first call. Where `tipHeight` or `readAt` is null the known one stays. */
export async function saveNetworkHealth(
  db: Queryable,
  network: Network,
  health: {
    status: NetworkStatus
    reason: string | null
    tipHeight?: number | null
    readAt?: Date | null
    now: Date
  },
): Promise<void> {
  await db.query(
    `insert into network_state (network, status, reason, tip_height, read_at, updated_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (network) do update
     set status = $2, reason = $3, tip_height = coalesce($4, network_state.tip_height),
       read_at = coalesce($5, network_state.read_at), updated_at = $6`,
    [network, health.status, health.reason, health.tipHeight ?? null, health.readAt ?? null, health.now],
  )
}

/**
 * Puts the checkpoint of a network that has none, or whose row is of other chain parameters, at `block`. False
 * where another watcher was quicker.
 */
export async function startCheckpoint(
  db: Queryable,
  network: Network,
  parameters: string,
  block: BlockPosition,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into network_state (network, parameters, height, hash, block_time, status, updated_at)
     values ($1, $2, $3, $4, $5, 'starting', $6)
     on conflict (network) do update
     set parameters = $2, height = $3, hash = $4, block_time = $5, updated_at = $6
     where network_state.hash is null or network_state.parameters is distinct from $2`,
    [network, parameters, block.height, block.hash, new Date(block.timeMs), now],
  )
  return rowCount === 1
}

/** Moves the checkpoint, guarded by where it stood; false where it stands elsewhere. */
export async function moveCheckpoint(
  db: Queryable,
  network: Network,
  from: { readonly height: number; readonly hash: string },
  to: BlockPosition,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update network_state set height = $4, hash = $5, block_time = $6, updated_at = $7
     where network = $1 and height = $2 and hash = $3`,
    [network, from.height, from.hash, to.height, to.hash, new Date(to.timeMs), now],
  )
  return rowCount === 1
}

function stateFromRow(row: NetworkStateRow): NetworkState {
  return {
    network: row.network,
    parameters: row.parameters,
    height: row.height,
    hash: row.hash,
    blockTime: row.block_time,
    tipHeight: row.tip_height,
    status: row.status,
    reason: row.reason,
    readAt: row.read_at,
  }
}

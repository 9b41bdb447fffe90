import type { Network } from '../../core/assets.ts'
import type { BlockTags } from '../../core/finality.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

export type NetworkStatus = 'starting' | 'ok' | 'syncing' | 'unavailable' | 'halted'

/** How far a network was read, and how it stands. */
export type NetworkState = {
  readonly network: Network
  /** Name of the chain's parameters, learnt from the node; null until one was reached. */
  readonly parameters: string | null
  /** Which chain of these parameters it is (`ChainAdapter.identity`); null until that is known. */
  readonly chain: string | null
  /** The last block whose consequences are all committed. */
  readonly height: number | null
  readonly hash: string | null
  readonly blockTime: Date | null
  /** The node's tip. */
  readonly tipHeight: number | null
  /** What the chain's own consensus calls safe and finalized; null where it has no such words, or was not asked yet. */
  readonly blockTags: BlockTags | null
  /** The smallest amount that the chain lets a new address receive, base units; null where it sets none, or was not asked yet. */
  readonly minimum: bigint | null
  readonly status: NetworkStatus
  /** What is wrong and how to fix it; null where nothing is. */
  readonly reason: string | null
  /** When tip and mempool were last read in full. */
  readonly readAt: Date | null
  /** Whether its watcher has tried in vain for ten minutes to read it in full. */
  readonly isStalled: boolean
  /** Whether this installation follows the network now: a leader watches it. */
  readonly isWatched: boolean
  /** Host and port of the provider that payouts go through; null where they go through none, or none was needed yet. */
  readonly payoutProvider: string | null
  /** Why that is not the first provider, or none; null where nothing is wrong. */
  readonly payoutNotice: string | null
  /** Why the node's own notifications are not heard although they are configured; null where all is well. */
  readonly notificationsSilent: string | null
}

type NetworkStateRow = {
  network: Network
  parameters: string | null
  chain: string | null
  height: number | null
  hash: string | null
  block_time: Date | null
  tip_height: number | null
  safe_height: number | null
  finalized_height: number | null
  minimum: bigint | null
  status: NetworkStatus
  reason: string | null
  read_at: Date | null
  is_stalled: boolean
  is_watched: boolean
  payout_provider: string | null
  payout_notice: string | null
  notifications_silent: string | null
}

const SELECT = `select network, parameters, chain, height, hash, block_time, tip_height, safe_height,
  finalized_height, minimum, status, reason, read_at, payout_provider, payout_notice,
  notifications_silent,
  coalesce(status in ('syncing', 'unavailable') and read_at < updated_at - interval '10 minutes', false) as is_stalled,
  exists (select from network_watch where network_watch.network = network_state.network) as is_watched
  from network_state`

/** Every network that was ever followed: a handful of rows. */
export async function loadNetworkStates(db: Queryable): Promise<NetworkState[]> {
  const { rows } = await db.query<NetworkStateRow>(`${SELECT} order by network`)
  return rows.map(stateFromRow)
}

/** One network's state; null before its first start. Served by the primary key. */
export async function loadNetworkState(db: Queryable, network: Network): Promise<NetworkState | null> {
  const { rows } = await db.query<NetworkStateRow>(`${SELECT} where network = $1`, [network])
  return rows[0] === undefined ? null : stateFromRow(rows[0])
}

/** Says how a network stands; makes its row on the first call. What is null of `tipHeight`, `readAt` and `blockTags` stays as known. */
export async function saveNetworkHealth(
  db: Queryable,
  network: Network,
  health: {
    status: NetworkStatus
    reason: string | null
    tipHeight?: number | null
    readAt?: Date | null
    blockTags?: BlockTags | null
    notificationsSilent?: string | null | undefined
    now: Date
  },
): Promise<void> {
  await db.query(
    `insert into network_state (network, status, reason, tip_height, read_at, updated_at, safe_height, finalized_height,
       notifications_silent)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (network) do update
     set status = $2, reason = $3, tip_height = coalesce($4, network_state.tip_height),
       read_at = coalesce($5, network_state.read_at), updated_at = $6,
       safe_height = coalesce($7, network_state.safe_height),
       finalized_height = coalesce($8, network_state.finalized_height), notifications_silent = $9`,
    [
      network,
      health.status,
      health.reason,
      health.tipHeight ?? null,
      health.readAt ?? null,
      health.now,
      health.blockTags?.safe ?? null,
      health.blockTags?.finalized ?? null,
      health.notificationsSilent ?? null,
    ],
  )
}

/** Keeps what the chain says is the smallest amount for a new address. Nothing where the network has no row yet. */
export async function saveChainMinimum(db: Queryable, network: Network, minimum: bigint): Promise<void> {
  await db.query('update network_state set minimum = $2 where network = $1 and minimum is distinct from $2', [
    network,
    minimum,
  ])
}

/** Keeps which provider payouts go through. Nothing where the network has no row yet. */
export async function savePayoutProvider(
  db: Queryable,
  network: Network,
  { name, notice }: { readonly name: string | null; readonly notice: string | null },
): Promise<void> {
  await db.query(
    `update network_state set payout_provider = $2, payout_notice = $3
     where network = $1 and (payout_provider, payout_notice) is distinct from ($2, $3)`,
    [network, name, notice],
  )
}

/**
 * Puts the checkpoint of a network that has none, or that was another chain, at `block`. Guarded by the block where
 * it stood, null where it had none; false where another watcher was quicker.
 */
export async function startCheckpoint(
  tx: Tx,
  network: Network,
  start: {
    readonly parameters: string
    readonly chain: string | null
    readonly block: BlockRef
    readonly beforeHash: string | null
    readonly now: Date
  },
): Promise<boolean> {
  const { parameters, chain, block, beforeHash, now } = start
  const { rowCount } = await tx.query(
    `insert into network_state (network, parameters, chain, height, hash, block_time, status, updated_at)
     values ($1, $2, $3, $4, $5, $6, 'starting', $7)
     on conflict (network) do update
     set parameters = $2, chain = $3, height = $4, hash = $5, block_time = $6, tip_height = null, updated_at = $7,
       second_height = null, second_hash = null,
       safe_height = null, finalized_height = null
     where network_state.hash is not distinct from $8`,
    [network, parameters, chain, block.height, block.hash, new Date(block.timeMs), now, beforeHash],
  )
  return rowCount === 1
}

/** Remembers which chain a network is, once that is known. */
export async function saveChainIdentity(db: Queryable, network: Network, chain: string): Promise<void> {
  await db.query('update network_state set chain = $2 where network = $1', [network, chain])
}

/**
 * Moves the checkpoint, guarded by where it stood, and the second reading down with it; false where it stands elsewhere. A
 * second reading that has not begun stays so: `least` would take the new height for a missing one.
 */
export async function moveCheckpoint(
  db: Queryable,
  network: Network,
  from: { readonly height: number; readonly hash: string },
  to: BlockRef,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update network_state set height = $4, hash = $5, block_time = $6, updated_at = $7,
       second_hash = case when second_height > $4 then $5 else second_hash end,
       second_height = case when second_height > $4 then $4 else second_height end
     where network = $1 and height = $2 and hash = $3`,
    [network, from.height, from.hash, to.height, to.hash, new Date(to.timeMs), now],
  )
  return rowCount === 1
}

function stateFromRow(row: NetworkStateRow): NetworkState {
  return {
    network: row.network,
    parameters: row.parameters,
    chain: row.chain,
    height: row.height,
    hash: row.hash,
    blockTime: row.block_time,
    tipHeight: row.tip_height,
    blockTags:
      row.safe_height === null || row.finalized_height === null
        ? null
        : { safe: row.safe_height, finalized: row.finalized_height },
    minimum: row.minimum,
    status: row.status,
    reason: row.reason,
    readAt: row.read_at,
    isStalled: row.is_stalled,
    isWatched: row.is_watched,
    payoutProvider: row.payout_provider,
    payoutNotice: row.payout_notice,
    notificationsSilent: row.notifications_silent,
  }
}

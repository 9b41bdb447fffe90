import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { type SignedRequest, signedOf } from './solana-requests.ts'

/** A transaction that the signer is asked to make between its own accounts. */
export type MaintenanceTransaction =
  | {
      readonly kind: 'nonce'
      readonly id: string
      /** Which nonce account to create. */
      readonly place: number
      /** Lamports that the vault gets in the same transaction, so that it exists. */
      readonly vaultLamports: bigint
    }
  | { readonly kind: 'sweep'; readonly id: string; readonly sources: readonly SweepSource[] }
  /** The fee payer puts on a deposit address what an account must hold, or takes it back from there. */
  | { readonly kind: 'fund' | 'reclaim'; readonly id: string; readonly sources: readonly [SweepSource] }

/** A deposit address, and everything that it holds. */
export type SweepSource = { readonly index: number; readonly lamports: bigint }

export type OpenMaintenance = {
  readonly maintenance: MaintenanceTransaction
  readonly signed: SignedRequest | null
}

type Row = {
  id: string
  kind: MaintenanceTransaction['kind']
  nonce_place: number | null
  vault_lamports: bigint
  indexes: string[]
  lamports: string[]
  txid: string | null
  raw: Buffer | null
  last_valid_height: number | null
}

/** Requests a maintenance transaction. */
export async function insertMaintenance(
  db: Queryable,
  network: Network,
  maintenance: MaintenanceTransaction,
  now: Date,
): Promise<void> {
  const nonce = maintenance.kind === 'nonce' ? maintenance : null
  const sources = maintenance.kind === 'nonce' ? [] : maintenance.sources
  await db.query(
    `insert into solana_chore (network, id, kind, nonce_place, vault_lamports, indexes, lamports, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      network,
      maintenance.id,
      maintenance.kind,
      nonce?.place ?? null,
      nonce?.vaultLamports ?? 0n,
      sources.map(({ index }) => index),
      sources.map(({ lamports }) => lamports),
      now,
    ],
  )
}

/** Maintenance transactions that have not ended, oldest first. Served by solana_chore_open. */
export async function listOpenMaintenance(
  db: Queryable,
  network: Network,
  limit: number,
): Promise<OpenMaintenance[]> {
  const { rows } = await db.query<Row>(
    `select id, kind, nonce_place, vault_lamports, indexes::text[], lamports::text[], txid, raw, last_valid_height
     from solana_chore where network = $1 and ended_at is null order by id limit $2`,
    [network, limit],
  )
  return rows.map((row) => ({ maintenance: maintenanceOf(row), signed: signedOf(row) }))
}

function maintenanceOf(row: Row): MaintenanceTransaction {
  if (row.kind === 'nonce')
    return { kind: 'nonce', id: row.id, place: row.nonce_place ?? 0, vaultLamports: row.vault_lamports }
  const sources = row.indexes.map((index, at) => ({
    index: Number(index),
    lamports: BigInt(row.lamports[at] ?? 0),
  }))
  if (row.kind === 'sweep') return { kind: row.kind, id: row.id, sources }
  const [source] = sources
  if (source === undefined) throw new Error(`${row.id} names no address`)
  return { kind: row.kind, id: row.id, sources: [source] }
}

/** How many maintenance transactions of these kinds were signed since then. */
export async function countSignedMaintenance(
  db: Queryable,
  network: Network,
  { kinds, since }: { readonly kinds: readonly MaintenanceTransaction['kind'][]; readonly since: Date },
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from solana_chore where network = $1 and kind = any($2) and signed_at > $3',
    [network, kinds, since],
  )
  return rows[0]?.count ?? 0
}

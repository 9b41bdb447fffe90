import type { AssetId, Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { type SignedRequest, signedOf } from './solana-requests.ts'

/** A deposit address, and what of its token account is swept, in base units. */
export type TokenSource = { readonly index: number; readonly amount: bigint }

/** A sweep of one token into the vault that the signer is asked for. */
type TokenSweep = {
  readonly id: string
  readonly asset: AssetId
  readonly sources: readonly TokenSource[]
}

type OpenTokenSweep = { readonly sweep: TokenSweep; readonly signed: SignedRequest | null }

/** Requests a sweep. */
export async function insertTokenSweep(
  db: Queryable,
  network: Network,
  { id, asset, sources }: TokenSweep,
  now: Date,
): Promise<void> {
  await db.query(
    `insert into solana_token_sweep (network, id, asset, indexes, amounts, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [network, id, asset, sources.map(({ index }) => index), sources.map(({ amount }) => amount), now],
  )
}

type Row = {
  id: string
  asset: AssetId
  indexes: string[]
  amounts: string[]
  txid: string | null
  raw: Buffer | null
  last_valid_height: number | null
}

/** Sweeps that have not ended, oldest first. Served by solana_token_sweep_open. */
export async function listOpenTokenSweeps(
  db: Queryable,
  network: Network,
  limit: number,
): Promise<OpenTokenSweep[]> {
  const { rows } = await db.query<Row>(
    `select id, asset, indexes::text[], amounts::text[], txid, raw, last_valid_height
     from solana_token_sweep where network = $1 and ended_at is null order by id limit $2`,
    [network, limit],
  )
  return rows.map(({ id, asset, indexes, amounts, ...row }) => ({
    sweep: {
      id,
      asset,
      sources: indexes.map((index, at) => ({ index: Number(index), amount: BigInt(amounts[at] ?? 0) })),
    },
    signed: signedOf(row),
  }))
}

/** How many sweeps were signed since then. Reads the network's. */
export async function countSignedTokenSweeps(db: Queryable, network: Network, since: Date): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from solana_token_sweep where network = $1 and signed_at > $2',
    [network, since],
  )
  return rows[0]?.count ?? 0
}

/** What the vault of a network holds of a token. */
export type VaultToken = {
  readonly asset: AssetId
  readonly mint: string
  /** Base units. */
  readonly amount: bigint
  /** Why nothing of it can be moved whole, in words; null where nothing stands in the way. */
  readonly refusal: string | null
}

/** Keeps what was read of the vault's tokens; one that is not among them is there no more. By primary keys. */
export async function saveVaultTokens(
  db: Queryable,
  network: Network,
  tokens: readonly VaultToken[],
  readAt: Date,
): Promise<void> {
  const assets = tokens.map(({ asset }) => asset)
  await db.query('delete from solana_vault_token where network = $1 and asset <> all ($2)', [network, assets])
  await db.query(
    `insert into solana_vault_token (network, asset, mint, amount, refusal, read_at)
     select $1, t.*, $6 from unnest($2::text[], $3::text[], $4::numeric[], $5::text[]) t
     on conflict (network, asset) do update set mint = excluded.mint, amount = excluded.amount,
       refusal = excluded.refusal, read_at = excluded.read_at`,
    [
      network,
      assets,
      tokens.map(({ mint }) => mint),
      tokens.map(({ amount }) => amount),
      tokens.map(({ refusal }) => refusal),
      readAt,
    ],
  )
}

/** What was read of a token in the vault, and when; null where it is not there. By primary key. */
export async function loadVaultToken(
  db: Queryable,
  network: Network,
  asset: AssetId,
): Promise<(VaultToken & { readonly readAt: Date }) | null> {
  const { rows } = await db.query<VaultToken & { readAt: Date }>(
    `select asset, mint, amount, refusal, read_at as "readAt" from solana_vault_token
     where network = $1 and asset = $2`,
    [network, asset],
  )
  return rows[0] ?? null
}

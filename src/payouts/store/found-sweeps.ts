import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { VAULT_SWEEPS } from './vault-sweeps.ts'

/** A sweep into the vault that was found on the chain, with its bytes. */
type FoundBytes = { readonly txid: string; readonly raw: Buffer }

/** Sweeps that were found on the chain and whose bytes are not kept. Served by solana_chore_found and solana_token_sweep_found. */
export async function listSweepsWithoutBytes(
  db: Queryable,
  network: Network,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const { rows } = await db.query<{ txid: string }>(
    `select distinct c.txid collate "C" as txid from ${VAULT_SWEEPS} c
     where c.network = $1 and c.landed and c.raw is null and c.txid collate "C" > $2
       and not exists (select from solana_found_sweep f where f.network = c.network and f.txid = c.txid)
     order by 1 limit $3`,
    [network, after, limit],
  )
  return rows.map(({ txid }) => txid)
}

/** Keeps the bytes of a sweep that was found, once. */
export async function insertFoundBytes(
  db: Queryable,
  network: Network,
  { txid, raw, now }: FoundBytes & { readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into solana_found_sweep (network, txid, raw, found_at) values ($1, $2, $3, $4) on conflict do nothing`,
    [network, txid, raw, now],
  )
}

/** Bytes of found sweeps after the transaction `after`, in the order of names. By primary key. */
export async function listFoundBytes(
  db: Queryable,
  network: Network,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<FoundBytes[]> {
  const { rows } = await db.query<FoundBytes>(
    'select txid, raw from solana_found_sweep where network = $1 and txid > $2 order by txid limit $3',
    [network, after, limit],
  )
  return rows
}

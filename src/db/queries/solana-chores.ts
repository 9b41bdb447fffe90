import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../pool.ts'
import type { Tenant } from '../transaction.ts'

/** What the signer is asked to do with its own accounts. */
export type SolanaChore =
  | {
      readonly kind: 'nonce'
      readonly id: string
      /** Which of its nonce accounts it makes. */
      readonly place: number
      /** What the vault is given beside, so that it exists. */
      readonly vaultLamports: bigint
    }
  | { readonly kind: 'sweep'; readonly id: string; readonly sources: readonly SweepSource[] }

/** A deposit address, and all that lies there. */
export type SweepSource = { readonly index: number; readonly lamports: bigint }

export type SignedChore = {
  readonly txid: string
  readonly raw: Buffer
  /** The last block, by height, that may hold it. */
  readonly lastValidHeight: number
}

export type OpenChore = { readonly chore: SolanaChore; readonly signed: SignedChore | null }

type Row = {
  id: string
  kind: 'nonce' | 'sweep'
  nonce_place: number | null
  vault_lamports: bigint
  indexes: string[]
  lamports: string[]
  txid: string | null
  raw: Buffer | null
  last_valid_height: number | null
}

/** Asks for a chore. */
export async function insertSolanaChore(
  db: Queryable,
  network: Network,
  chore: SolanaChore,
  now: Date,
): Promise<void> {
  const nonce = chore.kind === 'nonce' ? chore : null
  const sources = chore.kind === 'sweep' ? chore.sources : []
  await db.query(
    `insert into solana_chore (network, id, kind, nonce_place, vault_lamports, indexes, lamports, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      network,
      chore.id,
      chore.kind,
      nonce?.place ?? null,
      nonce?.vaultLamports ?? 0n,
      sources.map(({ index }) => index),
      sources.map(({ lamports }) => lamports),
      now,
    ],
  )
}

/** Chores that have not ended, oldest first. Served by solana_chore_open. */
export async function listOpenChores(db: Queryable, network: Network, limit: number): Promise<OpenChore[]> {
  const { rows } = await db.query<Row>(
    `select id, kind, nonce_place, vault_lamports, indexes::text[], lamports::text[], txid, raw, last_valid_height
     from solana_chore where network = $1 and ended_at is null order by id limit $2`,
    [network, limit],
  )
  return rows.map((row) => ({ chore: choreOf(row), signed: signedOf(row) }))
}

function choreOf(row: Row): SolanaChore {
  if (row.kind === 'nonce')
    return { kind: 'nonce', id: row.id, place: row.nonce_place ?? 0, vaultLamports: row.vault_lamports }
  const sources = row.indexes.map((index, at) => ({
    index: Number(index),
    lamports: BigInt(row.lamports[at] ?? 0),
  }))
  return { kind: 'sweep', id: row.id, sources }
}

function signedOf({ txid, raw, last_valid_height: lastValidHeight }: Row): SignedChore | null {
  return txid === null || raw === null || lastValidHeight === null ? null : { txid, raw, lastValidHeight }
}

/** Keeps the signature of a chore, once. By primary key. */
export async function saveSignedChore(
  db: Queryable,
  network: Network,
  id: string,
  { txid, raw, lastValidHeight, now }: SignedChore & { readonly now: Date },
): Promise<void> {
  await db.query(
    `update solana_chore set txid = $3, raw = $4, last_valid_height = $5, signed_at = $6
     where network = $1 and id = $2 and txid is null`,
    [network, id, txid, raw, lastValidHeight, now],
  )
}

/** How many chores of a network were signed since then. */
export async function countChoresSigned(db: Queryable, network: Network, since: Date): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from solana_chore where network = $1 and signed_at > $2',
    [network, since],
  )
  return rows[0]?.count ?? 0
}

/** Says, once, what became of a chore. By primary key. */
export async function endSolanaChore(
  db: Queryable,
  network: Network,
  id: string,
  { landed, now }: { readonly landed: boolean; readonly now: Date },
): Promise<void> {
  await db.query(
    `update solana_chore set ended_at = $3, landed = $4 where network = $1 and id = $2 and ended_at is null`,
    [network, id, now, landed],
  )
}

/** A deposit address with what must lie there by the books, lamports. */
export type SweepCandidate = { readonly index: number; readonly program: Buffer; readonly expected: bigint }

/** Wrapped SOL is named by an index from here on, and lies elsewhere. */
const WRAPPED_FROM = 1_000

/** What lies in the vault for the merchants in `m`, by `kept` chores: swept in, of each one's own addresses. */
const sweptFor = (kept: string): string => `coalesce((
    select sum(source.lamports) from solana_chore c
    cross join lateral unnest(c.indexes, c.lamports) as source (index, lamports)
    join deposit_address d on d.merchant_id = m.merchant_id and d.livemode = m.livemode and d.keyspace = $2
      and d.idx = source.index
    where c.network = $1 and c.kind = 'sweep' and (${kept})), 0)`

type Place = { readonly network: Network; readonly keyspace: string }

/**
 * Merchants whose payouts under way need more than lies, or is on its way, in the vault for them; lamports. Served by
 * payout_under_way, payout_by_mode and deposit_address' key; reads every sweep.
 */
export async function listSweepNeeds(
  db: Queryable,
  { network, keyspace }: Place,
): Promise<{ readonly tenant: Tenant; readonly missing: bigint }[]> {
  const { rows } = await db.query<{ merchant_id: string; livemode: boolean; missing: bigint }>(
    `select merchant_id, livemode, due - swept as missing from (
       select m.merchant_id, m.livemode,
         (select sum(p.amount) from payout p where p.merchant_id = m.merchant_id and p.livemode = m.livemode
           and p.network = $1 and p.status in ('approved', 'submitted', 'confirmed')) as due,
         ${sweptFor('c.landed or c.ended_at is null')} as swept
       from (select distinct merchant_id, livemode from payout
             where network = $1 and status in ('approved', 'submitted')) m) needs
     where due > swept order by merchant_id`,
    [network, keyspace],
  )
  return rows.map(({ merchant_id: merchantId, livemode, missing }) => ({
    tenant: { merchantId, livemode },
    missing,
  }))
}

/**
 * What lies in the vault for a merchant and is not signed away, lamports: nobody is paid with another's money. Served by
 * payout_by_mode and deposit_address' key; reads every sweep.
 */
export async function loadVaultCredit(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { network, keyspace }: Place,
): Promise<bigint> {
  const { rows } = await db.query<{ credit: bigint }>(
    `select ${sweptFor('c.landed')} - coalesce((
       select sum(p.amount) from payout p where p.merchant_id = m.merchant_id and p.livemode = m.livemode
         and p.network = $1 and (p.status = 'confirmed' or (p.status in ('approved', 'submitted') and exists (
           select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)))), 0) as credit
     from (values ($3::text, $4::boolean)) as m (merchant_id, livemode)`,
    [network, keyspace, merchantId, livemode],
  )
  return rows[0]?.credit ?? 0n
}

/**
 * A merchant's deposit addresses that hold what was paid to them and not swept, the richest first; none of a sweep that
 * has not ended. Served by transfer's and deposit_address' keys, solana_chore_swept.
 */
export async function listSweepCandidates(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { network, keyspace, limit }: Place & { readonly limit: number },
): Promise<SweepCandidate[]> {
  const { rows } = await db.query<SweepCandidate>(
    `with paid as (
       select d.idx as index, d.program, sum(t.amount) as amount
       from transfer t join deposit_address d
         on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
       where t.merchant_id = $3 and t.livemode = $4 and t.network = $1 and t.status = 'confirmed'
         and t.left_on_chain is null and t.output_index < ${WRAPPED_FROM}
       group by d.idx, d.program)
     select index, program, amount - swept as expected from (
       select paid.*, coalesce((
         select sum(c.lamports[array_position(c.indexes, paid.index)]) from solana_chore c
         where c.network = $1 and c.landed and c.indexes @> array[paid.index]), 0) as swept
       from paid
       where not exists (select from solana_chore c
         where c.network = $1 and c.ended_at is null and c.indexes @> array[paid.index])) held
     where amount > swept order by expected desc, index limit $5`,
    [network, keyspace, merchantId, livemode, limit],
  )
  return rows
}

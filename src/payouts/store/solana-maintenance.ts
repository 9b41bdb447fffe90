import type { Network } from '../../core/assets.ts'
import { SWEEP_DAYS_MAX } from '../../db/ledger/audit.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

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

export type SignedMaintenance = {
  readonly txid: string
  readonly raw: Buffer
  /** The height of the last block that may include it. */
  readonly lastValidHeight: number
}

export type OpenMaintenance = {
  readonly maintenance: MaintenanceTransaction
  readonly signed: SignedMaintenance | null
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

function signedOf({ txid, raw, last_valid_height: lastValidHeight }: Row): SignedMaintenance | null {
  return txid === null || raw === null || lastValidHeight === null ? null : { txid, raw, lastValidHeight }
}

/** Ends what was requested before then and that nobody has signed. Served by solana_chore_open. */
export async function endUnsignedMaintenance(
  db: Queryable,
  network: Network,
  { requestedBefore, now }: { readonly requestedBefore: Date; readonly now: Date },
): Promise<void> {
  await db.query(
    `update solana_chore set ended_at = $3, landed = false
     where network = $1 and ended_at is null and txid is null and created_at < $2`,
    [network, requestedBefore, now],
  )
}

/** Keeps the signature of a maintenance transaction that has not ended, once. By primary key. */
export async function saveSignedMaintenance(
  db: Queryable,
  network: Network,
  id: string,
  { txid, raw, lastValidHeight, now }: SignedMaintenance & { readonly now: Date },
): Promise<void> {
  await db.query(
    `update solana_chore set txid = $3, raw = $4, last_valid_height = $5, signed_at = $6
     where network = $1 and id = $2 and txid is null and ended_at is null`,
    [network, id, txid, raw, lastValidHeight, now],
  )
}

/** Sweeps of a network with the bytes that were signed, after the id `after`, in the order of ids. By primary key. */
export async function listSignedSweeps(
  db: Queryable,
  network: Network,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<(SignedMaintenance & { readonly id: string })[]> {
  const { rows } = await db.query<SignedMaintenance & { id: string }>(
    `select id, txid, raw, last_valid_height as "lastValidHeight" from solana_chore
     where network = $1 and id > $2 and kind = 'sweep' and txid is not null and raw is not null
       and last_valid_height is not null order by id limit $3`,
    [network, after, limit],
  )
  return rows
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

/** Records, once, the outcome of a maintenance transaction. */
export async function endMaintenance(
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

/** A deposit address with what it must hold according to the books, in lamports. */
type SweepCandidate = {
  readonly index: number
  readonly addressBytes: Buffer
  readonly expected: bigint
  /** What the fee payer put there beside, for wallets that pay no empty address, and has not taken back. */
  readonly funded: bigint
  /** Whether no block took a sweep of it lately. */
  readonly wasMissed: boolean
}

/** What lies in the vault for the merchants in `m`, by `kept` maintenance transactions: swept in, of each one's own addresses. */
const sweptFor = (kept: string): string => `coalesce((
    select sum(source.lamports) from solana_chore c
    cross join lateral unnest(c.indexes, c.lamports) as source (index, lamports)
    join deposit_address d on d.merchant_id = m.merchant_id and d.livemode = m.livemode and d.keyspace = $2
      and d.idx = source.index
    where c.network = $1 and c.kind = 'sweep' and (${kept})), 0)`

type Place = { readonly network: Network; readonly keyspace: string }

/**
 * Merchants whose payouts under way need more than lies in the vault for them, and for whom nothing is on its way there:
 * one batch at a time, so that nobody's many small deposits stand before everybody else's. Lamports. Served by
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
         ${sweptFor('c.landed')} as swept,
         ${sweptFor('c.ended_at is null')} as coming
       from (select distinct merchant_id, livemode from payout
             where network = $1 and status in ('approved', 'submitted')) m) needs
     where due > swept and coming = 0 order by merchant_id`,
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

/** Sweeps of a network that brought nothing into the vault, or have not yet. Served by solana_chore_unlanded. */
export async function listUnlandedSweeps(db: Queryable, network: Network): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from solana_chore where network = $1 and kind = 'sweep' and landed is not true`,
    [network],
  )
  return rows.map(({ id }) => id)
}

/**
 * Deposit addresses with what must lie there by the books: paid to them and not swept; none of a sweep that has not ended,
 * as far as `sweeps` says which count.
 */
const heldWhere = (filter: string, sweeps = 'true', missed = 'false'): string => `with paid as (
    select t.merchant_id, d.idx as index, d.program, sum(t.amount) as amount
    from transfer t join deposit_address d
      on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
    where t.network = $1 and t.status = 'confirmed' and t.left_on_chain is null
      and t.asset = 'SOL' and ${filter}
    group by t.merchant_id, d.idx, d.program)
  select merchant_id as "merchantId", index, program as "addressBytes", amount - swept as expected, funded, missed as "wasMissed" from (
    select paid.*, coalesce((
      select sum(c.lamports[array_position(c.indexes, paid.index)]) from solana_chore c
      where c.network = $1 and c.kind = 'sweep' and c.landed and c.indexes @> array[paid.index]), 0) as swept,
      coalesce((select sum(case c.kind when 'fund' then c.lamports[1] else -c.lamports[1] end) from solana_chore c
      where c.network = $1 and c.kind in ('fund', 'reclaim') and c.landed and c.indexes @> array[paid.index]), 0) as funded,
      ${missed} as missed
    from paid
    where not exists (select from solana_chore c
      where c.network = $1 and c.ended_at is null and c.indexes @> array[paid.index] and ${sweeps})) held
  where amount > swept order by expected desc, index limit $3`

/**
 * A merchant's, the richest first. `missedSince`: from when on a sweep that no block took counts. Served by transfer's and
 * deposit_address' keys, solana_chore_swept.
 */
export async function listSweepCandidates(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { network, keyspace, limit, missedSince }: Place & { readonly limit: number; readonly missedSince: Date },
): Promise<SweepCandidate[]> {
  const missed = `exists (select from solana_chore c where c.network = $1 and c.kind = 'sweep' and c.landed is false
    and c.signed_at is not null and c.ended_at > $6 and c.indexes @> array[paid.index])`
  const { rows } = await db.query<SweepCandidate>(
    heldWhere('t.merchant_id = $4 and t.livemode = $5', 'true', missed),
    [network, keyspace, limit, merchantId, livemode, missedSince],
  )
  return rows
}

/** Everybody's, the richest first; one leaves when its sweep is signed. Reads every transfer of the network. */
export async function listHeldLamports(
  db: Queryable,
  { network, keyspace, limit }: Place & { readonly limit: number },
): Promise<(SweepCandidate & { readonly merchantId: string })[]> {
  const { rows } = await db.query<SweepCandidate & { merchantId: string }>(
    heldWhere('true', `c.signed_at > now() - interval '${SWEEP_DAYS_MAX} days'`),
    [network, keyspace, limit],
  )
  return rows
}

/**
 * What the vault of a network must hold, lamports: what was swept into it and is not signed away, and what it holds to
 * exist at all; null while nothing was swept. Reads every sweep and every payout of the network.
 */
export async function loadVaultDue(
  db: Queryable,
  network: Network,
): Promise<{ readonly vault: string; readonly due: bigint } | null> {
  const { rows } = await db.query<{ vault: string; due: bigint }>(
    `select h.vault, h.rent_exempt + swept.total - coalesce((
         select sum(p.amount) from payout p where p.network = $1
           and (p.status = 'confirmed' or (p.status in ('approved', 'submitted') and exists (
             select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)))), 0) as due
       from solana_house h cross join (
         select sum(source.lamports) as total from solana_chore c cross join lateral unnest(c.lamports) as source (lamports)
         where c.network = $1 and c.kind = 'sweep' and c.landed) swept
       where h.network = $1 and h.rent_exempt is not null and swept.total is not null`,
    [network],
  )
  return rows[0] ?? null
}

/** A sweep of one address as the chain reports it. */
export type FoundSweep = { readonly txid: string; readonly index: number; readonly lamports: bigint }

/**
 * Books a sweep that the database does not know, or knows as one that did not happen. Returns whether it was booked.
 * Reported twice, it is booked once: each booking locks the network's row of solana_house. Reads the network's maintenance
 * transactions.
 */
export async function bookFoundSweep(
  tx: Tx,
  network: Network,
  { txid, index, lamports }: FoundSweep,
  now: Date,
): Promise<boolean> {
  await tx.query('select from solana_house where network = $1 for no key update', [network])
  const known = await tx.query(
    'update solana_chore set landed = true where network = $1 and txid = $2 and ended_at is not null and not landed',
    [network, txid],
  )
  if (known.rowCount !== 0) return true
  const inserted = await tx.query(
    `insert into solana_chore (network, id, kind, indexes, lamports, txid, created_at, ended_at, landed)
     select $1, $2 || ':' || $3, 'sweep', array[$3::bigint], array[$4::numeric], $2, $5, $5, true
     where not exists (select from solana_chore where network = $1 and txid = $2 and indexes @> array[$3::bigint])`,
    [network, txid, index, lamports, now],
  )
  return inserted.rowCount !== 0
}

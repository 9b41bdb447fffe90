import type { AssetId, Network } from '../../core/assets.ts'
import { SWEEP_DAYS_MAX } from '../../db/ledger/audit.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import type { SignedRequest } from './solana-requests.ts'

type Place = { readonly network: Network; readonly keyspace: string; readonly asset: AssetId }

/** Sweeps into the vaults, each asset in its own base units. */
export const VAULT_SWEEPS = `(select network, id, 'SOL'::text as asset, indexes, lamports as amounts, txid, raw, last_valid_height,
    signed_at, created_at, ended_at, landed from solana_chore where kind = 'sweep'
  union all select network, id, asset, indexes, amounts, txid, raw, last_valid_height,
    signed_at, created_at, ended_at, landed from solana_token_sweep)`

/** What `kept` sweeps `c` of an asset took of the deposit address `index`; parameter $1 is the network. Indexes find them by address. */
export const sweptOf = (of: {
  readonly asset: string
  readonly index: string
  readonly kept: string
}): string => `coalesce((
    select sum(part.amount) from ${VAULT_SWEEPS} c cross join lateral unnest(c.indexes, c.amounts) as part (index, amount)
    where c.network = $1 and c.asset = ${of.asset} and (${of.kept}) and c.indexes @> array[${of.index}] and part.index = ${of.index}), 0)`

/** What lies in the vault for the merchants in `m` in `m.asset`, by `kept` sweeps: swept in, of each one's own addresses. */
const sweptFor = (kept: string): string => `coalesce((
    select sum(part.amount) from ${VAULT_SWEEPS} c
    cross join lateral unnest(c.indexes, c.amounts) as part (index, amount)
    join deposit_address d on d.merchant_id = m.merchant_id and d.livemode = m.livemode and d.keyspace = $2
      and d.idx = part.index
    where c.network = $1 and c.asset = m.asset and (${kept})), 0)`

/** Whether payout p is signed away, or paid. */
const IS_SPENT = `(p.status = 'confirmed' or (p.status in ('approved', 'submitted') and exists (
    select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)))`

/** What a merchant's payouts need beyond what lies in the vault; base units. */
type SweepNeed = { readonly tenant: Tenant; readonly asset: AssetId; readonly missing: bigint }

/**
 * Merchants whose payouts under way need more of an asset than lies in the vault for them, and for whom nothing is on its
 * way there: one batch at a time, so that nobody's many small deposits stand before everybody else's. Served by
 * payout_under_way, payout_by_mode and deposit_address' key; reads every sweep.
 */
export async function listSweepNeeds(
  db: Queryable,
  { network, keyspace }: Omit<Place, 'asset'>,
): Promise<SweepNeed[]> {
  const { rows } = await db.query<{
    merchant_id: string
    livemode: boolean
    asset: AssetId
    missing: bigint
  }>(
    `select merchant_id, livemode, asset, due - swept as missing from (
       select m.merchant_id, m.livemode, m.asset,
         (select sum(p.amount) from payout p where p.merchant_id = m.merchant_id and p.livemode = m.livemode
           and p.network = $1 and p.asset = m.asset and p.status in ('approved', 'submitted', 'confirmed')) as due,
         ${sweptFor('c.landed')} as swept,
         ${sweptFor('c.ended_at is null')} as coming
       from (select distinct merchant_id, livemode, asset from payout
             where network = $1 and status in ('approved', 'submitted')) m) needs
     where due > swept and coming = 0 order by merchant_id, asset`,
    [network, keyspace],
  )
  return rows.map(({ merchant_id: merchantId, livemode, asset, missing }) => ({
    tenant: { merchantId, livemode },
    asset,
    missing,
  }))
}

/**
 * What lies in the vault for a merchant and is not signed away, base units: nobody is paid with another's money. Served by
 * payout_by_mode and deposit_address' key; reads every sweep.
 */
export async function loadVaultCredit(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { network, keyspace, asset }: Place,
): Promise<bigint> {
  const { rows } = await db.query<{ credit: bigint }>(
    `select ${sweptFor('c.landed')} - coalesce((
       select sum(p.amount) from payout p where p.merchant_id = m.merchant_id and p.livemode = m.livemode
         and p.network = $1 and p.asset = m.asset and ${IS_SPENT}), 0) as credit
     from (values ($3::text, $4::boolean, $5::text)) as m (merchant_id, livemode, asset)`,
    [network, keyspace, merchantId, livemode, asset],
  )
  return rows[0]?.credit ?? 0n
}

/** Sweeps of a network and asset that brought nothing into the vault, or have not yet. Served by solana_chore_unlanded and solana_token_sweep_unlanded. */
export async function listUnlandedSweeps(
  db: Queryable,
  { network, asset }: Pick<Place, 'network' | 'asset'>,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from ${VAULT_SWEEPS} c where network = $1 and asset = $2 and landed is not true`,
    [network, asset],
  )
  return rows.map(({ id }) => id)
}

/** A deposit address with what it must hold of an asset according to the books, in base units. */
export type SweepCandidate = {
  readonly index: number
  readonly addressBytes: Buffer
  readonly expected: bigint
  /** One of its payments. */
  readonly transferId: string
  /** Lamports that the fee payer put there beside, for wallets that pay no empty address, and has not taken back. */
  readonly funded: bigint
  /** Whether no block took a sweep of it lately. */
  readonly wasMissed: boolean
}

/**
 * Deposit addresses with what must lie there by the books: paid to them and not swept; none of a sweep that has not ended,
 * as far as `sweeps` says which count.
 */
const heldWhere = (filter: string, sweeps = 'true', missed = 'false'): string => `with paid as (
    select t.merchant_id, t.asset, d.idx as index, d.program, sum(t.amount) as amount, min(t.id) as transfer_id
    from transfer t join deposit_address d
      on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
    where t.network = $1 and t.status = 'confirmed' and t.left_on_chain is null
      and t.asset = any ($4) and ${filter}
    group by t.merchant_id, t.asset, d.idx, d.program)
  select merchant_id as "merchantId", asset, index, program as "addressBytes", amount - swept as expected,
    transfer_id as "transferId", funded,
    missed as "wasMissed" from (
    select paid.*, ${sweptOf({ asset: 'paid.asset', index: 'paid.index', kept: 'c.landed' })} as swept,
      coalesce((select sum(case c.kind when 'fund' then c.lamports[1] else -c.lamports[1] end) from solana_chore c
      where c.network = $1 and c.kind in ('fund', 'reclaim') and c.landed and c.indexes @> array[paid.index]), 0) as funded,
      ${missed} as missed
    from paid
    where not exists (select from ${VAULT_SWEEPS} c
      where c.network = $1 and c.asset = paid.asset and c.ended_at is null and c.indexes @> array[paid.index] and ${sweeps})
    and not (paid.asset = 'SOL' and exists (select from solana_chore c
      where c.network = $1 and c.kind <> 'sweep' and c.ended_at is null and c.indexes @> array[paid.index] and ${sweeps}))) held
  where amount > swept order by expected desc, index limit $3`

/** Whether payment t came to an address d that its issuer lets nobody move from. By frozen_deposit's key. */
const IS_FROZEN = `exists (select from frozen_deposit f where f.merchant_id = t.merchant_id and f.network = t.network
  and f.asset = t.asset and f.address = d.program)`

/**
 * A merchant's of an asset, the richest first, without what is known to be frozen. `missedSince`: from when on a sweep that no block took counts. Served by
 * transfer's and deposit_address' keys, solana_chore_swept, solana_token_sweep_swept.
 */
export async function listSweepCandidates(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  {
    network,
    keyspace,
    asset,
    limit,
    missedSince,
  }: Place & { readonly limit: number; readonly missedSince: Date },
): Promise<SweepCandidate[]> {
  const missed = `exists (select from ${VAULT_SWEEPS} c where c.network = $1 and c.asset = paid.asset and c.landed is false
    and c.signed_at is not null and c.ended_at > $7 and c.indexes @> array[paid.index])`
  const { rows } = await db.query<SweepCandidate>(
    heldWhere(`t.merchant_id = $5 and t.livemode = $6 and not ${IS_FROZEN}`, 'true', missed),
    [network, keyspace, limit, [asset], merchantId, livemode, missedSince],
  )
  return rows
}

/** Everybody's of these assets, the richest first; one leaves when its sweep is signed. Reads every transfer of the network. */
export async function listHeldOnSolana(
  db: Queryable,
  { network, keyspace, limit }: Omit<Place, 'asset'> & { readonly limit: number },
  assets: readonly AssetId[],
): Promise<(SweepCandidate & { readonly merchantId: string; readonly asset: AssetId })[]> {
  const { rows } = await db.query<SweepCandidate & { merchantId: string; asset: AssetId }>(
    heldWhere('true', `c.signed_at > now() - interval '${SWEEP_DAYS_MAX} days'`),
    [network, keyspace, limit, assets],
  )
  return rows
}

/**
 * What the vault of a network must hold of each asset that was ever swept into it, base units: what was swept and is not
 * signed away, and of SOL what it holds to exist at all. Reads every sweep and every payout of the network.
 */
export async function listVaultDues(
  db: Queryable,
  network: Network,
): Promise<{ readonly vault: string; readonly asset: AssetId; readonly due: bigint }[]> {
  const { rows } = await db.query<{ vault: string; asset: AssetId; due: bigint }>(
    `select h.vault, swept.asset, case swept.asset when 'SOL' then h.rent_exempt else 0 end + swept.total - coalesce((
         select sum(p.amount) from payout p where p.network = $1 and p.asset = swept.asset and ${IS_SPENT}), 0) as due
       from solana_house h cross join (
         select c.asset, sum(part.amount) as total from ${VAULT_SWEEPS} c
         cross join lateral unnest(c.amounts) as part (amount)
         where c.network = $1 and c.landed group by c.asset) swept
       where h.network = $1 and h.rent_exempt is not null order by swept.asset`,
    [network],
  )
  return rows
}

/** Sweeps of a network with the bytes that were signed, after the id `after`, in the order of ids. By primary keys. */
export async function listSignedSweeps(
  db: Queryable,
  network: Network,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<(SignedRequest & { readonly id: string })[]> {
  const { rows } = await db.query<SignedRequest & { id: string }>(
    `select id, txid, raw, last_valid_height as "lastValidHeight" from ${VAULT_SWEEPS} c
     where network = $1 and id > $2 and txid is not null and raw is not null
       and last_valid_height is not null order by id limit $3`,
    [network, after, limit],
  )
  return rows
}

/** A sweep of one address as the chain reports it; base units. */
export type FoundSweep = {
  readonly asset: AssetId
  readonly txid: string
  readonly index: number
  readonly amount: bigint
}

/**
 * Books a sweep that the database does not know, or knows as one that did not happen. Returns whether it was booked.
 * Reported twice, it is booked once: each booking locks the network's row of solana_house. Reads the network's maintenance
 * transactions.
 */
export async function bookFoundSweep(
  tx: Tx,
  network: Network,
  { asset, txid, index, amount }: FoundSweep,
  now: Date,
): Promise<boolean> {
  await tx.query('select from solana_house where network = $1 for no key update', [network])
  const table = asset === 'SOL' ? 'solana_chore' : 'solana_token_sweep'
  const known = await tx.query(
    `update ${table} set landed = true where network = $1 and txid = $2 and ended_at is not null and not landed`,
    [network, txid],
  )
  if (known.rowCount !== 0) return true
  const columns = asset === 'SOL' ? 'kind, indexes, lamports' : 'asset, indexes, amounts'
  const inserted = await tx.query(
    `insert into ${table} (network, id, ${columns}, txid, created_at, ended_at, landed)
     select $1, $2 || ':' || $3, $6, array[$3::bigint], array[$4::numeric], $2, $5, $5, true
     where not exists (select from ${table} where network = $1 and txid = $2 and indexes @> array[$3::bigint])`,
    [network, txid, index, amount, now, asset === 'SOL' ? 'sweep' : asset],
  )
  return inserted.rowCount !== 0
}

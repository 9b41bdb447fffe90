import type { AssetId, Network } from '../../core/assets.ts'
import { keyspaceOfNetwork } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { lockUnsigned } from './payout-transactions.ts'

/** Money on its way from a deposit address to the hot wallet. */
export type Sweep = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly id: string
  /** For whose sake; it pays what the sweep takes. */
  readonly payoutId: string
  readonly network: Network
  readonly asset: AssetId
  /** 20 bytes, of the key `account/0/keyIndex`. */
  readonly address: Buffer
  readonly keyIndex: number
  /** What its deposits are worth. Native coin pays its own fee out of it. 0: it puts the sweeper on the network. */
  readonly amount: bigint
  /** Of the deposit address, if it sends the sweep itself; null if the hot wallet fetches a token. */
  readonly nonce: number | null
  /** Of the deposit address, where the hot wallet's transaction delegates it (EIP-7702); null where it was before, or is not. */
  readonly delegationNonce: number | null
  readonly status: 'planned' | 'done' | 'failed'
  /** What it took of the amount; null while it is in no block. */
  readonly cost: bigint | null
}

export type SweepTransaction = {
  readonly number: number
  readonly txid: string
  readonly raw: Buffer
  readonly cost: bigint
}

const COLUMNS = `merchant_id as "merchantId", livemode, id, payout_id as "payoutId", network, asset, address,
  key_index as "keyIndex", amount, nonce, delegation_nonce as "delegationNonce", status, cost`

/** Whether the chain took back what sweep s was to take: then it is worth nothing, unless the deposit comes back. By keys. */
export const LOST_DEPOSIT = `exists (select from sweep_transfer l join transfer t on t.merchant_id = l.merchant_id
  and t.id = l.transfer_id where l.merchant_id = s.merchant_id and l.sweep_id = s.id and t.status in ('replaced', 'reorged'))`

/** Whether sweep s has a signature. By the primary key. */
export const IS_SIGNED = `exists (select from sweep_transaction x where x.merchant_id = s.merchant_id and x.sweep_id = s.id)`

/**
 * Whether nobody waits for the planned sweep s, so that it may go on for another payout: its own failed, was rejected
 * after a restore, or was signed without it, and a sweep is signed only for the sake of a payout that was not. By keys.
 */
export const ORPHANED = `exists (select from payout o where o.merchant_id = s.merchant_id and o.id = s.payout_id
  and (o.status in ('failed', 'rejected') or (not ${IS_SIGNED} and exists (select from payout_transaction y
    where y.merchant_id = o.merchant_id and y.payout_id = o.id))))`

/**
 * The deposits of an address that a sweep of this amount took: the oldest that were not swept, which together are worth
 * exactly that. Empty where none are. Served by transfer's and sweep_transfer's keys.
 */
export async function listDepositsOfSweep(
  db: Queryable,
  tenant: Tenant,
  of: Pick<Sweep, 'network' | 'asset' | 'address' | 'amount'>,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `with unswept as (
       select t.id, sum(t.amount) over (order by t.block_height, t.id) as total
       from transfer t join deposit_address d
         on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $5 and d.program = $6
       where t.merchant_id = $1 and t.livemode = $2 and t.network = $3 and t.asset = $4 and t.status = 'confirmed'
         and t.ledger_bucket = 'available' and t.left_on_chain is null and t.amount > 0
         and not exists (select from sweep_transfer s where s.merchant_id = t.merchant_id and s.transfer_id = t.id))
     select id from unswept where total <= $7 and exists (select from unswept where total = $7) order by total`,
    [
      tenant.merchantId,
      tenant.livemode,
      of.network,
      of.asset,
      keyspaceOfNetwork(of.network),
      of.address,
      of.amount,
    ],
  )
  return rows.map(({ id }) => id)
}

type PlannedSweep = Omit<Sweep, 'status' | 'cost'> & {
  readonly transferIds: readonly string[]
  readonly now: Date
}

/** The same as `insertSweep`, but false, and nothing, where its payout was signed, or is over. */
export async function planSweep(tx: Tx, sweep: PlannedSweep): Promise<boolean> {
  if (!(await lockUnsigned(tx, sweep, sweep.payoutId))) return false
  await insertSweep(tx, sweep)
  return true
}

/** Writes a planned sweep with its deposits. A deposit of another sweep's is an error. */
export async function insertSweep(tx: Tx, sweep: PlannedSweep): Promise<void> {
  await tx.query(
    `insert into sweep (merchant_id, id, livemode, payout_id, network, asset, address, key_index, amount, nonce, status,
       created_at, delegation_nonce)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'planned', $11, $12)`,
    [
      sweep.merchantId,
      sweep.id,
      sweep.livemode,
      sweep.payoutId,
      sweep.network,
      sweep.asset,
      sweep.address,
      sweep.keyIndex,
      sweep.amount,
      sweep.nonce,
      sweep.now,
      sweep.delegationNonce,
    ],
  )
  await tx.query(
    `insert into sweep_transfer (merchant_id, transfer_id, livemode, sweep_id)
     select $1, unnest($4::text[]), $2, $3`,
    [sweep.merchantId, sweep.livemode, sweep.id, sweep.transferIds],
  )
}

/** For which payout a sweep is; null where there is no such sweep. By primary key. */
export async function findPayoutOfSweep(db: Queryable, tenant: Tenant, id: string): Promise<string | null> {
  const { rows } = await db.query<{ payoutId: string }>(
    'select payout_id as "payoutId" from sweep where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0]?.payoutId ?? null
}

/** The sweeps for a payout's sake, oldest first. Served by sweep_by_payout. */
export async function listSweepsOf(db: Queryable, tenant: Tenant, payoutId: string): Promise<Sweep[]> {
  const { rows } = await db.query<Sweep>(
    `select ${COLUMNS} from sweep where merchant_id = $1 and payout_id = $2 and livemode = $3 order by id`,
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  return rows
}

/**
 * A merchant's sweeps of an asset that are in a block, after the id `after`, in the order of ids. Served by
 * sweep_by_asset.
 */
export async function listDoneSweeps(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId; readonly after: string; readonly limit: number },
): Promise<Sweep[]> {
  const { rows } = await db.query<Sweep>(
    `select ${COLUMNS} from sweep where merchant_id = $1 and livemode = $2 and network = $3 and asset = $4
       and status = 'done' and id > $5 order by id limit $6`,
    [tenant.merchantId, tenant.livemode, of.network, of.asset, of.after, of.limit],
  )
  return rows
}

/** Whether a sweep for a payout's sake that is in no block was to take a deposit that the chain took back. By sweep_by_payout. */
export async function hasLostDeposit(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  payoutId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from sweep s where s.merchant_id = $1 and s.payout_id = $2 and s.livemode = $3 and s.status = 'planned'
       and ${LOST_DEPOSIT} limit 1`,
    [merchantId, payoutId, livemode],
  )
  return rowCount === 1
}

/** Whether a network's sweeper was signed, for any merchant's payout, and is in no block. Served by sweep_under_way. */
export async function isSweeperComing(db: Queryable, network: Network): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from sweep s where s.network = $1 and s.final_at is null and s.amount = 0 and s.status = 'planned'
       and ${IS_SIGNED} limit 1`,
    [network],
  )
  return rowCount === 1
}

/** The sweep that has the next nonce of a network's hot wallet; null where none has. By primary keys. */
export async function loadNextSweep(db: Queryable, network: Network): Promise<Sweep | null> {
  const { rows } = await db.query<Sweep>(
    `select ${COLUMNS} from sweep where status = 'planned' and (merchant_id, id) in (
       select n.merchant_id, n.intent_id from hot_wallet h
       join account_nonce n on n.network = h.network and n.sender = h.address and n.nonce = h.nonce
       where h.network = $1)`,
    [network],
  )
  return rows[0] ?? null
}

/** Sweeps of a network that are not final yet, after the id `after`, in the order of ids. Served by sweep_under_way. */
export async function listSweepsUnderWay(
  db: Queryable,
  network: Network,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<Sweep[]> {
  const { rows } = await db.query<Sweep>(
    `select ${COLUMNS} from sweep where network = $1 and final_at is null and id > $2 order by id limit $3`,
    [network, after, limit],
  )
  return rows
}

/**
 * The block of the youngest deposit that a sweep takes: none before it can have the sweep. Null where it takes none. Served
 * by sweep_transfer_by_sweep.
 */
export async function loadSweptSince(db: Queryable, tenant: Tenant, sweepId: string): Promise<number | null> {
  const { rows } = await db.query<{ height: number | null }>(
    `select max(t.block_height) as height from sweep_transfer l
     join transfer t on t.merchant_id = l.merchant_id and t.id = l.transfer_id
     where l.merchant_id = $1 and l.sweep_id = $2 and l.livemode = $3`,
    [tenant.merchantId, sweepId, tenant.livemode],
  )
  return rows[0]?.height ?? null
}

/** A sweep's signed transactions, oldest first. Served by the primary key. */
export async function listSweepTransactions(
  db: Queryable,
  tenant: Tenant,
  sweepId: string,
): Promise<SweepTransaction[]> {
  const { rows } = await db.query<SweepTransaction>(
    `select number, txid, raw, cost from sweep_transaction
     where merchant_id = $1 and sweep_id = $2 and livemode = $3 order by number`,
    [tenant.merchantId, sweepId, tenant.livemode],
  )
  return rows
}

/** Keeps a signed transaction of a sweep. Writing the same one again changes nothing. */
export async function insertSweepTransaction(
  tx: Tx,
  sweep: Pick<Sweep, 'merchantId' | 'livemode' | 'id' | 'network'>,
  signed: SweepTransaction & { readonly now: Date },
): Promise<void> {
  await tx.query(
    `insert into sweep_transaction (merchant_id, sweep_id, number, livemode, network, txid, raw, cost, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (merchant_id, sweep_id, number) do nothing`,
    [
      sweep.merchantId,
      sweep.id,
      signed.number,
      sweep.livemode,
      sweep.network,
      signed.txid,
      signed.raw,
      signed.cost,
      signed.now,
    ],
  )
}

/**
 * A sweep that nobody signed, nor will: it is worth nothing, since what it was to take beside a lost deposit waits for it, or
 * was to put the sweeper there.
 */
const IS_GIVEN_UP = `s.merchant_id = $1 and s.id = $2 and s.livemode = $3 and s.status = 'planned' and not ${IS_SIGNED}
  and ${ORPHANED} and (${LOST_DEPOSIT} or s.amount = 0)`

/** Whether a sweep was not signed, is orphaned, and is worth nothing. By primary keys. */
export async function isGivenUp(
  db: Queryable,
  sweep: Pick<Sweep, 'merchantId' | 'livemode' | 'id'>,
): Promise<boolean> {
  const { rowCount } = await db.query(`select from sweep s where ${IS_GIVEN_UP}`, [
    sweep.merchantId,
    sweep.id,
    sweep.livemode,
  ])
  return rowCount === 1
}

/** Ends a sweep while `isGivenUp` says so; its other deposits may be swept anew. False where it does not. By primary keys. */
export async function endGivenUp(
  db: Queryable,
  sweep: Pick<Sweep, 'merchantId' | 'livemode' | 'id'>,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update sweep s set status = 'failed', final_at = $4 where ${IS_GIVEN_UP}`,
    [sweep.merchantId, sweep.id, sweep.livemode, now],
  )
  return rowCount === 1
}

/**
 * The outcome of a sweep. Facts are absolute; a final sweep changes no more. One that failed lets go of its deposits, by a
 * trigger. False where nothing changed. By primary key and sweep_transfer_by_sweep.
 */
export async function updateSweep(
  db: Queryable,
  sweep: Pick<Sweep, 'merchantId' | 'livemode' | 'id'>,
  fact: {
    readonly status: Sweep['status']
    readonly transaction: { readonly txid: string; readonly cost: bigint } | null
    readonly finalAt: Date | null
  },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update sweep set status = $4, txid = $5, cost = $6, final_at = $7
     where merchant_id = $1 and id = $2 and livemode = $3 and final_at is null
       and (status, txid, cost, final_at) is distinct from ($4, $5, $6::numeric, $7::timestamptz)`,
    [
      sweep.merchantId,
      sweep.id,
      sweep.livemode,
      fact.status,
      fact.transaction?.txid ?? null,
      fact.transaction?.cost ?? null,
      fact.finalAt,
    ],
  )
  return rowCount === 1
}

import { ASSET_IDS, type AssetId, keyspaceOfNetwork, type Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'
import { INVOICE_COLUMNS, type InvoiceRow } from '../invoices/invoice-row.ts'
import { LEAST, MOST, weightOf } from './token-weights.ts'

/** What does not agree: whose it is, which row, and in words what is wrong. */
export type Finding = {
  readonly merchantId: string | null
  readonly subject: string
  readonly detail: string
}

/** So that what is compared is sorted and hashed in memory, and not on disk. */
const WORK_MEMORY = '64MB'

/** Prepares an audit's transaction. Gives the database's process that works at it. */
export async function prepareAudit(tx: Tx): Promise<number> {
  // A check goes through everything and nearly always finds nothing: what its workers hand over costs nothing, though the
  // planner, which cannot know, would count with half of all rows and let one process do it.
  // One plan for every part of the events would not know how large each is.
  const settings = `set_config('work_mem', '${WORK_MEMORY}', true), set_config('parallel_tuple_cost', '0', true),
    set_config('plan_cache_mode', 'force_custom_plan', true)`
  await tx.query(`select ${settings}`)
  const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** Ends the statement that a process of the database works at: one of the same role. */
export async function cancelStatement(db: Queryable, pid: number): Promise<void> {
  await db.query('select pg_cancel_backend($1)', [pid])
}

/** Pages of the table of events, in order: where each process that shares the work begins, and the end. Null: all of them. */
export type EventPart = readonly number[] | null
/** Processes of the database that can share a part: a range of pages is read by one. */
const PART_SHARES = 4

/** The events in parts of so many pages of the table. Within one moment a row stays where it is. */
export async function listEventParts(tx: Tx, pagesMax: number): Promise<EventPart[]> {
  const size = `pg_relation_size('event') / current_setting('block_size')::int`
  const { rows } = await tx.query<{ pages: number }>(`select ${size} as pages`)
  const pages = rows[0]?.pages ?? 0
  if (pages <= pagesMax) return [null]
  return Array.from({ length: Math.ceil(pages / pagesMax) }, (_, part) =>
    Array.from({ length: PART_SHARES + 1 }, (_, share) =>
      Math.min(Math.round((part + share / PART_SHARES) * pagesMax), pages),
    ),
  )
}

const ALL_EVENTS = 'select * from event'
const EVENTS_OF_PART = Array.from(
  { length: PART_SHARES },
  (_, share) => `${ALL_EVENTS} where ctid >= $${share + 2}::tid and ctid < $${share + 3}::tid`,
).join(' union all ')

/**
 * Runs one check: a query that selects merchant_id, subject and detail of everything that disagrees. Materialized, so that
 * it is planned for going through everything: nearly always there is nothing to be found.
 */
export async function findDisagreements(
  db: Queryable,
  sql: string,
  limit: number,
  part: EventPart = null,
): Promise<Finding[]> {
  const { rows } = await db.query<{ merchant_id: string | null; subject: string; detail: string }>(
    `with event_part as not materialized (${part === null ? ALL_EVENTS : EVENTS_OF_PART}),
       disagreement as materialized (${sql})
     select merchant_id, subject, detail from disagreement limit $1`,
    [limit, ...(part ?? []).map((page) => `(${page},0)`)],
  )
  return rows.map((row) => ({ merchantId: row.merchant_id, subject: row.subject, detail: row.detail }))
}

export type InvoiceKey = { readonly merchantId: string; readonly id: string }

/** Invoices that got more than one payment. Served by transfer_by_invoice. */
const SEVERAL_PAYMENTS =
  'select merchant_id, invoice_id from transfer group by merchant_id, invoice_id having count(*) > 1'
/**
 * Each invoice with at most one payment, and its kind: all that the core's rules read of it (what status.ts
 * names JudgedInvoice) and what is stored. Of amounts the rules read only how their sum compares to zero and to the two bounds.
 */
const INVOICE_KINDS = `select i.merchant_id, i.id, row(i.status, i.paid_at is null, i.expired_at is null, i.cancelled_at is null,
    i.accepted_at is null, i.reorg_dismissed, i.announced -> 'paid', i.announced -> 'overpaid', t.status, t.dust,
    t.asset = i.asset or i.also_accepts ? t.asset, t.review_reason, t.resolution, t.ledger_bucket, sign(t.amount),
    i.token_rates is null, sign(t.amount * ${weightOf('t.asset')} - (${LEAST})),
    sign(t.amount * ${weightOf('t.asset')} - (${MOST})))::text as kind
  from invoice i left join transfer t
    on t.merchant_id = i.merchant_id and t.invoice_id = i.id and t.livemode = i.livemode
  where not exists (
    select from (${SEVERAL_PAYMENTS}) s where s.merchant_id = i.merchant_id and s.invoice_id = i.id)`

/** The kinds of invoices with at most one payment, each with an invoice of it. */
export async function listInvoiceKinds(
  db: Queryable,
  limit: number,
): Promise<{ readonly kind: string; readonly example: InvoiceKey }[]> {
  const { rows } = await db.query<{ kind: string; example: string }>(
    `select kind, min(merchant_id || ' ' || id collate "C") as example from (${INVOICE_KINDS}) one group by kind limit $1`,
    [limit],
  )
  return rows.map(({ kind, example }) => {
    const [merchantId = '', id = ''] = example.split(' ')
    return { kind, example: { merchantId, id } }
  })
}

/** Invoices of one kind. */
export async function listInvoicesOfKind(db: Queryable, kind: string, limit: number): Promise<InvoiceKey[]> {
  const { rows } = await db.query<InvoiceKey>(
    `select merchant_id as "merchantId", id from (${INVOICE_KINDS}) one where kind = $1 limit $2`,
    [kind, limit],
  )
  return rows
}

/** The next page of the invoices that got more than one payment, by key. Served by transfer_by_invoice. */
export async function listInvoicesPaidSeverally(
  db: Queryable,
  after: InvoiceKey,
  limit: number,
): Promise<InvoiceKey[]> {
  const { rows } = await db.query<InvoiceKey>(
    `select merchant_id as "merchantId", invoice_id as id from transfer where (merchant_id, invoice_id) > ($1, $2)
     group by merchant_id, invoice_id having count(*) > 1 order by merchant_id, invoice_id limit $3`,
    [after.merchantId, after.id, limit],
  )
  return rows
}

export type AuditedInvoiceRow = InvoiceRow & { readonly status: string }

/** Some invoices, for checks that need the core's own rules. Served by the primary key. */
export async function loadInvoicesForAudit(
  tx: Tx,
  keys: readonly InvoiceKey[],
): Promise<AuditedInvoiceRow[]> {
  const { rows } = await tx.query<AuditedInvoiceRow>(
    `select ${INVOICE_COLUMNS}, status from invoice
     where (merchant_id, id) in (select * from unnest($1::text[], $2::text[]))`,
    [keys.map(({ merchantId }) => merchantId), keys.map(({ id }) => id)],
  )
  return rows
}

export type TransferOnChain = {
  readonly merchantId: string
  readonly id: string
  readonly txid: string
  readonly outputIndex: number
  readonly amount: bigint
  readonly height: number
  readonly hash: string
}

/** Every transfer of the chain that a network is which stands in one of its blocks `from` to `to`. Served by transfer_by_height. */
export async function listTransfersInBlocks(
  db: Queryable,
  network: Network,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<TransferOnChain[]> {
  const { rows } = await db.query<{
    merchant_id: string
    id: string
    txid: string
    output_index: number
    amount: bigint
    block_height: number
    block_hash: string
  }>(
    `select merchant_id, transfer_id as id, txid, output_index, amount, block_height, block_hash from transfer_part
     where network = $1 and block_height between $2 and $3 and left_on_chain is null order by block_height`,
    [network, from, to],
  )
  return rows.map((row) => ({
    merchantId: row.merchant_id,
    id: row.id,
    txid: row.txid,
    outputIndex: row.output_index,
    amount: row.amount,
    height: row.block_height,
    hash: row.block_hash,
  }))
}

/** A block that holds transfers, and one of them. */
export type BlockWithTransfers = {
  readonly height: number
  readonly hash: string
  readonly transfers: number
  readonly merchantId: string
  readonly id: string
}

/** The blocks up to `height` in which transfers of a network are recorded. Served by transfer_by_height. */
export async function listBlocksWithTransfers(
  db: Queryable,
  network: Network,
  height: number,
): Promise<BlockWithTransfers[]> {
  const { rows } = await db.query<BlockWithTransfers>(
    `select block_height as height, block_hash as hash, count(*)::int as transfers,
       (array_agg(merchant_id order by id))[1] as "merchantId", min(id) as id
     from transfer
     where network = $1 and block_height is not null and block_height <= $2 and left_on_chain is null
     group by block_height, block_hash order by block_height`,
    [network, height],
  )
  return rows
}

/** Networks on which payments are recorded, beside those that are named here. Reads transfer. */
export async function listOtherNetworks(db: Queryable, named: readonly Network[]): Promise<string[]> {
  const { rows } = await db.query<{ network: string }>(
    'select distinct network from transfer where network <> all($1) order by network',
    [named],
  )
  return rows.map(({ network }) => network)
}

const ADDRESSES_PAGE = 10_000

/** Every address that was given to an invoice in a keyspace, page by page. Served by deposit_address_by_program. */
export async function* streamDepositAddresses(db: Queryable, keyspace: string): AsyncGenerator<Buffer[]> {
  let after = Buffer.alloc(0)
  for (;;) {
    const { rows } = await db.query<{ addressBytes: Buffer }>(
      'select program as "addressBytes" from deposit_address where keyspace = $1 and program > $2 order by program limit $3',
      [keyspace, after, ADDRESSES_PAGE],
    )
    const last = rows.at(-1)
    if (last === undefined) return
    after = Buffer.from(last.addressBytes)
    yield rows.map((row) => row.addressBytes)
    if (rows.length < ADDRESSES_PAGE) return
  }
}

/** A coin that the ledger says is ours to spend. */
export type BookedCoin = {
  readonly merchantId: string
  readonly txid: string
  readonly outputIndex: number
  /** Base units. */
  readonly amount: bigint
  /** Of the address that it pays: 20 bytes; empty where its invoice has no address there, null where it is not known. */
  readonly addressBytes: Buffer | null
  /** The signed transactions of a payout under way that spends it, if any. */
  readonly spentBy: readonly string[]
}

/** Coins looked up on a chain in one audit, the largest ones. */
const COINS_MAX = 2_000

/**
 * The largest coins of a network that stand in a balance and that no payout has spent for good: final deposits, and change
 * of confirmed payouts.
 */
export async function listBookedCoins(db: Queryable, network: Network): Promise<BookedCoin[]> {
  const { rows } = await db.query<BookedCoin>(
    `select merchant_id as "merchantId", txid, output_index as "outputIndex", amount, address_bytes as "addressBytes",
       array(select t.txid from payout_input i join payout_transaction t
           on t.merchant_id = i.merchant_id and t.payout_id = i.payout_id and t.network = i.network
         where i.merchant_id = coin.merchant_id and i.network = coin.network and i.txid = coin.txid
           and i.output_index = coin.output_index) as "spentBy"
     from (
       select t.merchant_id, t.network, t.txid, t.output_index, t.amount, coalesce(d.program, '') as address_bytes
       from transfer_part t left join deposit_address d
         on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
       where t.network = $1 and t.status = 'confirmed' and t.ledger_bucket = 'available' and t.left_on_chain is null
         and t.amount > 0
       union all
       select c.merchant_id, c.network, c.txid, c.output_index, c.amount, c.program
       from payout_change c join payout p
         on p.merchant_id = c.merchant_id and p.id = c.payout_id and p.status = 'confirmed' and p.txid = c.txid
       where c.network = $1) coin
     where not exists (select from payout_input i
       join payout p on p.merchant_id = i.merchant_id and p.id = i.payout_id and p.status in ('confirmed', 'failed')
       where i.merchant_id = coin.merchant_id and i.network = coin.network and i.txid = coin.txid
         and i.output_index = coin.output_index)
     order by amount desc, txid, output_index limit ${COINS_MAX}`,
    [network, keyspaceOfNetwork(network)],
  )
  return rows
}

/** A coin that a confirmed payout spent. */
export type SpentCoin = Pick<BookedCoin, 'merchantId' | 'txid' | 'outputIndex'> & {
  readonly payoutId: string
}

/** Coins that the newest confirmed payouts of a network spent, as the books say. Served by payout_lately_confirmed. */
export async function listSpentCoins(db: Queryable, network: Network): Promise<SpentCoin[]> {
  const { rows } = await db.query<SpentCoin>(
    `select i.merchant_id as "merchantId", i.txid, i.output_index as "outputIndex", p.id as "payoutId"
     from payout p join payout_input i on i.merchant_id = p.merchant_id and i.payout_id = p.id and i.network = p.network
     where p.network = $1 and p.status = 'confirmed'
     order by p.confirmed_at desc, i.txid, i.output_index limit ${COINS_MAX}`,
    [network],
  )
  return rows
}

/** What must lie at one address, in units of its asset. */
export type HeldMoney = {
  /** Null where it is several merchants'. */
  readonly merchantId: string | null
  readonly asset: AssetId
  /** 20 bytes, on Solana 32. */
  readonly addressBytes: Buffer
  readonly amount: bigint
}

/** Addresses looked up on a chain in one audit, those that hold the most. */
export const ADDRESSES_MAX = 500

/** Days after which a signed sweep that is not known to have taken its deposits has left them where they were. */
export const SWEEP_DAYS_MAX = 1

/** Balances that still lie at deposit addresses of an account-based network, except where a signed sweep is on its way. */
export async function listHeldDeposits(db: Queryable, network: Network): Promise<HeldMoney[]> {
  const { rows } = await db.query<HeldMoney>(
    `select t.merchant_id as "merchantId", t.asset, d.program as "addressBytes", sum(t.amount) as amount
     from transfer t join deposit_address d
       on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
     where t.network = $1 and t.asset = any($3) and t.status = 'confirmed'
       and t.ledger_bucket = 'available' and t.left_on_chain is null and t.amount > 0
       and not exists (select from sweep_transfer l join sweep s on s.merchant_id = l.merchant_id and s.id = l.sweep_id
         where l.merchant_id = t.merchant_id and l.transfer_id = t.id and s.status <> 'planned')
       and not exists (select from sweep s join sweep_transaction w on w.merchant_id = s.merchant_id and w.sweep_id = s.id
         where s.merchant_id = t.merchant_id and s.network = $1 and s.address = d.program and s.status = 'planned'
         and w.created_at > now() - interval '${SWEEP_DAYS_MAX} days')
     group by t.merchant_id, t.asset, d.program
     order by amount desc, d.program limit ${ADDRESSES_MAX}`,
    [network, keyspaceOfNetwork(network), ASSET_IDS],
  )
  return rows
}

/** When the first address of a keyspace was given out: nothing of ours is on chain before. */
export async function firstDepositAt(db: Queryable, keyspace: string): Promise<Date | null> {
  const { rows } = await db.query<{ first: Date | null }>(
    'select min(created_at) as first from deposit_address where keyspace = $1',
    [keyspace],
  )
  return rows[0]?.first ?? null
}

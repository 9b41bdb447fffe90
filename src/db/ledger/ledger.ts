import type { PaymentAsset } from '../../core/assets.ts'
import type { LedgerAccount, OutsideAccount } from '../../core/ledger/deposit.ts'
import type { Availability } from '../../core/ledger/shortfall.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { Rows } from '../../postgres/rows.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { HOME_COLUMNS, HOME_JOINS, type HomeRow, REFERENCE_COLUMN, REFERENCE_JOIN } from './currency-rates.ts'

export type LedgerTransfer = {
  readonly id: string
  readonly kind: string
  readonly invoiceId: string | null
  readonly paymentId: string | null
  readonly payoutId?: string | null
  readonly asset: PaymentAsset
  /** Moved from the first account to the second, base units. */
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  readonly amount: bigint
  readonly usdCents: bigint | null
  /** An earlier transfer of the same money, whose value it keeps: what is taken back is worth what it was when it came. */
  readonly valuedAs?: string | null
  readonly createdAt: Date
}

/**
 * Writes ledger transfers in their order, each with its two entries, in one statement, which the database checks and whose
 * entries move the balances. It takes the ledger lock itself, as `lockLedger` does. Gives for each what then stood in the
 * account that it moved to, base units; null where that is an outside one.
 */
export async function insertLedgerTransfers(
  tx: Tx,
  tenant: Tenant,
  transfers: readonly LedgerTransfer[],
): Promise<(bigint | null)[]> {
  if (transfers.length === 0) return []
  const written = await tx.query<{
    transfer_id: string
    account: LedgerAccount
    balance_after: bigint | null
  }>(INSERT_TRANSFERS, [tenant.merchantId, tenant.livemode, new Rows(rowsOf(transfers))])
  const balances = new Map(
    written.rows.map((row) => [`${row.transfer_id} ${row.account}`, row.balance_after] as const),
  )
  return transfers.map(({ id, to }) => balances.get(`${id} ${to}`) ?? null)
}

/** What is available and what is missing of an asset, for who holds the ledger lock. By the primary key. */
export async function loadAvailability(tx: Tx, tenant: Tenant, asset: PaymentAsset): Promise<Availability> {
  const { rows } = await tx.query<{ account: LedgerAccount; balance: bigint }>(
    `select account, balance from ledger_balance
     where merchant_id = $1 and livemode = $2 and asset = $3 and account in ('available', 'shortfall')`,
    [tenant.merchantId, tenant.livemode, asset],
  )
  const balanceOf = (account: LedgerAccount) => rows.find((row) => row.account === account)?.balance ?? 0n
  return { available: balanceOf('available'), shortfall: balanceOf('shortfall') }
}

/**
 * Takes the ledger lock of a merchant and mode until the transaction ends: nobody else moves its balances meanwhile.
 * Transactions that touch the same balances in different orders would otherwise end in a deadlock.
 */
export async function lockLedger(tx: Tx, { merchantId, livemode }: Tenant): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `ledger/${merchantId}/${livemode}`,
  ])
}

/**
 * Moves what an account has, in one conditional statement: false, and nothing written, where it has less. Whoever else
 * posts for the merchant waits before, so that what the condition sees is what stands. Served by the key of
 * ledger_balance.
 */
export async function insertCoveredTransfer(
  tx: Tx,
  tenant: Tenant,
  transfer: LedgerTransfer,
): Promise<boolean> {
  const [, written] = await Promise.all([
    lockLedger(tx, tenant),
    // As text: a statement that took other callers' rows too would compare each with the whole balance.
    tx.query(INSERT_COVERED_TRANSFER, [
      tenant.merchantId,
      tenant.livemode,
      JSON.stringify(rowsOf([transfer])),
    ]),
  ])
  return written.rowCount === 2
}

const TRANSFER_COLUMNS =
  'merchant_id, id, livemode, kind, invoice_id, usd_cents, created_at, payment_id, payout_id'
const ENTRY_COLUMNS = 'merchant_id, transfer_id, account, asset, livemode, amount, created_at'
const TRANSFER_ROW = `id text, kind text, invoice_id text, payment_id text, payout_id text, usd_cents numeric, asset text,
  source text, target text, amount numeric, created_at timestamptz, place integer`
const insertWhere = (condition: string) => `with made as materialized (
    select * from json_to_recordset($3) as row (${TRANSFER_ROW}) where ${condition}),
  new_transfer as (
    insert into ledger_transfer (${TRANSFER_COLUMNS})
    select $1, id, $2, kind, invoice_id, usd_cents, created_at, payment_id, payout_id from made)
  insert into ledger_entry (${ENTRY_COLUMNS})
  select $1, made.id, side.account, made.asset, $2, side.amount, made.created_at
  from made, lateral (values (1, source, -amount), (2, target, amount)) as side (place, account, amount)
  order by made.place, side.place
  returning transfer_id, account, balance_after`
const INSERT_TRANSFERS = insertWhere('true')
const INSERT_COVERED_TRANSFER = insertWhere(
  `(select balance from ledger_balance
    where merchant_id = $1 and livemode = $2 and asset = row.asset and account = row.source) >= row.amount`,
)

const rowsOf = (transfers: readonly LedgerTransfer[]) =>
  transfers.map((transfer, place) => ({
    id: transfer.id,
    kind: transfer.kind,
    invoice_id: transfer.invoiceId,
    payment_id: transfer.paymentId,
    payout_id: transfer.payoutId ?? null,
    usd_cents: transfer.usdCents?.toString() ?? null,
    asset: transfer.asset,
    source: transfer.from,
    target: transfer.to,
    amount: transfer.amount.toString(),
    created_at: transfer.createdAt,
    place,
  }))

/**
 * What a ledger transfer moved, into which account, and what it was worth; null where there is no such transfer. Served by
 * the primary keys.
 */
export async function loadLedgerCredit(
  tx: Tx,
  tenant: Tenant,
  transferId: string,
): Promise<{
  readonly account: LedgerAccount
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly usdCents: bigint | null
} | null> {
  const { rows } = await tx.query<{
    account: LedgerAccount
    asset: PaymentAsset
    amount: bigint
    usdCents: bigint | null
  }>(
    `select e.account, e.asset, e.amount, t.usd_cents as "usdCents"
     from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
     where e.merchant_id = $1 and e.livemode = $2 and e.transfer_id = $3 and e.amount > 0`,
    [tenant.merchantId, tenant.livemode, transferId],
  )
  return rows[0] ?? null
}

/** What stands in one account, base units. By the primary key. */
export async function loadBalance(
  tx: Tx,
  tenant: Tenant,
  asset: PaymentAsset,
  account: LedgerAccount,
): Promise<bigint> {
  const rows = await loadBalances(tx, tenant)
  return rows.find((row) => row.asset === asset && row.account === account)?.balance ?? 0n
}

type BalanceRow = { asset: PaymentAsset; account: LedgerAccount; balance: bigint }

/** What stands in each account of a merchant in one mode. */
export async function loadBalances(tx: Tx, tenant: Tenant): Promise<BalanceRow[]> {
  const { rows } = await tx.query<BalanceRow>(
    `select asset, account, balance from ledger_balance where merchant_id = $1 and livemode = $2`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows
}

/**
 * What stood in each account of a merchant in one mode at a time. A posting may wait for its turn, so that the statement's
 * order decides: after the last entry that was written before. Served by ledger_entry_in_order and ledger_entry_by_asset.
 */
export async function loadBalancesAt(tx: Tx, tenant: Tenant, at: Date): Promise<BalanceRow[]> {
  const { rows } = await tx.query<BalanceRow>(
    `select b.asset, b.account, e.balance_after as balance
     from ledger_balance b cross join lateral (
       select balance_after from ledger_entry
       where merchant_id = $1 and livemode = $2 and asset = b.asset and account = b.account
         and position <= ${lastBefore('$3')}
       order by position desc limit 1) e
     where b.merchant_id = $1 and b.livemode = $2`,
    [tenant.merchantId, tenant.livemode, at],
  )
  return rows
}

/** The position of the last entry that was written before a time; 0 where there is none. Served by ledger_entry_in_order. */
export async function loadPositionBefore(tx: Tx, tenant: Tenant, at: Date): Promise<number> {
  const { rows } = await tx.query<{ position: number }>(`select ${lastBefore('$3')} as position`, [
    tenant.merchantId,
    tenant.livemode,
    at,
  ])
  return rows[0]?.position ?? 0
}

/** A posting waits for its turn less long than this: what stands so far behind is no older. */
const ORDER_SLACK = "interval '10 minutes'"

/**
 * The position of the last entry of `$1` and `$2` that was written before a time; 0 where there is none. Entries stand nearly
 * in the order of their times, so that halving finds where to look back from, in twenty steps of a million entries.
 */
const lastBefore = (at: string): string =>
  `coalesce((
    with recursive halving (low, high) as (
      select 0::bigint, (select max(position) from ledger_entry
        where merchant_id = $1 and livemode = $2 and position is not null)::bigint
      union all
      select case when probe.is_before then middle else low end, case when probe.is_before then high else middle - 1 end
      from halving cross join lateral (select (low + high + 1) / 2 as middle) half cross join lateral (
        select created_at < ${at}::timestamptz + ${ORDER_SLACK} as is_before from ledger_entry
        where merchant_id = $1 and livemode = $2 and position >= middle order by position limit 1) probe
      where low < high)
    select position from ledger_entry
    where merchant_id = $1 and livemode = $2 and position <= (select max(low) from halving) and created_at < ${at}
    order by position desc limit 1), 0)`

export type ShortBalances = {
  readonly [owner in 'merchants' | 'fees']: { readonly live: number; readonly test: number }
}

/**
 * In how many balances of each mode something is missing that was paid out, of merchants and of the operator's fees. Served
 * by ledger_balance_outside, which reads every balance of these two accounts: one that knew the balance would cost each posting.
 */
export async function countShortfalls(db: Queryable): Promise<ShortBalances> {
  const { rows } = await db.query<{ account: 'shortfall' | 'fees'; live: number; test: number }>(
    `select account, count(*) filter (where livemode)::int as live, count(*) filter (where not livemode)::int as test
     from ledger_balance where account in ('shortfall', 'fees') and balance < 0 group by account`,
  )
  const of = (account: 'shortfall' | 'fees') => {
    const { live = 0, test = 0 } = rows.find((row) => row.account === account) ?? {}
    return { live, test }
  }
  return { merchants: of('shortfall'), fees: of('fees') }
}

export type LedgerEntryRow = HomeRow & {
  readonly position: number
  readonly account: Exclude<LedgerAccount, OutsideAccount>
  readonly asset: PaymentAsset
  /** What came in, or, negative, went out. */
  readonly amount: bigint
  readonly balance_after: bigint
  readonly created_at: Date
  readonly kind: string
  readonly invoice_id: string | null
  readonly payment_id: string | null
  readonly payout_id: string | null
  readonly usd_cents: bigint | null
  /** The shop's own for the invoice, or for the customer of a deposit. */
  readonly reference: string | null
}

/**
 * A page of a merchant's statement in one mode, newest first: the entries of every account but the outside's and the fees'. Served
 * by ledger_entry_in_order, or by ledger_entry_by_asset.
 */
export async function listLedgerEntries(
  tx: Tx,
  tenant: Tenant,
  filters: {
    readonly limit: number
    /** Positions, exclusive; at most one of these two. */
    readonly before: bigint | null
    readonly after: bigint | null
    readonly asset: PaymentAsset | null
    readonly account?: LedgerEntryRow['account'] | null
    /** From the first time to before the second, in the order of the statement. */
    readonly createdAfter?: Date | null
    readonly createdBefore?: Date | null
  },
): Promise<{ entries: LedgerEntryRow[]; hasMore: boolean }> {
  const values: unknown[] = [tenant.merchantId, tenant.livemode]
  const conditions = ['e.merchant_id = $1', 'e.livemode = $2', 'e.position is not null']
  const where = (column: string, value: unknown, sqlOf = (parameter: string) => parameter): void => {
    if (value === null) return
    values.push(value)
    conditions.push(`${column} ${sqlOf(`$${values.length}`)}`)
  }
  where('e.position <', filters.before)
  where('e.position >', filters.after)
  where('e.asset =', filters.asset)
  where('e.account =', filters.account ?? null)
  where('e.position >', filters.createdAfter ?? null, lastBefore)
  where('e.position <=', filters.createdBefore ?? null, lastBefore)
  const oldestFirst = filters.after !== null
  const { rows } = await tx.query<LedgerEntryRow>(
    `select e.position, e.account, e.asset, e.amount, e.balance_after, e.created_at, t.kind, t.invoice_id,
       t.payment_id, t.payout_id, t.usd_cents, ${REFERENCE_COLUMN}, ${HOME_COLUMNS}
     from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
     ${HOME_JOINS}
     ${REFERENCE_JOIN}
     where ${conditions.join(' and ')}
     order by e.position ${oldestFirst ? 'asc' : 'desc'} limit ${filters.limit + 1}`,
    values,
  )
  const entries = rows.slice(0, filters.limit)
  if (oldestFirst) entries.reverse()
  return { entries, hasMore: rows.length > filters.limit }
}

import type { AssetId } from '../../core/assets.ts'
import type { Invoice, InvoiceStatus } from '../../core/invoice/types.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { loadReceived } from '../ledger/received.ts'
import { firstIdAt } from '../list-page.ts'
import { INVOICE_COLUMNS, type InvoiceRow, invoiceFromRow } from './invoice-row.ts'

export type InvoiceFilters = {
  readonly limit: number
  /** At most one of these two. */
  readonly startingAfter: string | null
  readonly endingBefore: string | null
  readonly status?: InvoiceStatus | undefined
  readonly asset?: AssetId | undefined
  /** Only those that wait for the merchant's decision at this moment. */
  readonly waitingAt?: Date | undefined
  readonly externalReference?: string | undefined
  readonly orderReference?: string | undefined
  readonly paymentLinkId?: string | undefined
  /** Both exclusive. */
  readonly createdAfterMs?: number | undefined
  readonly createdBeforeMs?: number | undefined
  readonly search?: InvoiceSearch | undefined
}

type InvoiceSearch = {
  /** The beginning of an id, a reference or an email address; a whole transaction id. */
  readonly text: string
  /** Of the deposit address that the text is, if it is one. */
  readonly addressBytes: Uint8Array | null
}

/** The greatest code point: whatever begins with a text sorts, byte by byte, below the text followed by it. */
export const LAST_CHARACTER = '\u{10ffff}'
/** More than this are not named one by one. */
const RARE_MATCHES_MAX = 10_000
/** So many of a list are looked through for a text that more begin with. */
const WALKED_MAX = 20_000
/** Of each kind that waits for a decision, the newest; nobody decides about more in one sitting. */
const WAITING_MAX = 1_000

/**
 * A page of invoices with their payments, newest first, and whether there are more. Ids sort by time: pages and
 * times are ranges of ids, on invoice_by_mode, invoice_by_status, invoice_by_asset, invoice_by_link or a reference's index. Only comparisons that
 * row level security lets into an index are used: `like` and functions are not.
 */
export async function listInvoices(
  tx: Tx,
  tenant: Tenant,
  filters: InvoiceFilters,
): Promise<{ invoices: Invoice[]; hasMore: boolean }> {
  const values: unknown[] = [tenant.merchantId, tenant.livemode]
  const conditions = ['merchant_id = $1', 'livemode = $2']
  const where = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === null || value === undefined) return
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  where((id) => `id < ${id}`, filters.startingAfter)
  where((id) => `id > ${id}`, filters.endingBefore)
  where((status) => `status = ${status}`, filters.status)
  where((asset) => `asset = ${asset}`, filters.asset)
  where((text) => `external_reference collate "C" = ${text}`, filters.externalReference)
  where((text) => `order_reference collate "C" = ${text}`, filters.orderReference)
  where((id) => `payment_link_id = ${id}`, filters.paymentLinkId)
  where((id) => `id >= ${id}`, firstIdAt('invoice', filters.createdAfterMs, 1))
  where((id) => `id < ${id}`, firstIdAt('invoice', filters.createdBeforeMs, 0))
  const planned = planByIndexes(tx)
  let common: InvoiceSearch | null = null
  if (filters.waitingAt !== undefined) {
    const [waiting] = await Promise.all([findWaiting(tx, tenant, filters.waitingAt), planned])
    where((ids) => `id = any(${ids})`, waiting)
  }
  if (filters.search !== undefined) {
    const [rare] = await Promise.all([findRareMatches(tx, tenant, filters.search), planned])
    if (rare !== null) where((ids) => `id = any(${ids})`, rare)
    else common = filters.search
  }
  const oldestFirst = filters.endingBefore !== null
  const list = {
    conditions,
    values,
    direction: oldestFirst ? 'asc' : 'desc',
    count: filters.limit + 1,
  } as const
  const [, rows] = await Promise.all([
    planned,
    common === null ? readList(tx, list) : readCommonMatches(tx, list, common),
  ])
  const page = rows.slice(0, filters.limit)
  if (oldestFirst) page.reverse()
  const received = await loadReceived(
    tx,
    tenant,
    page.map((row) => row.id),
  )
  return {
    invoices: page.map((row) => invoiceFromRow(row, received.get(row.id))),
    hasMore: rows.length > filters.limit,
  }
}

type ListQuery = {
  readonly conditions: readonly string[]
  /** Merchant and mode first. */
  readonly values: readonly unknown[]
  readonly direction: 'asc' | 'desc'
  readonly count: number
}

/** The first invoices of a list. On the index of whichever condition is the rarest. */
async function readList(
  tx: Tx,
  { conditions, values, direction, count }: ListQuery,
): Promise<readonly InvoiceRow[]> {
  const { rows } = await tx.query<InvoiceRow>(
    `select ${INVOICE_COLUMNS} from invoice where ${conditions.join(' and ')}
     order by id ${direction} limit ${count}`,
    [...values],
  )
  return rows
}

/**
 * The first invoices of a list among the very many that begin with a text: they are looked for along the list, and
 * where so many of it hold too few, as with the order numbers of long ago, by the text's own index.
 */
async function readCommonMatches(
  tx: Tx,
  list: ListQuery,
  { text }: InvoiceSearch,
): Promise<readonly InvoiceRow[]> {
  const { direction, count } = list
  const [first, last] = [`$${list.values.length + 1}`, `$${list.values.length + 2}`]
  const values = [...list.values, text, `${text}${LAST_CHARACTER}`]
  const matches = SEARCHED_COLUMNS.map((column) => begins(column, first, last))
  const { rows: edges } = await tx.query<{ id: string }>(
    `select id from invoice where ${list.conditions.join(' and ')}
     order by id ${direction} offset ${WALKED_MAX} limit 1`,
    [...list.values],
  )
  const edge = edges[0]?.id
  const conditions = [...list.conditions, `(${matches.join(' or ')})`]
  const window = edge === undefined ? [] : [`id ${direction === 'asc' ? '<=' : '>='} $${values.length + 1}`]
  const near = await readList(tx, {
    ...list,
    conditions: [...conditions, ...window],
    values: edge === undefined ? values : [...values, edge],
  })
  if (edge === undefined || near.length === count) return near
  // Of each column its first ones: gathering them all takes several times as long. The offset keeps the planner
  // from walking along the list.
  const found = matches.map(
    (match) => `(select id from (
        select id from invoice where ${list.conditions.join(' and ')} and ${match} offset 0) matched
      order by id ${direction} limit ${count})`,
  )
  const { rows } = await tx.query<InvoiceRow>(
    `with found as materialized (${found.join(' union all ')})
     select ${INVOICE_COLUMNS} from invoice
     where merchant_id = $1 and livemode = $2
       and id in (select id from found group by id order by id ${direction} limit ${count})
     order by id ${direction}`,
    values,
  )
  return rows
}

/**
 * For the rest of the transaction each value gets a plan of its own, since one for all would walk the whole list for a
 * status that nothing has; and no plan reads the whole table, which looks cheap for a text that many begin with and is
 * not where those that do are all at its end. It travels with the statement after it.
 */
export const planByIndexes = (tx: Tx): Promise<unknown> =>
  tx.query(
    `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true)`,
  )

/**
 * The invoices that wait for a decision. One that is paid in part waits for its buyer until its deadline. A dismissal leaves a status as the payments make it, so that it counts
 * until the next payment. On invoice_by_status, invoice_resolution_by_invoice and transfer_under_review.
 */
export async function findWaiting(tx: Tx, tenant: Tenant, now: Date): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `(select id from invoice
      where merchant_id = $1 and livemode = $2 and status = 'manual_review' order by id desc limit $3)
     union
     (select id from invoice
      where merchant_id = $1 and livemode = $2 and status in ('partially_paid', 'overpaid')
        and (status = 'overpaid' or expires_at <= $4)
        and not exists (
          select from invoice_resolution
          where merchant_id = $1 and invoice_id = invoice.id and resolution = 'dismiss'
            and created_at >= (
              select max(coalesce(confirmed_at, detected_at)) from transfer
              where merchant_id = $1 and invoice_id = invoice.id))
      order by id desc limit $3)
     union
     (select distinct invoice_id from transfer
      where merchant_id = $1 and livemode = $2 and review_reason is not null and resolution is null
        and status in ('detected', 'confirming', 'confirmed')
      order by invoice_id desc limit $3)`,
    [tenant.merchantId, tenant.livemode, WAITING_MAX, now],
  )
  return rows.map((row) => row.id)
}

/**
 * The invoices that a search finds, or null where they are too many to name (transactions and addresses never are). Each branch is a range of one index
 * and ends at the limit, so that a text which nothing begins with costs no walk through the whole list.
 */
async function findRareMatches(tx: Tx, tenant: Tenant, search: InvoiceSearch): Promise<string[] | null> {
  const beginning = SEARCHED_COLUMNS.map(
    (column) =>
      `(select id from invoice where merchant_id = $1 and livemode = $2 and ${begins(column, '$3', '$4')} limit $5)`,
  )
  const { rows } = await tx.query<{ id: string }>(
    `${beginning.join(' union all ')}
     union all (
       select invoice_id from transfer
       where merchant_id = $1 and livemode = $2 and txid = $3::text
         and network in (select network from network_state) limit $5)
     union all (
       select invoice_id from deposit_address
       where merchant_id = $1 and livemode = $2 and program = $6::bytea
         and keyspace in (select keyspace from account_key) limit $5)`,
    [
      tenant.merchantId,
      tenant.livemode,
      search.text,
      `${search.text}${LAST_CHARACTER}`,
      RARE_MATCHES_MAX + 1,
      search.addressBytes === null ? null : Buffer.from(search.addressBytes),
    ],
  )
  return rows.length > RARE_MATCHES_MAX ? null : rows.map((row) => row.id)
}

const SEARCHED_COLUMNS = ['id', 'external_reference', 'order_reference', 'customer_email'] as const

export const begins = (column: (typeof SEARCHED_COLUMNS)[number], text: string, end: string): string =>
  `${column} collate "C" >= ${text}::text and ${column} collate "C" < ${end}::text`

/** Whether the tenant has this invoice. Served by the primary key. */
export async function invoiceExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from invoice where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rowCount === 1
}

/** These invoices with their payments, those that are there. Served by the primary key. */
export async function loadInvoicesById(
  tx: Tx,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Map<string, Invoice>> {
  if (ids.length === 0) return new Map()
  const { rows } = await tx.query<InvoiceRow>(
    `select ${INVOICE_COLUMNS} from invoice where merchant_id = $1 and id = any($2) and livemode = $3`,
    [tenant.merchantId, ids, tenant.livemode],
  )
  const received = await loadReceived(tx, tenant, ids)
  return new Map(rows.map((row) => [row.id, invoiceFromRow(row, received.get(row.id))]))
}

/** How many invoices wait for their payment, counted to `max`. Served by invoice_by_status. */
export async function countOpenInvoices(tx: Tx, tenant: Tenant, max: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from (
       select from invoice where merchant_id = $1 and livemode = $2 and status = 'awaiting_payment' limit $3) as open`,
    [tenant.merchantId, tenant.livemode, max],
  )
  return rows[0]?.count ?? 0
}

/** How many of them are of plain links, which anybody opens. Reads the rows, where the other count reads an index. */
export async function countOpenLinkInvoices(tx: Tx, tenant: Tenant, max: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from (
       select from invoice where merchant_id = $1 and livemode = $2 and status = 'awaiting_payment'
         and payment_link_id is not null and checkout_session_id is null limit $3) as open`,
    [tenant.merchantId, tenant.livemode, max],
  )
  return rows[0]?.count ?? 0
}

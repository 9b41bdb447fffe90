import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { begins, LAST_CHARACTER } from './invoice-list.ts'

export type Customer = {
  readonly name: string
  readonly email: string | null
  readonly reference: string | null
  readonly invoices: number
  readonly paid: number
  readonly paidCents: bigint
  readonly firstAt: Date
  readonly lastAt: Date
  readonly lastId: string
}

/** So many invoices are read, of the newest or of what a search finds in each column. */
const INVOICES_READ_MAX = 10_000
const NAMING_COLUMNS = ['customer_email', 'external_reference', 'order_reference'] as const

/**
 * Who the newest invoices were for, by email address, else by reference, the latest buyer first; with a search, those
 * whose address or reference begins so. Served by invoice_by_mode, and with a search by the index of each column, in the
 * order of that index, so that a text which very many begin with costs no more than one.
 */
export async function listCustomers(
  tx: Tx,
  tenant: Tenant,
  { search, limit }: { search: string | null; limit: number },
): Promise<{ customers: Customer[]; hasMore: boolean }> {
  const columns = 'id, customer_email, external_reference, order_reference, usd_cents, status, created_at'
  const read = (where: string, order: string) =>
    `(select ${columns} from invoice where merchant_id = $1 and livemode = $2 ${where}
      order by ${order} limit ${INVOICES_READ_MAX})`
  const source =
    search === null
      ? read('', 'id desc')
      : NAMING_COLUMNS.map((column) =>
          read(`and ${begins(column, '$4', '$5')}`, `${column} collate "C"`),
        ).join(' union ')
  const { rows } = await tx.query<Customer>(
    `select name, max(customer_email) as email,
       (array_agg(coalesce(external_reference, order_reference) order by id desc))[1] as reference,
       count(*)::int as invoices, count(*) filter (where status in ('paid', 'overpaid'))::int as paid,
       coalesce(sum(usd_cents) filter (where status in ('paid', 'overpaid')), 0)::numeric as "paidCents",
       min(created_at) as "firstAt", max(created_at) as "lastAt", max(id) as "lastId"
     from (select *, coalesce(customer_email, external_reference, order_reference) as name from (${source}) read) named
     where name is not null
     group by name order by max(id) desc limit $3`,
    [
      tenant.merchantId,
      tenant.livemode,
      limit + 1,
      ...(search === null ? [] : [search, `${search}${LAST_CHARACTER}`]),
    ],
  )
  return { customers: rows.slice(0, limit), hasMore: rows.length > limit }
}

import type { TillSale } from '../../core/checkout/till.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { firstIdAt } from '../list-page.ts'

/** The newest sales that the till's page lists. */
const LISTED_MAX = 50

/** A sale's price in the till's currency: its own, or the invoice's dollars. */
const AMOUNT = `case when $5 = 'USD' then round(usd_cents / 100, 2) else price_amount::numeric end`
const OF_TILL = `merchant_id = $1 and livemode = $2 and payment_link_id = $3 and id >= $4
  and coalesce(price_currency, 'USD') = $5`

/**
 * What was paid for a till's sales since a moment, in its currency, and its newest sales, paid or not. Ids sort by time:
 * served by invoice_by_link.
 */
export async function loadTillSales(
  tx: Tx,
  tenant: Tenant,
  till: { readonly linkId: string; readonly currency: string; readonly sinceMs: number },
): Promise<{ count: number; total: string; tips: string; sales: TillSale[] }> {
  const values = [
    tenant.merchantId,
    tenant.livemode,
    till.linkId,
    firstIdAt('invoice', till.sinceMs, 0),
    till.currency,
  ]
  const sums = await tx.query<{ count: number; total: string; tips: string }>(
    `select count(*)::int as count, coalesce(sum(${AMOUNT}), 0)::text as total,
       coalesce(sum((metadata ->> 'tip')::numeric) filter (where metadata ->> 'tip' ~ '^[0-9]{1,12}([.][0-9]{1,2})?$'), 0)::text as tips
     from invoice where ${OF_TILL} and status in ('paid', 'overpaid')`,
    values,
  )
  const listed = await tx.query<{ id: string; amount: string; status: string; created_at: Date }>(
    `select id, (${AMOUNT})::text as amount, status, created_at
     from invoice where ${OF_TILL} order by id desc limit ${LISTED_MAX}`,
    values,
  )
  const sales = listed.rows.map(({ id, amount, status, created_at }) => ({
    invoiceId: id,
    amount,
    status,
    createdAtMs: created_at.getTime(),
  }))
  return { ...(sums.rows[0] ?? { count: 0, total: '0', tips: '0' }), sales }
}

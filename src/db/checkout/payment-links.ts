import type { AssetId } from '../../core/assets.ts'
import { buyerAmountOf } from '../../core/checkout/buyer-amount.ts'
import type { PaymentLink } from '../../core/checkout/payment-link.ts'
import { tillOf } from '../../core/checkout/till.ts'
import type { Currency } from '../../core/rates/currencies.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { jsonOrNull } from '../invoices/invoice-row.ts'
import { holds, type ListPosition, loadPage } from '../list-page.ts'

type PaymentLinkRow = {
  merchant_id: string
  id: string
  livemode: boolean
  slug: string
  name: string
  usd_cents: bigint | null
  price_amount: string | null
  price_currency: Currency | null
  asset: AssetId | null
  allow_dynamic_amount: boolean
  buyer_amount: unknown
  till: unknown
  duration_minutes: number | null
  active: boolean
  created_at: Date
}

/** The columns of `PaymentLinkRow`. */
const COLUMNS = `merchant_id, id, livemode, slug, name, usd_cents, asset, allow_dynamic_amount, duration_minutes, active,
  created_at, price_amount, price_currency, buyer_amount, till`

/** Whose an active link is; null for a slug that names none. Served by payment_link_by_slug. */
export async function findLinkOwner(
  db: Queryable,
  slug: string,
): Promise<{ tenant: Tenant; linkId: string } | null> {
  const { rows } = await db.query<{ merchant_id: string; livemode: boolean; id: string }>(
    'select merchant_id, livemode, id from payment_link_owner($1)',
    [slug],
  )
  const row = rows[0]
  return row === undefined
    ? null
    : { tenant: { merchantId: row.merchant_id, livemode: row.livemode }, linkId: row.id }
}

/** Writes a new link. False where its slug is taken, once in 62¹⁰ times. */
export async function insertPaymentLink(tx: Tx, tenant: Tenant, link: PaymentLink): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into payment_link (merchant_id, id, livemode, slug, name, usd_cents, asset, allow_dynamic_amount,
       duration_minutes, active, created_at, price_amount, price_currency, buyer_amount, till)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     on conflict (slug) do nothing`,
    [
      tenant.merchantId,
      link.id,
      tenant.livemode,
      link.slug,
      link.name,
      link.usdCents,
      link.asset,
      link.allowDynamicAmount,
      link.durationMinutes,
      link.active,
      new Date(link.createdAtMs),
      link.price?.amount ?? null,
      link.price?.currency ?? null,
      jsonOrNull(link.buyerAmount),
      jsonOrNull(link.till),
    ],
  )
  return rowCount === 1
}

/** One link, or null. `forUpdate` makes others wait until this transaction ends. Served by the primary key. */
export async function loadPaymentLink(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { forUpdate?: boolean } = {},
): Promise<PaymentLink | null> {
  const { rows } = await tx.query<PaymentLinkRow>(
    `select ${COLUMNS} from payment_link where merchant_id = $1 and id = $2 and livemode = $3
     ${options.forUpdate === true ? 'for update' : ''}`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0] === undefined ? null : linkFromRow(rows[0])
}

/** The names of these links by their ids. Served by the primary key. */
export async function loadLinkNames(
  tx: Tx,
  tenant: Tenant,
  ids: readonly string[],
): Promise<ReadonlyMap<string | null, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await tx.query<{ id: string; name: string }>(
    'select id, name from payment_link where merchant_id = $1 and id = any($2) and livemode = $3',
    [tenant.merchantId, ids, tenant.livemode],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Whether the tenant has this link. Served by the primary key. */
export async function paymentLinkExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  return (await loadPaymentLink(tx, tenant, id)) !== null
}

/** Writes what may change of a link; its row was read with `forUpdate`. */
export async function updatePaymentLink(tx: Tx, tenant: Tenant, link: PaymentLink): Promise<void> {
  await tx.query(
    `update payment_link set name = $4, usd_cents = $5, duration_minutes = $6, active = $7, price_amount = $8,
       price_currency = $9, buyer_amount = $10, till = $11
     where merchant_id = $1 and id = $2 and livemode = $3`,
    [
      tenant.merchantId,
      link.id,
      tenant.livemode,
      link.name,
      link.usdCents,
      link.durationMinutes,
      link.active,
      link.price?.amount ?? null,
      link.price?.currency ?? null,
      jsonOrNull(link.buyerAmount),
      jsonOrNull(link.till),
    ],
  )
}

/** The digest of a till's staff code; null where there is none, and for a link that is no till. Served by the primary key. */
export async function loadStaffCode(tx: Tx, tenant: Tenant, id: string): Promise<Buffer | null> {
  const { rows } = await tx.query<{ staff_code: Buffer | null }>(
    'select staff_code from payment_link where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0]?.staff_code ?? null
}

/** Gives a till another staff code. False for a link that is no till. Served by the primary key. */
export async function setStaffCode(tx: Tx, tenant: Tenant, id: string, digest: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update payment_link set staff_code = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and till is not null`,
    [tenant.merchantId, id, tenant.livemode, digest],
  )
  return rowCount === 1
}

/** A page of links, newest first, and whether there are more. Served by payment_link_by_mode. */
export async function listPaymentLinks(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  /** Part of a name or an id; undefined for all. */
  text?: string | undefined,
): Promise<{ links: PaymentLink[]; hasMore: boolean }> {
  const filters = [
    ['merchant_id', tenant.merchantId],
    ['livemode', tenant.livemode],
  ] as const
  const search =
    text === undefined
      ? undefined
      : { text, matches: (part: string) => `${holds('name', part)} or ${holds('id', part)}` }
  const from = { table: 'payment_link', columns: COLUMNS } as const
  const page = await loadPage<PaymentLinkRow>(tx, from, position, filters, search)
  return { links: page.rows.map(linkFromRow), hasMore: page.hasMore }
}

function linkFromRow(row: PaymentLinkRow): PaymentLink {
  return {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    slug: row.slug,
    name: row.name,
    usdCents: row.usd_cents,
    price: priceOf(row),
    asset: row.asset,
    allowDynamicAmount: row.allow_dynamic_amount,
    buyerAmount: buyerAmountOf(row.buyer_amount),
    till: tillOf(row.till),
    durationMinutes: row.duration_minutes,
    active: row.active,
    createdAtMs: row.created_at.getTime(),
  }
}

/** The table has both or neither. */
function priceOf({ price_amount, price_currency }: PaymentLinkRow): PaymentLink['price'] {
  if (price_amount === null || price_currency === null) return null
  return { amount: price_amount, currency: price_currency }
}

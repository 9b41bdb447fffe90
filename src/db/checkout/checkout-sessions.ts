import type { CheckoutSession } from '../../core/checkout/checkout-session.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { jsonOrNull, type PriceRow, priceOf } from '../invoices/invoice-row.ts'
import { type ListPosition, loadPage } from '../list-page.ts'

type CheckoutSessionRow = PriceRow & {
  merchant_id: string
  id: string
  livemode: boolean
  payment_link_id: string
  order_reference: string
  usd_cents: bigint
  asked_minutes: number | null
  return_url: string | null
  created_at: Date
  expires_at: Date
  cancelled_at: Date | null
  invoice_id: string | null
}

/** The columns of `CheckoutSessionRow`. */
const COLUMNS = `merchant_id, id, livemode, payment_link_id, order_reference, usd_cents, asked_minutes, return_url, created_at,
  expires_at, cancelled_at, invoice_id, price_amount, price_currency, price_rate`

/**
 * Holds an order reference of a merchant, in both modes together, until the transaction ends: of requests for the
 * same order one comes after the other, and each sees what the one before has made.
 */
export async function lockOrderReference(tx: Tx, tenant: Tenant, orderReference: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `checkout_session/${tenant.merchantId}/${orderReference}`,
  ])
}

/** The session of an order in the tenant's mode, or null. Served by checkout_session_by_order. */
export async function findSessionOfOrder(
  tx: Tx,
  tenant: Tenant,
  orderReference: string,
): Promise<CheckoutSession | null> {
  const { rows } = await tx.query<CheckoutSessionRow>(
    `select ${COLUMNS} from checkout_session
     where merchant_id = $1 and order_reference = $2 and livemode = $3`,
    [tenant.merchantId, orderReference, tenant.livemode],
  )
  return rows[0] === undefined ? null : sessionFromRow(rows[0])
}

/** Writes a new session. False where its order reference is taken, be it in the other mode. */
export async function insertSession(tx: Tx, tenant: Tenant, session: CheckoutSession): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into checkout_session (merchant_id, id, livemode, payment_link_id, order_reference, usd_cents,
       asked_minutes, created_at, expires_at, return_url, price_amount, price_currency, price_rate)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
     on conflict (merchant_id, order_reference) do nothing`,
    [
      tenant.merchantId,
      session.id,
      tenant.livemode,
      session.paymentLinkId,
      session.orderReference,
      session.usdCents,
      session.requestedMinutes,
      new Date(session.createdAtMs),
      new Date(session.expiresAtMs),
      session.returnUrl,
      session.price?.amount ?? null,
      session.price?.currency ?? null,
      jsonOrNull(session.price?.rate ?? null),
    ],
  )
  return rowCount === 1
}

/** One session, or null. `forUpdate` makes others wait until this transaction ends. Served by the primary key. */
export async function loadSession(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { forUpdate?: boolean } = {},
): Promise<CheckoutSession | null> {
  const { rows } = await tx.query<CheckoutSessionRow>(
    `select ${COLUMNS} from checkout_session where merchant_id = $1 and id = $2 and livemode = $3
     ${options.forUpdate === true ? 'for update' : ''}`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0] === undefined ? null : sessionFromRow(rows[0])
}

/** Whether the tenant has this session. Served by the primary key. */
export async function sessionExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  return (await loadSession(tx, tenant, id)) !== null
}

/** Gives a session its invoice; false where it has one or is cancelled. */
export async function setSessionInvoice(
  tx: Tx,
  tenant: Tenant,
  sessionId: string,
  invoiceId: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update checkout_session set invoice_id = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and invoice_id is null and cancelled_at is null`,
    [tenant.merchantId, sessionId, tenant.livemode, invoiceId],
  )
  return rowCount === 1
}

/** Marks a session cancelled; false where it is already. */
export async function setSessionCancelled(
  tx: Tx,
  tenant: Tenant,
  sessionId: string,
  at: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update checkout_session set cancelled_at = $4
     where merchant_id = $1 and id = $2 and livemode = $3 and cancelled_at is null`,
    [tenant.merchantId, sessionId, tenant.livemode, at],
  )
  return rowCount === 1
}

/** A page of a link's sessions, newest first, and whether there are more. Served by checkout_session_by_link. */
export async function listSessions(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition & {
    readonly paymentLinkId: string
    readonly orderReference?: string | undefined
  },
): Promise<{ sessions: CheckoutSession[]; hasMore: boolean }> {
  const page = await loadPage<CheckoutSessionRow>(
    tx,
    { table: 'checkout_session', columns: COLUMNS },
    position,
    [
      ['merchant_id', tenant.merchantId],
      ['livemode', tenant.livemode],
      ['payment_link_id', position.paymentLinkId],
      ['order_reference', position.orderReference],
    ],
  )
  return { sessions: page.rows.map(sessionFromRow), hasMore: page.hasMore }
}

function sessionFromRow(row: CheckoutSessionRow): CheckoutSession {
  return {
    merchantId: row.merchant_id,
    id: row.id,
    livemode: row.livemode,
    paymentLinkId: row.payment_link_id,
    orderReference: row.order_reference,
    usdCents: row.usd_cents,
    price: priceOf(row),
    requestedMinutes: row.asked_minutes,
    returnUrl: row.return_url,
    createdAtMs: row.created_at.getTime(),
    expiresAtMs: row.expires_at.getTime(),
    cancelledAtMs: row.cancelled_at?.getTime() ?? null,
    invoiceId: row.invoice_id,
  }
}

import type { NotSentReason } from '../../core/checkout/buyer-emails.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Whether the buyer of an invoice asked for its receipt. By primary key. */
export async function hasReceiptRequest(tx: Tx, tenant: Tenant, invoiceId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from receipt_request where merchant_id = $1 and invoice_id = $2',
    [tenant.merchantId, invoiceId],
  )
  return rowCount === 1
}

/** Writes the address of an invoice's receipt, or another one; false where it was sent, or changed `changesMax` times. By primary key. */
export async function putReceiptRequest(
  tx: Tx,
  tenant: Tenant,
  request: { invoiceId: string; recipient: Buffer; sealed: Buffer; changesMax: number },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into receipt_request (merchant_id, invoice_id, livemode, recipient, sealed) values ($1, $2, $3, $4, $5)
     on conflict (merchant_id, invoice_id) do update
       set recipient = $4, sealed = $5, asked_at = now(), changes = receipt_request.changes + 1
       where receipt_request.ended_at is null and receipt_request.changes < $6`,
    [
      tenant.merchantId,
      request.invoiceId,
      tenant.livemode,
      request.recipient,
      request.sealed,
      request.changesMax,
    ],
  )
  return rowCount === 1
}

export type DueReceipt = {
  readonly merchantId: string
  readonly invoiceId: string
  readonly livemode: boolean
  readonly recipient: Buffer
  readonly sealed: Buffer
  /** The event that says that the invoice is paid. */
  readonly body: Buffer
}

/** Where a look ended: time, with all its digits, merchant and invoice of a request. */
export type ReceiptPlace = readonly [askedAt: string, merchantId: string, invoiceId: string]

const PLACE = '(asked_at, merchant_id, invoice_id)'

/** Of the requests after a place that have not ended, the `count`-th; null where there are fewer. Served by receipt_request_open. */
export async function findReceiptPlace(
  db: Queryable,
  after: ReceiptPlace | null,
  count: number,
): Promise<ReceiptPlace | null> {
  const { rows } = await db.query<{ place: ReceiptPlace }>(
    `select json_build_array(asked_at::text, merchant_id, invoice_id) as place from receipt_request
     where ended_at is null and ($1::text is null or ${PLACE} > ($1::timestamptz, $2, $3))
     order by asked_at, merchant_id, invoice_id offset $4 limit 1`,
    [...(after ?? [null, null, null]), count - 1],
  )
  return rows[0]?.place ?? null
}

/**
 * Receipts that were asked for between two places, null being either end, and whose invoice is paid. Served by
 * receipt_request_open and event_by_resource.
 */
export async function listDueReceipts(
  db: Queryable,
  { after, upTo, limit }: { after: ReceiptPlace | null; upTo: ReceiptPlace | null; limit: number },
): Promise<DueReceipt[]> {
  const { rows } = await db.query<DueReceipt>(
    `select r.merchant_id as "merchantId", r.invoice_id as "invoiceId", r.livemode, r.recipient, r.sealed, paid.body
     from (select * from receipt_request
       where ended_at is null and ($1::text is null or ${PLACE} > ($1::timestamptz, $2, $3))
         and ($4::text is null or ${PLACE} <= ($4::timestamptz, $5, $6))) r
     cross join lateral (
       select body from event
       where merchant_id = r.merchant_id and resource_id = r.invoice_id
         and event_type in ('invoice.paid', 'invoice.overpaid')
       order by sequence limit 1) paid
     order by r.asked_at, r.merchant_id, r.invoice_id limit $7`,
    [...(after ?? [null, null, null]), ...(upTo ?? [null, null, null]), limit],
  )
  return rows
}

/** Ends a request, null being that it is sent; false where another process did, or the buyer changed the address meanwhile. By primary key. */
export async function endReceiptRequest(
  db: Queryable,
  { merchantId, invoiceId, sealed }: DueReceipt,
  reason: NotSentReason | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update receipt_request set ended_at = now(), outcome = $3, reason = $5, sealed = null
     where merchant_id = $1 and invoice_id = $2 and sealed = $4 and ended_at is null`,
    [merchantId, invoiceId, reason === null ? 'sent' : 'refused', sealed, reason],
  )
  return rowCount === 1
}

/** A receipt that was handed over was not sent after all. By primary key. */
export async function takeBackReceipt(
  db: Queryable,
  { merchantId, invoiceId }: DueReceipt,
  reason: NotSentReason,
): Promise<void> {
  await db.query(
    `update receipt_request set outcome = 'refused', reason = $3
     where merchant_id = $1 and invoice_id = $2 and outcome = 'sent'`,
    [merchantId, invoiceId, reason],
  )
}

/** Whether an address is the confirmed one of a member of the shop. Served by the keys. */
export async function isMembersAddress(db: Queryable, merchantId: string, email: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from organization_member member join person on person.id = member.user_id
     where member.organization_id = $1 and person.email_verified and lower(person.email) = lower($2) limit 1`,
    [merchantId, email],
  )
  return rowCount === 1
}

/** Forgets requests after a week: no invoice is open for so long. Served by receipt_request_by_age. */
export async function forgetReceiptRequests(db: Queryable, limit: number): Promise<void> {
  await db.query(
    `delete from receipt_request where (merchant_id, invoice_id) in (
       select merchant_id, invoice_id from receipt_request
       where asked_at < now() - interval '7 days' order by asked_at limit $1)`,
    [limit],
  )
}

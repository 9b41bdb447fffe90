import type { AssetId } from '../../core/assets.ts'
import {
  BUYER_EMAIL_SETTINGS,
  type BuyerEmailKind,
  type NotSentReason,
} from '../../core/checkout/buyer-emails.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

type InvoiceEmailKind = Exclude<BuyerEmailKind, 'receipt'>

/** Writes the emails of a new invoice, in its own transaction. */
export async function insertBuyerEmails(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  recipient: Buffer,
  emails: readonly { kind: InvoiceEmailKind; sealed: Buffer; dueAt: Date }[],
): Promise<void> {
  await tx.query(
    `insert into buyer_email (merchant_id, invoice_id, livemode, recipient, kind, sealed, due_at)
     select $1, $2, $3, $4, e.kind, e.sealed, e.due_at
     from unnest($5::text[], $6::bytea[], $7::timestamptz[]) e (kind, sealed, due_at)`,
    [
      tenant.merchantId,
      invoiceId,
      tenant.livemode,
      recipient,
      emails.map(({ kind }) => kind),
      emails.map(({ sealed }) => sealed),
      emails.map(({ dueAt }) => dueAt),
    ],
  )
}

export type DueBuyerEmail = {
  readonly merchantId: string
  readonly invoiceId: string
  readonly kind: InvoiceEmailKind
  readonly livemode: boolean
  readonly recipient: Buffer
  readonly sealed: Buffer
  readonly asset: AssetId
  readonly amount: bigint
  readonly usdCents: bigint | null
  readonly priceAmount: string | null
  readonly priceCurrency: string | null
  readonly description: string | null
  readonly externalReference: string | null
  readonly expiresAt: Date
}

/**
 * Emails whose time has come, of `lookedAt` the oldest, a shop's in turn with those of others. A reminder keeps half an hour's
 * distance to a link that was late. Served by buyer_email_open and primary keys.
 */
export async function listDueBuyerEmails(
  db: Queryable,
  { lookedAt, limit }: { lookedAt: number; limit: number },
): Promise<DueBuyerEmail[]> {
  const { rows } = await db.query<DueBuyerEmail>(
    `select e.merchant_id as "merchantId", e.invoice_id as "invoiceId", e.kind, e.livemode, e.recipient, e.sealed,
       i.asset, i.amount, i.usd_cents as "usdCents", i.price_amount as "priceAmount",
       i.price_currency as "priceCurrency", i.description, i.external_reference as "externalReference",
       i.expires_at as "expiresAt"
     from (
       select *, row_number() over (partition by merchant_id order by due_at, invoice_id) as turn
       from (select * from buyer_email where ended_at is null and due_at <= now() order by due_at limit $1) oldest
       where kind = 'link' or not exists (select from buyer_email l
         where l.merchant_id = oldest.merchant_id and l.invoice_id = oldest.invoice_id and l.kind = 'link'
           and (l.ended_at is null or l.outcome = 'sent' and l.ended_at > now() - interval '30 minutes'))
       order by turn, due_at limit $2
     ) e
     join invoice i on i.merchant_id = e.merchant_id and i.id = e.invoice_id
     order by e.turn, e.due_at`,
    [lookedAt, limit],
  )
  return rows
}

/**
 * Whether an email about an open invoice may still go out: nothing has been paid, neither its time nor the invoice is over,
 * and the buyer is not with a card provider. By primary key, and card_purchase_of_invoice.
 */
export async function isStillPayable(
  db: Queryable,
  { merchantId, invoiceId, livemode }: { merchantId: string; invoiceId: string; livemode: boolean },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from invoice i
     where merchant_id = $1 and id = $2 and status = 'awaiting_payment' and expires_at > now()
       and not exists (select from card_purchase
         where merchant_id = $1 and livemode = $3 and invoice_id = $2 and left_at is not null)`,
    [merchantId, invoiceId, livemode],
  )
  return rowCount === 1
}

/** What decides whether a shop's email may go to a mailbox. */
type BuyerEmailState = {
  readonly isOn: boolean
  readonly isUnsubscribed: boolean
  /** Of the last day, without receipts. */
  readonly sentByShop: number
}

/** Served by primary keys and buyer_email_of_shop. */
export async function readBuyerEmailState(
  db: Queryable,
  of: { merchantId: string; livemode: boolean; recipient: Buffer; kind: BuyerEmailKind },
): Promise<BuyerEmailState> {
  const { rows } = await db.query<BuyerEmailState>(
    `select
       coalesce((select rules -> $4 = 'true'::jsonb from payment_rules
         where merchant_id = $1 and livemode = $2), false) as "isOn",
       exists (select from buyer_optout where merchant_id = $1 and recipient = $3) as "isUnsubscribed",
       (select count(*)::int from buyer_email
         where merchant_id = $1 and outcome = 'sent' and ended_at > now() - interval '1 day') as "sentByShop"`,
    [of.merchantId, of.livemode, of.recipient, BUYER_EMAIL_SETTINGS[of.kind]],
  )
  const [state] = rows
  if (state === undefined) throw new Error('a query without a table returned no row')
  return state
}

/**
 * How many emails a mailbox was sent in the last day, of all kinds and shops. Served by receipt_request_sent and
 * buyer_email_sent.
 */
export async function countSentTo(db: Queryable, recipient: Buffer): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from (
       select from receipt_request
       where recipient = $1 and outcome = 'sent' and ended_at > now() - interval '1 day'
       union all
       select from buyer_email
       where recipient = $1 and outcome = 'sent' and ended_at > now() - interval '1 day') sent`,
    [recipient],
  )
  return rows[0]?.count ?? 0
}

/** Ends an email, null being that it is sent; false where another process did. By primary key. */
export async function endBuyerEmail(
  db: Queryable,
  { merchantId, invoiceId, kind }: DueBuyerEmail,
  reason: NotSentReason | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update buyer_email set ended_at = now(), outcome = $4, reason = $5, sealed = null
     where merchant_id = $1 and invoice_id = $2 and kind = $3 and ended_at is null`,
    [merchantId, invoiceId, kind, reason === null ? 'sent' : 'refused', reason],
  )
  return rowCount === 1
}

/** An email that was handed over was not sent after all. By primary key. */
export async function takeBackBuyerEmail(
  db: Queryable,
  { merchantId, invoiceId, kind }: DueBuyerEmail,
  reason: NotSentReason,
): Promise<void> {
  await db.query(
    `update buyer_email set outcome = 'refused', reason = $4
     where merchant_id = $1 and invoice_id = $2 and kind = $3 and outcome = 'sent'`,
    [merchantId, invoiceId, kind, reason],
  )
}

/** Forgets emails after a week: no invoice is open for so long. Served by buyer_email_by_age. */
export async function forgetBuyerEmails(db: Queryable, limit: number): Promise<void> {
  await db.query(
    `delete from buyer_email where (merchant_id, invoice_id, kind) in (
       select merchant_id, invoice_id, kind from buyer_email
       where created_at < now() - interval '7 days' order by created_at limit $1)`,
    [limit],
  )
}

/** Ends all emails of a shop to a mailbox, for good. */
export async function insertBuyerOptout(tx: Tx, merchantId: string, recipient: Buffer): Promise<void> {
  await tx.query('insert into buyer_optout (merchant_id, recipient) values ($1, $2) on conflict do nothing', [
    merchantId,
    recipient,
  ])
}

export type StoredBuyerEmail = {
  readonly kind: BuyerEmailKind
  /** Null for a receipt: it waits for the payment. */
  readonly dueAt: Date | null
  readonly endedAt: Date | null
  readonly outcome: 'sent' | 'refused' | null
  readonly reason: NotSentReason | null
}

/** The emails of one invoice, for its shop. By primary keys. */
export async function listBuyerEmails(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
): Promise<StoredBuyerEmail[]> {
  const { rows } = await tx.query<StoredBuyerEmail>(
    `select kind, due_at as "dueAt", ended_at as "endedAt", outcome, reason from buyer_email
     where merchant_id = $1 and livemode = $2 and invoice_id = $3
     union all
     select 'receipt', null, ended_at, outcome, reason from receipt_request
     where merchant_id = $1 and livemode = $2 and invoice_id = $3
     order by 1`,
    [tenant.merchantId, tenant.livemode, invoiceId],
  )
  return rows
}

/** How many shops, in either mode, have their buyers written to. A scan, for a command. */
export async function countShopsThatWriteToBuyers(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(distinct merchant_id)::int as count from payment_rules
     where exists (select from unnest($1::text[]) setting where rules -> setting = 'true'::jsonb)`,
    [Object.values(BUYER_EMAIL_SETTINGS)],
  )
  return rows[0]?.count ?? 0
}

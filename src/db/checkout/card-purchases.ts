import type { AssetId } from '../../core/assets.ts'
import type { CardPurchase } from '../../core/card/card-purchase.ts'
import type { CardAnswer, CardProviderId } from '../../core/card/onramp-provider.ts'
import { type ProviderUpdate, updatesBefore } from '../../core/card/provider-update.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

type StoredAnswer =
  | (Omit<Extract<CardAnswer, { kind: 'offered' }>, 'amount'> & { readonly amount: string })
  | Exclude<CardAnswer, { kind: 'offered' }>

type Row = {
  id: string
  invoice_id: string
  provider: CardProviderId
  asset: AssetId
  amount: bigint
  address: string
  place: string | null
  answer: StoredAnswer | null
  created_at: Date
  fresh_until: Date
  left_at: Date | null
  news: ProviderUpdate | null
}

const COLUMNS =
  'id, invoice_id, provider, asset, amount, address, place, answer, created_at, fresh_until, left_at, news'

const purchaseOf = (row: Row): CardPurchase => ({
  id: row.id,
  invoiceId: row.invoice_id,
  provider: row.provider,
  asset: row.asset,
  amount: row.amount,
  address: row.address,
  place: row.place,
  answer: row.answer === null ? null : answerOf(row.answer),
  createdAtMs: row.created_at.getTime(),
  freshUntilMs: row.fresh_until.getTime(),
  leftAtMs: row.left_at?.getTime() ?? null,
  update: row.news,
})

const answerOf = (stored: StoredAnswer): CardAnswer =>
  stored.kind === 'offered' ? { ...stored, amount: BigInt(stored.amount) } : stored

const storedOf = (answer: CardAnswer): string =>
  JSON.stringify(answer.kind === 'offered' ? { ...answer, amount: answer.amount.toString() } : answer)

/**
 * Holds an invoice's purchases until the transaction ends: of presses on one page one comes after the other, and
 * each sees what the one before has asked for.
 */
export async function lockCardPurchases(tx: Tx, tenant: Tenant, invoiceId: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `card/${tenant.merchantId}/${invoiceId}`,
  ])
}

/** The newest purchases of an invoice, newest first. Served by card_purchase_of_invoice. */
export async function listCardPurchases(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  limit: number,
): Promise<CardPurchase[]> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from card_purchase where merchant_id = $1 and livemode = $2 and invoice_id = $3
     order by id desc limit $4`,
    [tenant.merchantId, tenant.livemode, invoiceId, limit],
  )
  return rows.map(purchaseOf)
}

/** How many times providers were asked for an invoice. Served by card_purchase_of_invoice. */
export async function countCardPurchases(tx: Tx, tenant: Tenant, invoiceId: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from card_purchase where merchant_id = $1 and livemode = $2 and invoice_id = $3`,
    [tenant.merchantId, tenant.livemode, invoiceId],
  )
  return rows[0]?.count ?? 0
}

/**
 * Whether the buyer picked the invoice's coin, and the purchases they left for, newest first. By the invoice's primary
 * key and card_purchase_of_invoice.
 */
export async function loadCardProgress(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
): Promise<{ readonly picked: boolean; readonly left: readonly CardPurchase[] }> {
  const picked = tx.query<{ asset_picked: boolean }>(
    'select asset_picked from invoice where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, invoiceId, tenant.livemode],
  )
  const left = tx.query<Row>(
    `select ${COLUMNS} from card_purchase
     where merchant_id = $1 and livemode = $2 and invoice_id = $3 and left_at is not null
     order by left_at desc`,
    [tenant.merchantId, tenant.livemode, invoiceId],
  )
  const [{ rows: invoices }, { rows: purchases }] = await Promise.all([picked, left])
  return {
    picked: invoices[0]?.asset_picked ?? false,
    left: purchases.map(purchaseOf),
  }
}

/** Writes that a provider is being asked. */
export async function insertCardPurchase(
  tx: Tx,
  tenant: Tenant,
  purchase: Omit<CardPurchase, 'answer' | 'leftAtMs' | 'update'>,
): Promise<void> {
  await tx.query(
    `insert into card_purchase (merchant_id, id, livemode, invoice_id, provider, asset, amount, address, place, status,
       created_at, fresh_until)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'asking', $10, $11)`,
    [
      tenant.merchantId,
      purchase.id,
      tenant.livemode,
      purchase.invoiceId,
      purchase.provider,
      purchase.asset,
      purchase.amount,
      purchase.address,
      purchase.place,
      new Date(purchase.createdAtMs),
      new Date(purchase.freshUntilMs),
    ],
  )
}

/** Writes what the provider answered. False where it was answered before. By primary key. */
export async function answerCardPurchase(
  tx: Tx,
  tenant: Tenant,
  response: {
    readonly id: string
    readonly answer: CardAnswer
    readonly sealedUrl: Buffer | null
    readonly freshUntil: Date
  },
): Promise<boolean> {
  const { id, answer, sealedUrl, freshUntil } = response
  const { rowCount } = await tx.query(
    `update card_purchase set status = $4, answer = $5, url = $6, fresh_until = $7
     where merchant_id = $1 and id = $2 and livemode = $3 and status = 'asking'`,
    [tenant.merchantId, id, tenant.livemode, answer.kind, storedOf(answer), sealedUrl, freshUntil],
  )
  return rowCount === 1
}

/**
 * Writes that the buyer leaves for the provider, and gives the sealed URL; null where the offer is over, is none of
 * this invoice's, or over another coin or amount than is to pay now. A press again within the offer's time gives the
 * same one. By primary key.
 */
export async function leaveForCard(
  tx: Tx,
  tenant: Tenant,
  leaving: Pick<CardPurchase, 'id' | 'invoiceId' | 'asset' | 'amount' | 'address'> & { readonly now: Date },
): Promise<{ readonly provider: CardProviderId; readonly sealedUrl: Buffer } | null> {
  const { rows } = await tx.query<{ provider: CardProviderId; url: Buffer }>(
    `update card_purchase set left_at = coalesce(left_at, $5)
     where merchant_id = $1 and id = $2 and livemode = $3 and invoice_id = $4 and status = 'offered'
       and fresh_until > $5 and url is not null and asset = $6 and amount = $7 and address = $8
     returning provider, url`,
    [
      tenant.merchantId,
      leaving.id,
      tenant.livemode,
      leaving.invoiceId,
      leaving.now,
      leaving.asset,
      leaving.amount,
      leaving.address,
    ],
  )
  return rows[0] === undefined ? null : { provider: rows[0].provider, sealedUrl: rows[0].url }
}

/** Base units that were asked for, and will be sent, in the purchases left for in one coin. Served by card_purchase_of_invoice. */
export async function listLeftAmounts(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  asset: AssetId,
): Promise<{ readonly requested: bigint; readonly sold: bigint }[]> {
  const { rows } = await tx.query<{ requested: bigint; sold: string }>(
    `select amount as requested, answer ->> 'amount' as sold from card_purchase
     where merchant_id = $1 and livemode = $2 and invoice_id = $3 and asset = $4 and left_at is not null`,
    [tenant.merchantId, tenant.livemode, invoiceId, asset],
  )
  return rows.map(({ requested, sold }) => ({ requested, sold: BigInt(sold) }))
}

/** Whose a purchase is, whatever the mode; null where nobody's. */
export async function findCardPurchaseOwner(db: Queryable, id: string): Promise<Tenant | null> {
  const { rows } = await db.query<{ merchant_id: string; livemode: boolean }>(
    'select merchant_id, livemode from card_purchase_owner($1)',
    [id],
  )
  return rows[0] === undefined ? null : { merchantId: rows[0].merchant_id, livemode: rows[0].livemode }
}

/** One purchase, or null. By primary key. */
export async function loadCardPurchase(tx: Tx, tenant: Tenant, id: string): Promise<CardPurchase | null> {
  const { rows } = await tx.query<Row>(
    `select ${COLUMNS} from card_purchase where merchant_id = $1 and id = $2 and livemode = $3`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0] === undefined ? null : purchaseOf(rows[0])
}

/**
 * Writes what a provider says of a purchase, where that goes beyond what it said of the same transaction; another
 * transaction is another try of the buyer's, which the late end of an earlier one does not end. That there is none says
 * nothing where anything was reported. By primary key.
 */
export async function setProviderUpdate(
  tx: Tx,
  tenant: Tenant,
  reported: {
    readonly id: string
    readonly update: ProviderUpdate
    readonly transaction: string
    /** It was chosen among all of the purchase's transactions. */
    readonly isOfAll: boolean
    readonly now: Date
  },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update card_purchase set news = $4, news_of = $5, news_at = $6
     where merchant_id = $1 and id = $2 and livemode = $3
       and (news is null or (news_of = $5 and news = any($7))
         or (news_of <> $5 and news <> 'completed' and $4 <> 'abandoned'
           and (news <> 'pending' or $4 <> 'failed' or $8)))`,
    [
      tenant.merchantId,
      reported.id,
      tenant.livemode,
      reported.update,
      reported.transaction,
      reported.now,
      updatesBefore(reported.update),
      reported.isOfAll,
    ],
  )
  return rowCount === 1
}

/**
 * Takes a purchase on the sandbox's card page: of presses of one page one alone pays. False where it was taken
 * before. By primary key.
 */
export async function takeTestPurchase(
  tx: Tx,
  tenant: Tenant,
  taken: { readonly id: string; readonly update: ProviderUpdate; readonly now: Date },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update card_purchase set news = $4, news_of = 'sandbox', news_at = $5
     where merchant_id = $1 and id = $2 and livemode = $3 and livemode = false and provider = 'sandbox'
       and left_at is not null and (news is null or news = 'failed')`,
    [tenant.merchantId, taken.id, tenant.livemode, taken.update, taken.now],
  )
  return rowCount === 1
}

/** Remembers that the buyer chose the invoice's coin. By primary key. */
export async function markAssetPicked(tx: Tx, tenant: Tenant, invoiceId: string): Promise<void> {
  await tx.query(
    `update invoice set asset_picked = true where merchant_id = $1 and id = $2 and livemode = $3`,
    [tenant.merchantId, invoiceId, tenant.livemode],
  )
}

/**
 * Forgets where the buyers of purchases older than `days` live, and their sealed sessions, so many at a time; says how
 * many. Served by card_purchase_by_age.
 */
export async function forgetCardBuyers(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `update card_purchase p set place = null, url = null
     from (select merchant_id, id from card_purchase
       where place is not null and created_at < now() - make_interval(days => $1) limit $2) old
     where p.merchant_id = old.merchant_id and p.id = old.id`,
    [days, limit],
  )
  return rowCount ?? 0
}

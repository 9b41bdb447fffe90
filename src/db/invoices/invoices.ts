import { ASSET_IDS, type AssetId, type Keyspace, networkOf } from '../../core/assets.ts'
import type { DepositPlan } from '../../core/invoice/plan.ts'
import { deriveStatus } from '../../core/invoice/status.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { Rows } from '../../postgres/rows.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { loadReceived } from '../ledger/received.ts'
import { weightOf } from '../ledger/token-weights.ts'
import { INVOICE_COLUMNS, type InvoiceRow, invoiceFromRow, jsonOrNull } from './invoice-row.ts'

/** An invoice with the number of events it has had. */
export type StoredInvoice = { readonly invoice: Invoice; readonly eventCount: number }

/** Where an invoice's first address comes from. */
export type ClaimedAddress = { readonly idx: number; readonly addressBytes: Buffer; readonly address: string }

/**
 * Takes the pool's next address that every watched network of its keyspace matches already, the asked one among them; null
 * where there is none, or no more than are `toLeave`. Skips rows that others hold or have leased. Served by address_pool.
 */
export async function claimAddress(
  tx: Tx,
  { network, keyspace, form }: DepositPlan,
  now: Date,
  toLeave = 0,
): Promise<ClaimedAddress | null> {
  const { rows } = await tx.query<ClaimedAddress>(
    `with watched as (
       select case when bool_or(network = $4) then min(through) end as through
       from network_watch where keyspace = $1)
     update address set assigned_at = $3
     where (keyspace, idx) = (
       select keyspace, idx from address
       where keyspace = $1 and parameters = $2 and assigned_at is null and idx <= (select through from watched)
         and (leased_until is null or leased_until < now())
         and ($5::int = 0 or exists (
           select from address
           where keyspace = $1 and parameters = $2 and assigned_at is null and idx <= (select through from watched)
             and (leased_until is null or leased_until < now())
           order by assigned_at, idx offset $5 limit 1))
       order by assigned_at, idx limit 1 for update skip locked)
     returning idx, program as "addressBytes", address`,
    [keyspace, form, now, network, toLeave],
  )
  return rows[0] ?? null
}

/** Gives back an address that was claimed in this transaction. By primary key. */
export async function releaseAddress(tx: Tx, keyspace: Keyspace, index: number): Promise<void> {
  await tx.query('update address set assigned_at = null where keyspace = $1 and idx = $2', [keyspace, index])
}

/** Writes a new invoice and the deposit addresses that were claimed for it. */
export async function insertInvoice(
  tx: Tx,
  tenant: Tenant,
  invoice: Invoice,
  deposit: { keyspace: Keyspace; idx: number; addressBytes: Buffer },
  /** Events that are written with it. */
  eventCount = 0,
  /** Its addresses of other key families. */
  beside: readonly { keyspace: Keyspace; idx: number; addressBytes: Buffer; address: string }[] = [],
): Promise<void> {
  const row = {
    id: invoice.id,
    status: deriveStatus(invoice),
    asset: invoice.asset,
    amount: String(invoice.amount),
    usd_cents: textOrNull(invoice.usdCents),
    amount_source: invoice.amountSource,
    rate: jsonOrNull(invoice.rate),
    tolerance_under: String(invoice.toleranceUnder),
    tolerance_over: String(invoice.toleranceOver),
    confirmations: JSON.stringify(invoice.confirmations),
    allow_asset_selection: invoice.allowAssetSelection,
    customer_email: invoice.customerEmail,
    external_reference: invoice.externalReference,
    order_reference: invoice.orderReference,
    checkout_session_id: invoice.checkoutSessionId,
    payment_link_id: invoice.paymentLinkId,
    metadata: jsonOrNull(invoice.metadata),
    reopened_from: invoice.reopenedFrom,
    address: invoice.address,
    created_at: new Date(invoice.createdAtMs),
    expires_at: new Date(invoice.expiresAtMs),
    announced: JSON.stringify(invoice.announced),
    event_count: eventCount,
    service_fee_bps: invoice.serviceFeeBps,
    return_url: invoice.returnUrl,
    price_amount: invoice.price?.amount ?? null,
    price_currency: invoice.price?.currency ?? null,
    price_rate: jsonOrNull(invoice.price?.rate ?? null),
    description: invoice.description,
    also_accepts: JSON.stringify(invoice.alsoAccepts),
    token_rates: jsonOrNull(invoice.tokenRates),
  }
  const given = [{ ...deposit, address: invoice.address }, ...beside].map((one) => ({
    keyspace: one.keyspace,
    idx: one.idx,
    invoice_id: invoice.id,
    program: one.addressBytes.toString('base64'),
    address: one.address,
    created_at: row.created_at,
  }))
  await tx.query(INSERT_INVOICES, [tenant.merchantId, tenant.livemode, new Rows([row]), new Rows(given)])
}

/** Columns of a new invoice with their types in the rows; JSON comes as text, so that it is stored as it was written. */
const NEW_INVOICE = `id text, status text, asset text, amount numeric, usd_cents numeric, amount_source text, rate text,
  tolerance_under numeric, tolerance_over numeric, confirmations text, allow_asset_selection boolean,
  customer_email text, external_reference text, order_reference text, checkout_session_id text,
  payment_link_id text, metadata text, reopened_from text, address text, created_at timestamptz,
  expires_at timestamptz, announced text, event_count integer, service_fee_bps integer, return_url text,
  price_amount text, price_currency text, price_rate text, description text, also_accepts text,
  token_rates text`

const INSERT_INVOICES = `with new_invoice as (
    insert into invoice (merchant_id, livemode, id, status, asset, amount, usd_cents, amount_source, rate,
      tolerance_under, tolerance_over, confirmations, allow_asset_selection, customer_email,
      external_reference, order_reference, checkout_session_id, payment_link_id, metadata, reopened_from,
      address, created_at, expires_at, announced, event_count, service_fee_bps, return_url,
      price_amount, price_currency, price_rate, description, also_accepts, token_rates)
    select $1, $2, id, status, asset, amount, usd_cents, amount_source, rate::json,
      tolerance_under, tolerance_over, confirmations::jsonb, allow_asset_selection, customer_email,
      external_reference, order_reference, checkout_session_id, payment_link_id, metadata::json, reopened_from,
      address, created_at, expires_at, announced::jsonb, event_count, service_fee_bps, return_url,
      price_amount, price_currency, price_rate::jsonb, description, also_accepts::jsonb, token_rates::jsonb
    from json_to_recordset($3) as row (${NEW_INVOICE}))
  insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
  select $1, keyspace, idx, $2, invoice_id, decode(program, 'base64'), address, created_at
  from json_to_recordset($4) as row (keyspace text, idx bigint, invoice_id text, program text, address text,
    created_at timestamptz)`

/** One invoice with its payments, or null. `forUpdate` makes others wait until this transaction ends. */
export async function loadInvoice(
  tx: Tx,
  tenant: Tenant,
  id: string,
  options: { forUpdate?: boolean } = {},
): Promise<StoredInvoice | null> {
  const { rows } = await tx.query<InvoiceRow>(
    `select ${INVOICE_COLUMNS} from invoice where merchant_id = $1 and id = $2 and livemode = $3
     ${options.forUpdate === true ? 'for update' : ''}`,
    [tenant.merchantId, id, tenant.livemode],
  )
  const row = rows[0]
  if (row === undefined) return null
  const received = await loadReceived(tx, tenant, [id])
  return { invoice: invoiceFromRow(row, received.get(id)), eventCount: row.event_count }
}

/** The same of several, locked in the order of their ids: two that lock some of the same never wait for one another. */
export async function lockInvoices(
  tx: Tx,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Map<string, StoredInvoice>> {
  const { rows } = await tx.query<InvoiceRow>(
    `select ${INVOICE_COLUMNS} from invoice where merchant_id = $1 and id = any($2) and livemode = $3
     order by id for update`,
    [tenant.merchantId, ids, tenant.livemode],
  )
  const received = await loadReceived(tx, tenant, ids)
  return new Map(
    rows.map((row) => [
      row.id,
      { invoice: invoiceFromRow(row, received.get(row.id)), eventCount: row.event_count },
    ]),
  )
}

/**
 * Writes what an advance may change. Guarded by the number of events, which every emitted change moves, and by the
 * row lock that `loadInvoice` with `forUpdate` took; false means that the invoice is not as it was read.
 */
export async function updateInvoice(
  tx: Tx,
  tenant: Tenant,
  before: StoredInvoice,
  next: StoredInvoice,
): Promise<boolean> {
  const { invoice } = next
  const { rowCount } = await tx.query(
    `update invoice
     set status = $4, expired_at = $5, cancelled_at = $6, paid_at = $7, accepted_at = $8,
       reorg_dismissed = $9, announced = $10, event_count = $11, expiry_reading = $13
     where merchant_id = $1 and id = $2 and livemode = $3 and event_count = $12`,
    [
      tenant.merchantId,
      invoice.id,
      tenant.livemode,
      deriveStatus(invoice),
      dateOrNull(invoice.expiredAtMs),
      dateOrNull(invoice.cancelledAtMs),
      dateOrNull(invoice.paidAtMs),
      dateOrNull(invoice.acceptedAtMs),
      invoice.reorgDismissed,
      JSON.stringify(invoice.announced),
      next.eventCount,
      before.eventCount,
      jsonOrNull(invoice.expiryReading),
    ],
  )
  return rowCount === 1
}

/** Writes the coin of an invoice and all that follows from it. The row was read with `forUpdate`. */
export async function updateInvoiceTerms(tx: Tx, tenant: Tenant, invoice: Invoice): Promise<void> {
  const { rowCount } = await tx.query(
    `update invoice
     set asset = $4, amount = $5, rate = $6, tolerance_under = $7, tolerance_over = $8, confirmations = $9,
       address = $10, also_accepts = $11, token_rates = $12
     where merchant_id = $1 and id = $2 and livemode = $3`,
    [
      tenant.merchantId,
      invoice.id,
      tenant.livemode,
      invoice.asset,
      invoice.amount,
      jsonOrNull(invoice.rate),
      invoice.toleranceUnder,
      invoice.toleranceOver,
      JSON.stringify(invoice.confirmations),
      invoice.address,
      JSON.stringify(invoice.alsoAccepts),
      jsonOrNull(invoice.tokenRates),
    ],
  )
  if (rowCount !== 1) throw new Error(`invoice ${invoice.id} changed its coin and is not there`)
}

/**
 * Lets so many base units of a coin too much still be `paid`, where fewer were and it is still that coin: of dollars, what they
 * count for. By primary key.
 */
export async function raiseToleranceOver(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  { asset, units }: { readonly asset: AssetId; readonly units: bigint },
): Promise<void> {
  await tx.query(
    `update invoice i set tolerance_over = ceil($4 * ${weightOf('$5::text')})
     where merchant_id = $1 and id = $2 and livemode = $3 and asset = $5
       and tolerance_over < ceil($4 * ${weightOf('$5::text')})`,
    [tenant.merchantId, invoiceId, tenant.livemode, units, asset],
  )
}

/** The invoice as which one was reopened, or null. Served by invoice_reopened_once. */
export async function findReopening(tx: Tx, tenant: Tenant, invoiceId: string): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    'select id from invoice where merchant_id = $1 and reopened_from = $2 and livemode = $3',
    [tenant.merchantId, invoiceId, tenant.livemode],
  )
  return rows[0]?.id ?? null
}

/**
 * Holds a visit of a payment link's page until the transaction ends: presses of one page take turns, and each sees what
 * the one before has made.
 */
export async function lockVisit(tx: Tx, tenant: Tenant, visitDigest: Buffer): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `link_visit/${tenant.merchantId}/${visitDigest.toString('hex')}`,
  ])
}

/** The invoice that was made by a visit of a payment link's page, or null. Served by invoice_of_visit. */
export async function findInvoiceOfVisit(
  tx: Tx,
  tenant: Tenant,
  visit: { readonly paymentLinkId: string; readonly digest: Buffer },
): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `select id from invoice
     where merchant_id = $1 and payment_link_id = $2 and visit_digest = $3 and livemode = $4`,
    [tenant.merchantId, visit.paymentLinkId, visit.digest, tenant.livemode],
  )
  return rows[0]?.id ?? null
}

/** Says by which visit an invoice was made, once. False where it has one. Served by the primary key. */
export async function setInvoiceVisit(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  visitDigest: Buffer,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update invoice set visit_digest = $3
     where merchant_id = $1 and id = $2 and livemode = $4 and visit_digest is null`,
    [tenant.merchantId, invoiceId, visitDigest, tenant.livemode],
  )
  return rowCount === 1
}

/** The network of each asset in one mode. */
const NETWORKS_IN = [true, false].map((livemode) =>
  JSON.stringify(Object.fromEntries(ASSET_IDS.map((asset) => [asset, networkOf(asset, livemode)]))),
)

/**
 * Open invoices whose deadline has passed, for one asset; the watcher settles them. Not those that may have been paid on
 * another network, which was not read past the deadline yet: they must not stand before others. Served by
 * invoice_open_deadline.
 */
export async function findInvoicesPastDeadline(
  db: Queryable,
  filter: {
    asset: AssetId
    livemode: boolean
    deadlineBefore: Date
    /** Those among them that wait for another network's reading as well. */
    waiting?: 'included'
    /** Ids that were tried in vain. */
    except: readonly string[]
    limit: number
  },
): Promise<{ merchantId: string; invoiceId: string }[]> {
  const { rows } = await db.query<{ merchant_id: string; id: string }>(
    `select merchant_id, id from invoice
     where livemode = $1 and asset = $2 and expires_at < $3
       and expired_at is null and cancelled_at is null and status in ('awaiting_payment') and id <> all($5)
       and not exists (
         select from jsonb_array_elements_text(also_accepts) as also (asset)
           left join network_state n on n.network = $6::jsonb ->> also.asset
         where $7 and (n.read_at is null or n.read_at <= expires_at))
     order by expires_at limit $4`,
    [
      filter.livemode,
      filter.asset,
      filter.deadlineBefore,
      filter.limit,
      filter.except,
      NETWORKS_IN[filter.livemode ? 0 : 1],
      filter.waiting === undefined,
    ],
  )
  return rows.map((row) => ({ merchantId: row.merchant_id, invoiceId: row.id }))
}

const textOrNull = (units: bigint | null): string | null => (units === null ? null : String(units))

const dateOrNull = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

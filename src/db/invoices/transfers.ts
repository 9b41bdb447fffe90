import type { Network, PaymentAsset } from '../../core/assets.ts'
import type { TrackedTransfer } from '../../core/chain/reconcile.ts'
import { type BlockTag, type BlockTags, countOf, type Finality } from '../../core/finality.ts'
import type {
  LedgerBucket,
  Payment,
  PaymentPart,
  PaymentReviewReason,
  PaymentStatus,
} from '../../core/invoice/types.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { type ListPosition, loadPage } from '../list-page.ts'

export type TransferRow = {
  merchant_id: string
  id: string
  livemode: boolean
  invoice_id: string
  network: Network
  txid: string
  output_index: number
  asset: PaymentAsset
  amount: bigint
  is_block_sum: boolean
  transfers: number
  status: PaymentStatus
  first_seen_at: Date
  detected_at: Date
  confirmed_at: Date | null
  block_height: number | null
  block_hash: string | null
  block_time: Date | null
  confirmations_required: number | null
  finality_mark: BlockTag | null
  late: boolean
  dust: boolean
  review_reason: PaymentReviewReason | null
  resolution: Payment['resolution']
  announced_confirming: boolean
  announced_review: boolean
  ledger_bucket: LedgerBucket
  ledger_postings: number
  /** Selected only where it is needed. */
  parts?: readonly PartRow[] | null
}

type PartRow = { readonly txid: string; readonly output_index: number; readonly amount: string }

/** What a payment is made of; the table has more. */
export const TRANSFER_COLUMNS = `id, merchant_id, livemode, invoice_id, network, txid, output_index, asset, amount, status, first_seen_at,
  detected_at, confirmed_at, block_height, block_hash, block_time, confirmations_required, finality_mark, late, dust, review_reason,
  resolution, announced_confirming, announced_review, ledger_bucket, ledger_postings, is_block_sum, transfers`

/** A page of an invoice's payments, newest first. Served by transfer_by_invoice. */
export async function listPayments(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  position: ListPosition,
): Promise<{ payments: Payment[]; hasMore: boolean }> {
  const { rows, hasMore } = await loadPage<TransferRow>(
    tx,
    { table: 'transfer', columns: TRANSFER_COLUMNS },
    position,
    [
      ['merchant_id', tenant.merchantId],
      ['livemode', tenant.livemode],
      ['invoice_id', invoiceId],
      ['dust', false],
    ],
  )
  return { payments: rows.map(paymentFromRow), hasMore }
}

/** A transaction that pays something of a merchant's. */
export type TransactionKey = { readonly merchantId: string; readonly txid: string }

const columnsOf = (transactions: readonly TransactionKey[]) => [
  transactions.map(({ merchantId }) => merchantId),
  transactions.map(({ txid }) => txid),
]

/** Followed: what was read from another chain, before the network was pointed to this one, is not. */
const FOLLOWED = `select ${TRANSFER_COLUMNS} from transfer where network = $1 and left_on_chain is null`

async function loadTracked(
  db: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<TrackedTransfer[]> {
  return (await db.query<TransferRow>(text, [...values])).rows.map(trackedFromRow)
}

/** Everything on a network's chain that is not yet final. Served by transfer_unsettled. */
export const loadUnsettledTransfers = (db: Queryable, network: Network): Promise<TrackedTransfer[]> =>
  loadTracked(db, `${FOLLOWED} and status in ('detected', 'confirming')`, [network])

/**
 * What waits for a block, what a reorganisation down to `aboveHeight` would touch, and of these transactions what is not yet
 * final. What else is not final may be much, and is left out: looked up on their own, since statistics from before it waited
 * would have all of it compared with them. Served by transfer_unsettled, transfer_by_height and transfer_identity.
 */
export function loadTrackedTransfers(
  db: Queryable,
  network: Network,
  aboveHeight: number,
  transactions: readonly TransactionKey[],
): Promise<TrackedTransfer[]> {
  return loadTracked(
    db,
    `with found as materialized (
       select ${TRANSFER_COLUMNS}, left_on_chain from transfer
       where network = $1 and (merchant_id, txid) in (select * from unnest($3::text[], $4::text[])))
     ${FOLLOWED} and status = 'detected'
     union
     ${FOLLOWED} and block_height > $2 and block_height is not null
     union
     select ${TRANSFER_COLUMNS} from found where status = 'confirming' and left_on_chain is null`,
    [network, aboveHeight, ...columnsOf(transactions)],
  )
}

/**
 * What has become final at a height, and is not recorded so: by its count of blocks, or by the tag of its block; null where
 * there are none. Served by transfer_unsettled.
 */
export function loadDueTransfers(
  db: Queryable,
  network: Network,
  tipHeight: number,
  blockTags: BlockTags | null,
): Promise<TrackedTransfer[]> {
  const confirming = `${FOLLOWED} and status = 'confirming'`
  const dueHeight = 'block_height + coalesce(confirmations_required, 0)'
  return loadTracked(
    db,
    `${confirming} and finality_mark is null and ${dueHeight} <= $2
     union all
     ${confirming} and finality_mark = 'safe' and ${dueHeight} <= $3
     union all
     ${confirming} and finality_mark = 'finalized' and ${dueHeight} <= $4`,
    [network, tipHeight + 1, blockTags?.safe ?? null, blockTags?.finalized ?? null],
  )
}

/** The highest block at or below this height that a transfer is recorded in; null where there is none. Served by transfer_by_height. */
export async function loadRecordedBlock(
  db: Queryable,
  network: Network,
  height: number,
): Promise<{ readonly height: number; readonly hash: string } | null> {
  const { rows } = await db.query<{ height: number; hash: string }>(
    `select block_height as height, block_hash as hash from transfer
     where network = $1 and block_height <= $2 and block_height is not null and block_hash is not null and left_on_chain is null
     order by block_height desc limit 1`,
    [network, height],
  )
  return rows[0] ?? null
}

/** What is recorded of these transactions, in any state. Served by transfer_identity. */
export async function loadTransfersOf(
  db: Queryable,
  network: Network,
  transactions: readonly TransactionKey[],
): Promise<TrackedTransfer[]> {
  if (transactions.length === 0) return []
  return loadTracked(
    db,
    `select ${TRANSFER_COLUMNS} from transfer
     where network = $1 and (merchant_id, txid) in (select * from unnest($2::text[], $3::text[]))`,
    [network, ...columnsOf(transactions)],
  )
}

/**
 * A test network was pointed from one chain to another: what was read from the one stays as it is and is no longer
 * followed, and what was read from the other, if it was here before, is followed again.
 */
export async function leaveTransfersBehind(
  tx: Tx,
  network: Network,
  before: string | null,
  now: string | null,
): Promise<void> {
  await tx.query('update transfer set left_on_chain = $2 where network = $1 and left_on_chain is null', [
    network,
    before ?? 'unknown',
  ])
  await tx.query('update transfer set left_on_chain = null where network = $1 and left_on_chain = $2', [
    network,
    now,
  ])
}

/** Writes payments that are new, sent together. Only the watcher may: nothing else sees a chain. */
export async function insertPayments(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  payments: readonly Payment[],
): Promise<void> {
  await Promise.all(
    payments.map((payment) =>
      tx.query(INSERT_PAYMENT, [
        ...changingColumns(tenant, payment),
        invoiceId,
        payment.network,
        payment.txid,
        payment.outputIndex,
        payment.asset,
        payment.amount,
        new Date(payment.detectedAtMs),
        countOf(payment.finality),
        typeof payment.finality === 'number' ? null : payment.finality,
        payment.dust,
        payment.transfers,
        partsToJson(payment),
        payment.isBlockSum,
      ]),
    ),
  )
}

const INSERT_PAYMENT = `insert into transfer (merchant_id, id, livemode, status, first_seen_at, confirmed_at,
    block_height, block_hash, block_time, late, review_reason, resolution, announced_confirming, announced_review,
    ledger_bucket, ledger_postings, invoice_id, network, txid, output_index, asset, amount, detected_at,
    confirmations_required, finality_mark, dust, transfers, parts, is_block_sum)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
    $24, $25, $26, $27, $28, $29)`

/** Writes what has changed of payments that stand already, sent together. */
export async function updatePayments(tx: Tx, tenant: Tenant, payments: readonly Payment[]): Promise<void> {
  await Promise.all(payments.map((payment) => updatePayment(tx, tenant, payment)))
}

async function updatePayment(tx: Tx, tenant: Tenant, payment: Payment): Promise<void> {
  const { rowCount } = await tx.query(
    `update transfer
     set status = $4, first_seen_at = $5, confirmed_at = $6, block_height = $7, block_hash = $8, block_time = $9,
       late = $10, review_reason = $11, resolution = $12, announced_confirming = $13, announced_review = $14,
       ledger_bucket = $15, ledger_postings = $16, amount = $17, dust = $18, transfers = $19,
       parts = coalesce($20, parts), checked_block_hash = case when amount = $17 then checked_block_hash end
     where merchant_id = $1 and id = $2 and livemode = $3`,
    [
      ...changingColumns(tenant, payment),
      payment.amount,
      payment.dust,
      payment.transfers,
      partsToJson(payment),
    ],
  )
  if (rowCount !== 1) throw new Error(`payment ${payment.id} was changed and is not there`)
}

function changingColumns(tenant: Tenant, payment: Payment): unknown[] {
  return [
    tenant.merchantId,
    payment.id,
    tenant.livemode,
    payment.status,
    new Date(payment.firstSeenMs),
    payment.confirmedAtMs === null ? null : new Date(payment.confirmedAtMs),
    payment.block?.height ?? null,
    payment.block?.hash ?? null,
    payment.block === null ? null : new Date(payment.block.timeMs),
    payment.late,
    payment.reviewReason,
    payment.resolution,
    payment.announced.confirming,
    payment.announced.review,
    payment.bucket,
    payment.postings,
  ]
}

/** Null where they were not loaded. */
const partsToJson = ({ parts }: Payment): string | null =>
  parts === null
    ? null
    : JSON.stringify(
        parts.map(
          ({ txid, outputIndex, amount }): PartRow => ({
            txid,
            output_index: outputIndex,
            amount: amount.toString(),
          }),
        ),
      )

const partFromRow = ({ txid, output_index, amount }: PartRow): PaymentPart => ({
  txid,
  outputIndex: output_index,
  amount: BigInt(amount),
})

function trackedFromRow(row: TransferRow): TrackedTransfer {
  return {
    tenant: { merchantId: row.merchant_id, livemode: row.livemode },
    invoiceId: row.invoice_id,
    payment: paymentFromRow(row),
  }
}

function finalityOf(row: TransferRow): Finality {
  const finality = row.finality_mark ?? row.confirmations_required
  if (finality === null) throw new Error(`nothing says when payment ${row.id} is final`)
  return finality
}

export function paymentFromRow(row: TransferRow): Payment {
  return {
    id: row.id,
    network: row.network,
    txid: row.txid,
    outputIndex: row.output_index,
    asset: row.asset,
    amount: row.amount,
    isBlockSum: row.is_block_sum,
    transfers: row.transfers,
    parts: row.parts?.map(partFromRow) ?? null,
    status: row.status,
    firstSeenMs: row.first_seen_at.getTime(),
    detectedAtMs: row.detected_at.getTime(),
    confirmedAtMs: row.confirmed_at?.getTime() ?? null,
    block:
      row.block_height === null || row.block_hash === null || row.block_time === null
        ? null
        : { height: row.block_height, hash: row.block_hash, timeMs: row.block_time.getTime() },
    finality: finalityOf(row),
    late: row.late,
    dust: row.dust,
    reviewReason: row.review_reason,
    resolution: row.resolution,
    announced: { confirming: row.announced_confirming, review: row.announced_review },
    bucket: row.ledger_bucket,
    postings: row.ledger_postings,
  }
}

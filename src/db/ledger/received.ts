import type { BlockSumTotal, Invoice, Payment } from '../../core/invoice/types.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { paymentFromRow, TRANSFER_COLUMNS, type TransferRow } from '../invoices/transfers.ts'

/** What came to an invoice. */
export type Received = Pick<Invoice, 'payments' | 'blockSums'>
export const NOTHING: Received = { payments: [], blockSums: [] }

/**
 * What came to some invoices, payments oldest first; block sums only as totals. Served by transfer_by_invoice and
 * transfer_block_sum.
 */
export async function loadReceived(
  tx: Tx,
  tenant: Tenant,
  invoiceIds: readonly string[],
): Promise<Map<string, Received>> {
  const [{ rows }, totals] = await Promise.all([
    tx.query<TransferRow>(
      `select ${TRANSFER_COLUMNS} from transfer
       where merchant_id = $1 and livemode = $2 and invoice_id = any($3) and not is_block_sum
       order by id collate "C"`,
      [tenant.merchantId, tenant.livemode, invoiceIds],
    ),
    loadBlockSumTotals(tx, tenant, { invoiceIds, without: [] }),
  ])
  const received = new Map<string, { payments: Payment[]; blockSums: readonly BlockSumTotal[] }>()
  for (const id of invoiceIds) received.set(id, { payments: [], blockSums: totals.get(id) ?? [] })
  for (const row of rows) received.get(row.invoice_id)?.payments.push(paymentFromRow(row))
  return received
}

/**
 * An invoice with those of its block sums that these blocks have, or with all, one by one. Those that `inBlocks` names
 * come with their parts. Served by transfer_block_sum.
 */
export async function withBlockSums(
  tx: Tx,
  tenant: Tenant,
  invoice: Invoice,
  wanted: { readonly blocks: readonly string[]; readonly withParts: readonly string[] } | 'all',
): Promise<Invoice> {
  if (invoice.blockSums.length === 0) return invoice
  const blocks = wanted === 'all' ? null : wanted.blocks
  const [{ rows }, totals] = await Promise.all([
    tx.query<TransferRow>(
      `select ${TRANSFER_COLUMNS}, case when txid = any($5) then parts end as parts from transfer
       where merchant_id = $1 and livemode = $2 and invoice_id = $3 and is_block_sum
         and ($4::text[] is null or txid = any($4))
       order by id collate "C"`,
      [tenant.merchantId, tenant.livemode, invoice.id, blocks, wanted === 'all' ? [] : wanted.withParts],
    ),
    blocks === null
      ? new Map<string, BlockSumTotal[]>()
      : loadBlockSumTotals(tx, tenant, { invoiceIds: [invoice.id], without: blocks }),
  ])
  const payments = [...invoice.payments, ...rows.map(paymentFromRow)]
  return { ...invoice, payments, blockSums: totals.get(invoice.id) ?? [] }
}

/** Served by transfer_block_sum. */
async function loadBlockSumTotals(
  tx: Tx,
  tenant: Tenant,
  of: { readonly invoiceIds: readonly string[]; readonly without: readonly string[] },
): Promise<Map<string, BlockSumTotal[]>> {
  const { rows } = await tx.query<
    Pick<
      TransferRow,
      | 'invoice_id'
      | 'id'
      | 'asset'
      | 'amount'
      | 'status'
      | 'dust'
      | 'review_reason'
      | 'resolution'
      | 'ledger_bucket'
      | 'transfers'
    > & { payments: number }
  >(
    `select invoice_id, min(id) as id, asset, sum(amount) as amount, status, dust, review_reason, resolution,
       ledger_bucket, sum(transfers)::int as transfers, count(*)::int as payments
     from transfer
     where merchant_id = $1 and livemode = $2 and invoice_id = any($3) and is_block_sum and txid <> all($4)
     group by invoice_id, asset, status, dust, review_reason, resolution, ledger_bucket
     order by 2`,
    [tenant.merchantId, tenant.livemode, of.invoiceIds, of.without],
  )
  const totals = new Map<string, BlockSumTotal[]>()
  for (const { invoice_id, review_reason, ledger_bucket, ...total } of rows) {
    const known = totals.get(invoice_id) ?? []
    known.push({ ...total, reviewReason: review_reason, bucket: ledger_bucket })
    totals.set(invoice_id, known)
  }
  return totals
}

import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../pool.ts'
import type { Tx } from '../transaction.ts'
import { INVOICE_COLUMNS, type InvoiceRow } from './invoices.ts'

/** What does not agree: whose it is, which row, and in words what is wrong. */
export type Finding = {
  readonly merchantId: string | null
  readonly subject: string
  readonly detail: string
}

/** Every query of one audit sees the same moment, so that a running service cannot make it disagree with itself. */
export async function readOneMoment(tx: Tx): Promise<void> {
  await tx.query('set transaction isolation level repeatable read, read only')
}

/** Runs one check: a query that selects merchant_id, subject and detail of everything that disagrees. */
export async function findDisagreements(db: Queryable, sql: string, limit: number): Promise<Finding[]> {
  const { rows } = await db.query<{ merchant_id: string | null; subject: string; detail: string }>(
    `select merchant_id, subject, detail from (${sql}) disagreement limit $1`,
    [limit],
  )
  return rows.map((row) => ({ merchantId: row.merchant_id, subject: row.subject, detail: row.detail }))
}

export type AuditedInvoiceRow = InvoiceRow & { readonly status: string }

/** The next page of all invoices, by key, for checks that need the core's own rules. Served by the primary key. */
export async function listInvoicesForAudit(
  tx: Tx,
  after: { merchantId: string; id: string },
  limit: number,
): Promise<AuditedInvoiceRow[]> {
  const { rows } = await tx.query<AuditedInvoiceRow>(
    `select ${INVOICE_COLUMNS}, status from invoice where (merchant_id, id) > ($1, $2) order by merchant_id, id limit $3`,
    [after.merchantId, after.id, limit],
  )
  return rows
}

export type TransferOnChain = {
  readonly merchantId: string
  readonly id: string
  readonly txid: string
  readonly outputIndex: number
  readonly amount: bigint
  readonly height: number
  readonly hash: string
}

/** Every transfer of the chain that a network is which stands in a block up to `height`. Served by transfer_by_height. */
export async function listTransfersInBlocks(
  db: Queryable,
  network: Network,
  height: number,
): Promise<TransferOnChain[]> {
  const { rows } = await db.query<{
    merchant_id: string
    id: string
    txid: string
    output_index: number
    amount: bigint
    block_height: number
    block_hash: string
  }>(
    `select merchant_id, id, txid, output_index, amount, block_height, block_hash from transfer
     where network = $1 and block_height is not null and block_height <= $2
       and left_on_chain is null order by block_height`,
    [network, height],
  )
  return rows.map((row) => ({
    merchantId: row.merchant_id,
    id: row.id,
    txid: row.txid,
    outputIndex: row.output_index,
    amount: row.amount,
    height: row.block_height,
    hash: row.block_hash,
  }))
}

/** The programs of every address that was given to an invoice in a keyspace. */
export async function listDepositPrograms(db: Queryable, keyspace: string): Promise<Buffer[]> {
  const { rows } = await db.query<{ program: Buffer }>(
    'select program from deposit_address where keyspace = $1',
    [keyspace],
  )
  return rows.map((row) => row.program)
}

/** When the first address of a keyspace was given out: nothing of ours is on chain before. */
export async function firstDepositAt(db: Queryable, keyspace: string): Promise<Date | null> {
  const { rows } = await db.query<{ first: Date | null }>(
    'select min(created_at) as first from deposit_address where keyspace = $1',
    [keyspace],
  )
  return rows[0]?.first ?? null
}

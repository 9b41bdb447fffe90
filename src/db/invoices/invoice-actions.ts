import type { Tenant, Tx } from '../../postgres/transaction.ts'

/**
 * Whether the tenant has this invoice and its metadata has this key, which is looked for here: PostgreSQL's operators refuse
 * JSON that JavaScript takes. By the key.
 */
export async function hasInvoiceMetadata(tx: Tx, tenant: Tenant, id: string, name: string): Promise<boolean> {
  const { rows } = await tx.query<{ metadata: object | null }>(
    'select metadata from invoice where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  const metadata = rows[0]?.metadata ?? {}
  return Object.hasOwn(metadata, name)
}

/** Keeps who resolved an invoice, how, and their note; the request's id names the row. */
export async function insertResolution(
  tx: Tx,
  tenant: Tenant,
  resolution: {
    invoiceId: string
    requestId: string
    resolution: 'accept' | 'dismiss'
    note: string | null
    actor: string
    now: Date
  },
): Promise<void> {
  await tx.query(
    `insert into invoice_resolution (merchant_id, livemode, invoice_id, request_id, resolution, note, actor, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      tenant.merchantId,
      tenant.livemode,
      resolution.invoiceId,
      resolution.requestId,
      resolution.resolution,
      resolution.note,
      resolution.actor,
      resolution.now,
    ],
  )
}

/**
 * Moves a test invoice's deadline to an earlier time, so that a late payment can be tried without waiting. False
 * where the deadline is as early already, or the invoice is live, cancelled or not the tenant's. By primary key.
 */
export async function pullDeadline(
  tx: Tx,
  tenant: Tenant,
  input: { readonly invoiceId: string; readonly deadline: Date },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update invoice set expires_at = $3
     where merchant_id = $1 and id = $2 and livemode = false and expires_at > $3 and cancelled_at is null`,
    [tenant.merchantId, input.invoiceId, input.deadline],
  )
  return rowCount === 1
}

import type { Tenant, Tx } from '../../postgres/transaction.ts'

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

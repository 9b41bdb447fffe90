import type { Tenant, Tx } from '../../postgres/transaction.ts'

export type InvoiceNote = { readonly text: string; readonly updatedBy: string; readonly updatedAt: Date }

/** The shop's own note of an invoice; null where there is none. By primary key. */
export async function loadInvoiceNote(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
): Promise<InvoiceNote | null> {
  const { rows } = await tx.query<InvoiceNote>(
    `select text, updated_by as "updatedBy", updated_at as "updatedAt" from invoice_note
     where merchant_id = $1 and invoice_id = $2 and livemode = $3`,
    [tenant.merchantId, invoiceId, tenant.livemode],
  )
  return rows[0] ?? null
}

/** Writes the note in place of what was there; null removes it. By primary key. */
export async function putInvoiceNote(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  note: InvoiceNote | null,
): Promise<void> {
  if (note === null) {
    await tx.query('delete from invoice_note where merchant_id = $1 and invoice_id = $2 and livemode = $3', [
      tenant.merchantId,
      invoiceId,
      tenant.livemode,
    ])
    return
  }
  await tx.query(
    `insert into invoice_note (merchant_id, invoice_id, livemode, text, updated_by, updated_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (merchant_id, invoice_id) do update set text = $4, updated_by = $5, updated_at = $6`,
    [tenant.merchantId, invoiceId, tenant.livemode, note.text, note.updatedBy, note.updatedAt],
  )
}

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

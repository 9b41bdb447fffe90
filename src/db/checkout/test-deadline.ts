import type { Tenant, Tx } from '../../postgres/transaction.ts'

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

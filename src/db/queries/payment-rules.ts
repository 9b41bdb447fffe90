import { type PaymentRules, readPaymentRules } from '../../core/payment-rules.ts'
import type { Tenant, Tx } from '../transaction.ts'

/** A merchant's payment rules in one mode; the defaults where none were stored. Served by the primary key. */
export async function loadPaymentRules(tx: Tx, tenant: Tenant): Promise<PaymentRules> {
  const { rows } = await tx.query<{ rules: unknown }>(
    'select rules from payment_rules where merchant_id = $1 and livemode = $2',
    [tenant.merchantId, tenant.livemode],
  )
  return readPaymentRules(rows[0]?.rules)
}

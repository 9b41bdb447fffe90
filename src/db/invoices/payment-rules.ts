import { type PaymentRules, readPaymentRules } from '../../core/payment-rules.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** A merchant's payment rules in one mode; the defaults where none were stored. Served by the primary key. */
export async function loadPaymentRules(tx: Tx, tenant: Tenant): Promise<PaymentRules> {
  const { rows } = await tx.query<{ rules: unknown }>(
    'select rules from payment_rules where merchant_id = $1 and livemode = $2',
    [tenant.merchantId, tenant.livemode],
  )
  return readPaymentRules(rows[0]?.rules)
}

/**
 * The stored document, held until the transaction ends so that two changes follow one another; `{}` where none
 * is stored. Served by the primary key.
 */
export async function lockPaymentRules(tx: Tx, tenant: Tenant): Promise<{ [field: string]: unknown }> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('payment_rules/' || $1 || $2, 0))`, [
    tenant.merchantId,
    String(tenant.livemode),
  ])
  const { rows } = await tx.query<{ rules: { [field: string]: unknown } }>(
    'select rules from payment_rules where merchant_id = $1 and livemode = $2',
    [tenant.merchantId, tenant.livemode],
  )
  return rows[0]?.rules ?? {}
}

/** Writes the document. Served by the primary key. */
export async function storePaymentRules(
  tx: Tx,
  tenant: Tenant,
  input: { document: { [field: string]: unknown }; now: Date },
): Promise<void> {
  await tx.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, $2, $3, $4)
     on conflict (merchant_id, livemode) do update set rules = excluded.rules, updated_at = excluded.updated_at`,
    [tenant.merchantId, tenant.livemode, JSON.stringify(input.document), input.now],
  )
}

import type { PaymentRules } from '../../core/payment-rules.ts'
import { loadPaymentRules } from '../../db/invoices/payment-rules.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tenant, withTransaction } from '../../postgres/transaction.ts'
import { createShortCache } from './short-cache.ts'

/** Payment rules, read at most twice a second for each merchant and mode. */
export function createRulesCache(
  pool: Pool,
  elapsedMs: () => number,
): (tenant: Tenant) => Promise<PaymentRules> {
  const rules = createShortCache<PaymentRules>({
    load: (key) => {
      const tenant = { merchantId: key.slice(1), livemode: key.startsWith('L') }
      return withTransaction(pool, tenant, (tx) => loadPaymentRules(tx, tenant))
    },
    keep: () => true,
    elapsedMs,
  })
  return ({ merchantId, livemode }) => rules.get(`${livemode ? 'L' : 'T'}${merchantId}`)
}

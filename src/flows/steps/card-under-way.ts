import { type CardWaiting, cardWaiting, isUnderWay } from '../../core/card/card-purchase.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { loadCardProgress } from '../../db/checkout/card-purchases.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** The purchase for which a provider has the buyer's money, and whose coins have not come; null where there is none. */
export async function findCardUnderWay(
  tx: Tx,
  tenant: Tenant,
  invoice: Pick<Invoice, 'id' | 'payments'>,
  now: Date,
): Promise<CardWaiting | null> {
  const { left } = await loadCardProgress(tx, tenant, invoice.id)
  const waiting = cardWaiting(left, invoice, now.getTime())
  return isUnderWay(waiting) ? waiting : null
}

import { type CardWaiting, cardWaiting, isUnderWay } from '../../core/card/card-purchase.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { loadCardProgress } from '../../db/checkout/card-purchases.ts'
import { findLiveX402Authorization } from '../../db/invoices/x402-authorizations.ts'
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

/** Whether money for the invoice is on its way by a card provider or by an x402 authorization: nothing else may begin. */
export async function isBeingPaid(
  tx: Tx,
  tenant: Tenant,
  invoice: Pick<Invoice, 'id' | 'payments'>,
  now: Date,
): Promise<boolean> {
  if ((await findCardUnderWay(tx, tenant, invoice, now)) !== null) return true
  return (await findLiveX402Authorization(tx, tenant, invoice.id)) !== null
}

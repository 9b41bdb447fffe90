import { type CardPurchase, isOpenOffer } from '../core/card/card-purchase.ts'
import { amountsOf } from '../core/invoice/status.ts'
import { listCardPurchases } from '../db/checkout/card-purchases.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

const RECENT_PURCHASES = 12

/**
 * The offers of an invoice that stand now: each provider's last one over the coin and the amount that are to pay
 * now, for the place that was asked for last. Reads only.
 */
export async function readCardOffers(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: { readonly tenant: Tenant; readonly invoiceId: string },
): Promise<readonly CardPurchase[]> {
  const { tenant, invoiceId } = input
  const { stored, recent } = await withTransaction(deps.pool, tenant, async (tx) => ({
    stored: await loadInvoice(tx, tenant, invoiceId),
    recent: await listCardPurchases(tx, tenant, invoiceId, RECENT_PURCHASES),
  }))
  if (stored === null) return []
  const { asset, address } = stored.invoice
  const amount = amountsOf(stored.invoice).remaining
  // What was asked for before the coin was switched, or a part was paid, is no offer any more.
  const fitting = recent.filter(
    (one) => one.asset === asset && one.address === address && one.amount === amount,
  )
  const nowMs = deps.clock().getTime()
  return fitting.filter(
    (purchase, index) =>
      isOpenOffer(purchase, nowMs) &&
      purchase.place === fitting[0]?.place &&
      fitting.findIndex(({ provider }) => provider === purchase.provider) === index,
  )
}

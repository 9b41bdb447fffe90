import type { Clock } from '../clock.ts'
import { type CardPurchase, isOpenOffer } from '../core/card/card-purchase.ts'
import type { Pool } from '../db/pool.ts'
import { listCardPurchases } from '../db/queries/card-purchases.ts'
import { type Tenant, withTransaction } from '../db/transaction.ts'

const RECENT_PURCHASES = 12

/**
 * The offers of an invoice that stand now: each provider's last one, for the coin and the place that were asked for
 * last. Reads only.
 */
export async function readCardOffers(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: { readonly tenant: Tenant; readonly invoiceId: string },
): Promise<readonly CardPurchase[]> {
  const { tenant, invoiceId } = input
  const recent = await withTransaction(deps.pool, tenant, (tx) =>
    listCardPurchases(tx, tenant, invoiceId, RECENT_PURCHASES),
  )
  const nowMs = deps.clock().getTime()
  const [last] = recent
  return recent.filter(
    (purchase, index) =>
      isOpenOffer(purchase, nowMs) &&
      purchase.place === last?.place &&
      purchase.asset === last.asset &&
      purchase.amount === last.amount &&
      recent.findIndex(({ provider }) => provider === purchase.provider) === index,
  )
}

import type { CardPurchase } from '../core/card/card-purchase.ts'
import type { ProviderUpdate } from '../core/card/provider-update.ts'
import type { OwnPurchase } from '../core/checkout/checkout-pages.ts'
import { loadCardPurchase, takeTestPurchase } from '../db/checkout/card-purchases.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/**
 * A card was typed on the sandbox's card page: writes what that page says of it from now on. `first` for one press
 * alone, which then sends the coins. Null where the invoice has no such purchase.
 */
export async function takeTestCardPurchase(
  deps: {
    readonly pool: Pool
    readonly clock: Clock
    readonly notifier: { invoiceChanged(invoiceId: string): void }
  },
  input: OwnPurchase & { readonly update: ProviderUpdate },
): Promise<{ readonly purchase: CardPurchase; readonly first: boolean } | null> {
  const { tenant, invoiceId, purchaseId: id, update } = input
  const taken = await withTransaction(deps.pool, tenant, async (tx) => {
    const purchase = await loadCardPurchase(tx, tenant, id)
    if (purchase === null || purchase.invoiceId !== invoiceId || purchase.provider !== 'sandbox') return null
    return { purchase, first: await takeTestPurchase(tx, tenant, { id, update, now: deps.clock() }) }
  })
  if (taken?.first === true) deps.notifier.invoiceChanged(invoiceId)
  return taken
}

/** The purchase that the sandbox's card page is about; null where the invoice has no such one. */
export async function readTestCardPurchase(
  deps: { readonly pool: Pool },
  input: OwnPurchase,
): Promise<CardPurchase | null> {
  const { tenant, invoiceId, purchaseId } = input
  if (tenant.livemode) return null
  const purchase = await withTransaction(deps.pool, tenant, (tx) => loadCardPurchase(tx, tenant, purchaseId))
  const isIts = purchase?.invoiceId === invoiceId && purchase.provider === 'sandbox'
  return isIts && purchase.leftAtMs !== null ? purchase : null
}

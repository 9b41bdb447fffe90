import type { CardProviderId } from '../core/card/onramp-provider.ts'
import type { ProviderUpdate } from '../core/card/provider-update.ts'
import { findCardPurchaseOwner, loadCardPurchase, setProviderUpdate } from '../db/checkout/card-purchases.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/** What a provider says of a purchase. */
export type ReportedProviderUpdate = {
  readonly provider: CardProviderId
  readonly purchaseId: string
  /** The provider's own name of the buyer's try. */
  readonly transaction: string
  readonly update: ProviderUpdate
  /** Where it says that the coins go; null where it does not say. */
  readonly address: string | null
  /** It was chosen among all of the purchase's transactions, so that none of them is under way where it has failed. */
  readonly isOfAll?: boolean
}

export type RecordedProviderUpdate = {
  /** `old`: it says nothing beyond what is known. `foreign`: another provider's purchase, or another address. */
  readonly kind: 'recorded' | 'old' | 'unknown' | 'foreign'
}

/**
 * Writes down what a provider says, for the page's words. Nothing is credited: the invoice, its payments and the
 * ledger are not touched.
 */
export async function recordProviderUpdate(
  deps: {
    readonly pool: Pool
    readonly clock: Clock
    readonly notifier: { invoiceChanged(invoiceId: string): void }
  },
  reported: ReportedProviderUpdate,
): Promise<RecordedProviderUpdate> {
  const tenant = await findCardPurchaseOwner(deps.pool, reported.purchaseId)
  if (tenant === null) return { kind: 'unknown' }
  const { purchase, isNew } = await withTransaction(deps.pool, tenant, async (tx) => {
    const purchase = await loadCardPurchase(tx, tenant, reported.purchaseId)
    if (purchase === null || !isOf(purchase, reported)) return { purchase: null, isNew: false }
    const { purchaseId: id, update, transaction, isOfAll = false } = reported
    const isNew = await setProviderUpdate(tx, tenant, { id, update, transaction, isOfAll, now: deps.clock() })
    return { purchase, isNew }
  })
  if (purchase === null) return { kind: 'foreign' }
  if (!isNew) return { kind: 'old' }
  deps.notifier.invoiceChanged(purchase.invoiceId)
  return { kind: 'recorded' }
}

/** Hexadecimal addresses are written in either case. */
function isOf(
  purchase: { readonly provider: CardProviderId; readonly address: string },
  reported: Pick<ReportedProviderUpdate, 'provider' | 'address'>,
): boolean {
  const isThere =
    reported.address === null ||
    reported.address === purchase.address ||
    (purchase.address.startsWith('0x') && reported.address.toLowerCase() === purchase.address.toLowerCase())
  return purchase.provider === reported.provider && isThere
}

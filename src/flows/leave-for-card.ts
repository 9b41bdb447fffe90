import type { Clock } from '../clock.ts'
import type { CardProviderId } from '../core/card/onramp-provider.ts'
import type { Pool } from '../db/pool.ts'
import { leaveForCard } from '../db/queries/card-purchases.ts'
import { type Tenant, withTransaction } from '../db/transaction.ts'
import { cardUrlContext } from '../secrets/card-url.ts'
import type { Keyring } from '../secrets/keyring.ts'

export type LeftForCard =
  | { readonly kind: 'left'; readonly provider: CardProviderId; readonly url: string }
  /** The offer is over, or was never this invoice's. */
  | { readonly kind: 'over' }

/** The buyer leaves for a provider: written down, so that the page speaks of it, and told where to go. */
export async function leaveForCardProvider(
  deps: {
    readonly pool: Pool
    readonly clock: Clock
    readonly keyring: Keyring
    readonly notifier: { invoiceChanged(invoiceId: string): void }
  },
  input: { readonly tenant: Tenant; readonly invoiceId: string; readonly purchaseId: string },
): Promise<LeftForCard> {
  const { tenant, invoiceId, purchaseId: id } = input
  const left = await withTransaction(deps.pool, tenant, (tx) =>
    leaveForCard(tx, tenant, { id, invoiceId, now: deps.clock() }),
  )
  if (left === null) return { kind: 'over' }
  deps.notifier.invoiceChanged(invoiceId)
  const url = deps.keyring.open(left.sealedUrl, cardUrlContext(tenant.merchantId, id)).toString()
  return { kind: 'left', provider: left.provider, url }
}

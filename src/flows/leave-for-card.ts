import type { CardProviderId } from '../core/card/onramp-provider.ts'
import { amountsOf } from '../core/invoice/status.ts'
import { leaveForCard } from '../db/checkout/card-purchases.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { cardUrlContext } from '../secrets/card-url.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { allowCardRounding } from './steps/allow-card-rounding.ts'

type LeftForCard =
  | { readonly kind: 'left'; readonly provider: CardProviderId; readonly url: string }
  /** The offer is over, was never this invoice's, or is not what is to pay any more. */
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
  const left = await withTransaction(deps.pool, tenant, async (tx) => {
    // The buyer may have switched coins or paid a part in another window since they asked.
    const stored = await loadInvoice(tx, tenant, invoiceId)
    if (stored === null) return null
    const { asset, address } = stored.invoice
    const amount = amountsOf(stored.invoice).remaining
    const purchase = { id, invoiceId, asset, amount, address, now: deps.clock() }
    const taken = await leaveForCard(tx, tenant, purchase)
    if (taken !== null) await allowCardRounding(tx, tenant, invoiceId, asset)
    return taken
  })
  if (left === null) return { kind: 'over' }
  deps.notifier.invoiceChanged(invoiceId)
  const url = deps.keyring.open(left.sealedUrl, cardUrlContext(tenant.merchantId, id)).toString()
  return { kind: 'left', provider: left.provider, url }
}

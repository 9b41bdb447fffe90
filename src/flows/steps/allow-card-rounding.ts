import type { AssetId } from '../../core/assets.ts'
import { cardRounding } from '../../core/card/card-purchase.ts'
import { listLeftAmounts } from '../../db/checkout/card-purchases.ts'
import { raiseToleranceOver } from '../../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/**
 * What a provider rounds up is its own doing and the buyer's to pay: an invoice that its card purchase covers is `paid`. It
 * widens what may be too much, and nothing else: only what the chain shows is counted.
 */
export async function allowCardRounding(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  asset: AssetId,
): Promise<void> {
  const rounding = cardRounding(await listLeftAmounts(tx, tenant, invoiceId, asset))
  if (rounding > 0n) await raiseToleranceOver(tx, tenant, invoiceId, { asset, units: rounding })
}

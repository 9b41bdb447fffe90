import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { keyspaceOf } from '../core/assets.ts'
import type { SwitchedAsset, SwitchRequest } from '../core/checkout/checkout-pages.ts'
import type { Market } from '../core/invoice/market.ts'
import type { DepositPlan } from '../core/invoice/plan.ts'
import { planSwitch } from '../core/invoice/switch.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { addDepositAddress, findDepositAddress } from '../db/addresses/deposit-addresses.ts'
import { markAssetPicked } from '../db/checkout/card-purchases.ts'
import { loadInvoice, updateInvoiceTerms } from '../db/invoices/invoices.ts'
import { findLiveX402Authorization } from '../db/invoices/x402-authorizations.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { allowCardRounding } from './steps/allow-card-rounding.ts'
import { claimIssuedAddress } from './steps/claim-issued-address.ts'
import { findCardUnderWay } from './steps/payment-under-way.ts'

type SwitchAssetDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly issuedAddresses: IssuedAddressCheck
  readonly marketOf: (tenant: Tenant) => Promise<Market>
  readonly notifier: { invoiceChanged(invoiceId: string): void }
}

/**
 * The buyer takes another coin: the current price, locked for what is left of the window. An address is taken
 * only where the invoice has none of that coin's yet; those of earlier coins stay watched.
 */
export async function switchAsset(deps: SwitchAssetDeps, input: SwitchRequest): Promise<SwitchedAsset> {
  const { tenant, invoiceId, asset } = input
  const market = await deps.marketOf(tenant)
  const switched = await withTransaction(deps.pool, tenant, async (tx): Promise<SwitchedAsset> => {
    const stored = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (stored === null) return { kind: 'not_found' }
    const now = deps.clock()
    const planned = planSwitch(stored.invoice, asset, market, now.getTime())
    if (planned.kind !== 'switch') return planned
    // A payment that was signed for this coin is on its way.
    if ((await findLiveX402Authorization(tx, tenant, invoiceId)) !== null) return { kind: 'paid_already' }
    // So is what a card provider sends of another coin: that would count for nothing.
    const bought = await findCardUnderWay(tx, tenant, stored.invoice, now)
    if (bought !== null && bought.asset !== asset) return { kind: 'paid_already' }
    const addressIn = (deposit: DepositPlan) =>
      addressFor(tx, deps.issuedAddresses, tenant, invoiceId, deposit, now)
    const address = await addressIn(planned.deposit)
    if (address === null) return { kind: 'asset_unavailable', reason: 'asset_unavailable' }
    let { next } = planned
    for (const deposit of planned.depositsBeside)
      if ((await addressIn(deposit)) === null) next = withoutNetworks(next, deposit)
    await updateInvoiceTerms(tx, tenant, { ...next, address })
    // A card purchase of this coin, begun before the buyer looked at another, may be on its way.
    await allowCardRounding(tx, tenant, invoiceId, asset)
    if (input.picked === true) await markAssetPicked(tx, tenant, invoiceId)
    return { kind: 'switched' }
  })
  if (switched.kind === 'switched') deps.notifier.invoiceChanged(invoiceId)
  return switched
}

/** A pool that is empty ends no sale that another network can take. */
function withoutNetworks(invoice: Invoice, { keyspace }: DepositPlan): Invoice {
  const { alsoAccepts, livemode } = invoice
  return { ...invoice, alsoAccepts: alsoAccepts.filter((asset) => keyspaceOf(asset, livemode) !== keyspace) }
}

async function addressFor(
  tx: Tx,
  issued: SwitchAssetDeps['issuedAddresses'],
  tenant: Tenant,
  invoiceId: string,
  deposit: DepositPlan,
  now: Date,
): Promise<string | null> {
  const { keyspace } = deposit
  const known = await findDepositAddress(tx, tenant, invoiceId, keyspace)
  if (known !== null) return known
  const claimed = await claimIssuedAddress(tx, tenant, deposit, now, issued)
  if (claimed === null) return null
  await addDepositAddress(tx, tenant, { ...claimed, keyspace, invoiceId, now })
  return claimed.address
}

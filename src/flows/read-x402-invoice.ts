import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { Network } from '../core/assets.ts'
import { networkOf } from '../core/assets.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { type HotWallet, loadHotWallet } from '../db/addresses/hot-wallets.ts'
import { loadX402Authorization, type X402Authorization } from '../db/invoices/x402-authorizations.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import { readInvoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

export type ReadX402Deps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
}

/** An invoice that a token opens, and the hot wallet that would carry its payment; null where nobody has read one. */
export type X402Invoice = {
  readonly tenant: Tenant
  readonly network: Network
  readonly invoice: Invoice
  readonly wallet: (HotWallet & { readonly updatedAt: Date }) | null
}

/** Null for every token that opens nothing, whatever the reason; one that was made up costs no query. */
export async function readX402Invoice(deps: ReadX402Deps, token: string): Promise<X402Invoice | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return null
  const { merchantId, livemode, invoiceId } = reference
  const tenant = { merchantId, livemode }
  const network = networkOf('USDC_BASE', livemode)
  return withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadShownInvoice(tx, tenant, invoiceId, deps.issuedAddresses)
    if (stored === null) return null
    return { tenant, network, invoice: stored.invoice, wallet: await loadHotWallet(tx, network) }
  })
}

/** How far an authorization has come. */
export async function readX402Authorization(
  { pool }: Pick<ReadX402Deps, 'pool'>,
  tenant: Tenant,
  id: string,
): Promise<X402Authorization> {
  const found = await withTransaction(pool, tenant, (tx) => loadX402Authorization(tx, tenant, id))
  if (found === null) throw new Error('an x402 authorization is gone')
  return found
}

import type { TipHeights } from '../core/invoice/render.ts'
import type { Invoice } from '../core/invoice/types.ts'
import type { Pool } from '../db/pool.ts'
import { loadInvoice } from '../db/queries/invoices.ts'
import { loadMerchantName } from '../db/queries/merchants.ts'
import { withTransaction } from '../db/transaction.ts'
import { readInvoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'

export type ReadCheckoutDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly networks: { read(): Promise<{ readonly tipHeightOf: TipHeights }> }
}

/** What a buyer's page is made of. */
export type CheckoutFacts = {
  readonly invoice: Invoice
  readonly merchantName: string
  readonly tipHeightOf: TipHeights
}

/**
 * Reads what a checkout URL's token opens. Null for a token that was changed, made up, or whose invoice is not
 * there: the caller must not tell these apart. A token that opens nothing costs no query.
 */
export async function readCheckout(deps: ReadCheckoutDeps, token: string): Promise<CheckoutFacts | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return null
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  const found = await withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadInvoice(tx, tenant, reference.invoiceId)
    const merchantName = await loadMerchantName(tx, tenant.merchantId)
    return stored === null || merchantName === null ? null : { invoice: stored.invoice, merchantName }
  })
  if (found === null) return null
  const { tipHeightOf } = await deps.networks.read()
  return { ...found, tipHeightOf }
}

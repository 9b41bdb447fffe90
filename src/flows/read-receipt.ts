import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { type Receipt, receiptOf } from '../core/receipt/receipt.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import { readInvoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

export type ReadReceiptDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
  /** Origin of the site, which says who issued it. */
  readonly baseUrl: string
  readonly staging?: boolean
}

/** The receipt of the paid invoice that a checkout token opens; null for everything else, whatever the reason. */
export function readReceipt(deps: ReadReceiptDeps, token: string): Promise<Receipt | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return Promise.resolve(null)
  const tenant = { merchantId: reference.merchantId, livemode: reference.livemode }
  return withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadShownInvoice(tx, tenant, reference.invoiceId, deps.issuedAddresses)
    const merchantName = await loadMerchantName(tx, tenant.merchantId)
    if (stored === null || merchantName === null) return null
    return receiptOf(stored.invoice, merchantName, deps)
  })
}

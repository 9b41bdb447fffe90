import type { OwnInvoice } from '../core/checkout/checkout-pages.ts'
import { type ReceiptRequest, receiptRequestContext } from '../core/checkout/receipt-request.ts'
import { putReceiptRequest } from '../db/checkout/receipt-requests.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { recipientOf } from '../secrets/unsubscribe-token.ts'

/** How often a buyer may give another address for one invoice. */
const CHANGES_MAX = 5

/** Keeps where the receipt of an invoice goes once it is paid. False where that cannot be changed any more. */
export async function requestReceipt(
  { pool, keyring }: { pool: Pool; keyring: Keyring },
  { tenant, invoiceId, ...request }: OwnInvoice & ReceiptRequest,
): Promise<boolean> {
  const recipient = recipientOf(keyring, request.email)
  const context = receiptRequestContext(tenant.merchantId, invoiceId)
  const sealed = keyring.seal(Buffer.from(JSON.stringify(request)), context)
  return withTransaction(pool, tenant, (tx) =>
    putReceiptRequest(tx, tenant, { invoiceId, recipient, sealed, changesMax: CHANGES_MAX }),
  )
}

import type { TransferFact } from '../invoice/types.ts'
import type { Tenant } from '../tenant.ts'

export type InvoiceOwner = {
  readonly tenant: Tenant
  readonly invoiceId: string
}

/** A transfer that a block or the mempool holds, to the address of an invoice. */
export type OwnedTransfer = InvoiceOwner &
  Pick<TransferFact, 'txid' | 'outputIndex' | 'asset' | 'amount' | 'parts' | 'minimumConfirmations'>

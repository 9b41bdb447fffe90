import type { TransferFact } from '../invoice/types.ts'

export type InvoiceOwner = {
  readonly tenant: { readonly merchantId: string; readonly livemode: boolean }
  readonly invoiceId: string
}

/** A transfer that a block or the mempool holds, to the address of an invoice. */
export type OwnedTransfer = InvoiceOwner &
  Pick<TransferFact, 'txid' | 'outputIndex' | 'asset' | 'amount' | 'parts' | 'minimumConfirmations'>

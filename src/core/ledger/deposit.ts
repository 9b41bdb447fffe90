import { ASSETS } from '../assets.ts'
import type { Invoice, InvoiceEffect, LedgerBucket } from '../invoice/types.ts'
import { parsePrice, usdValueOf } from '../money.ts'

/** `chain` is the outside world: what was received stands there as a negative balance. */
export type LedgerAccount = 'chain' | 'pending' | 'suspense' | 'available' | 'reserved'

/** The ledger transfer that moves a deposit from one bucket to another; its id makes posting it twice impossible. */
export function depositTransfer(invoice: Invoice, posting: Extract<InvoiceEffect, { kind: 'posting' }>) {
  const { payment } = posting
  return {
    id: `dep:${payment.network}:${payment.txid}:${payment.outputIndex}:${posting.number}`,
    kind: posting.to === 'none' ? 'deposit_void' : 'deposit',
    invoiceId: invoice.id,
    asset: payment.asset,
    from: accountOf(posting.from),
    to: accountOf(posting.to),
    amount: payment.amount,
    usdCents: usdCentsOf(invoice, payment.asset === invoice.asset ? payment.amount : null),
  }
}

function accountOf(bucket: LedgerBucket): LedgerAccount {
  return bucket === 'none' ? 'chain' : bucket
}

/** At the invoice's own rate; null where the payment is in another coin or no rate was taken. */
function usdCentsOf(invoice: Invoice, units: bigint | null): bigint | null {
  const price = invoice.rate === null ? null : parsePrice(invoice.rate.usdPerUnit)
  if (units === null || price === null) return null
  return usdValueOf(units, price, ASSETS[invoice.asset].decimals)
}

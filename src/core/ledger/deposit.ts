import { ASSETS, COINS } from '../assets.ts'
import type { Invoice, InvoiceEffect, LedgerBucket, Payment } from '../invoice/types.ts'
import { parsePrice, usdValueOf } from '../money.ts'

/**
 * `chain` is the outside world: what was received stands there as a negative balance. `shortfall` is what was paid out
 * of deposits that the chain took back afterwards, at or below zero.
 */
export type LedgerAccount = 'chain' | 'pending' | 'suspense' | 'available' | 'reserved' | 'shortfall'

/** The ledger transfer that moves a deposit from one bucket to another; its id makes posting it twice impossible. */
export function depositTransfer(invoice: Invoice, posting: Extract<InvoiceEffect, { kind: 'posting' }>) {
  const { payment } = posting
  return {
    id: `${depositName(invoice, payment)}:${posting.number}`,
    kind: posting.to === 'none' ? 'deposit_void' : 'deposit',
    invoiceId: invoice.id,
    paymentId: payment.id,
    asset: payment.asset,
    from: accountOf(posting.from),
    to: accountOf(posting.to),
    amount: payment.amount,
    usdCents: usdCentsOf(invoice, payment.asset === invoice.asset ? payment.amount : null),
  }
}

/**
 * What a deposit's postings are called, before their number. One transaction on a chain of accounts may credit several
 * invoices and has no outputs to tell them apart, so that there the invoice belongs to the name.
 */
function depositName(invoice: Invoice, { network, txid, outputIndex, asset }: Payment): string {
  const output = `dep:${network}:${txid}:${outputIndex}`
  const { keyFamily } = COINS[asset]
  return keyFamily === 'bitcoin' || keyFamily === 'litecoin' ? output : `${output}:${invoice.id}`
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

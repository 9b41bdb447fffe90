import { ASSETS, COINS, type PaymentAsset } from '../assets.ts'
import { isAskedFor } from '../invoice/status.ts'
import type { Invoice, InvoiceEffect, LedgerBucket, Payment } from '../invoice/types.ts'
import { parsePrice, usdValueOf } from '../money.ts'

/**
 * `chain` is the outside world: deposits are a negative balance there. `fees` is what the operator has earned, below
 * zero where the chain took payments back after their fee was paid out; `fees_reserved` is the part about to be paid
 * out. `shortfall` is what was paid out of deposits that the chain took back afterwards, at or below zero.
 */
export type LedgerAccount = OutsideAccount | 'pending' | 'suspense' | 'available' | 'reserved' | 'shortfall'

/** Accounts that do not belong to the merchant and do not appear in the merchant's statement. */
export type OutsideAccount = 'chain' | 'fees' | 'fees_reserved'

const BASIS_POINTS = 10_000n

/** The operator's fee on an amount in base units, rounded down in the merchant's favour. */
export const serviceFeeOf = (amount: bigint, serviceFeeBps: number): bigint =>
  (amount * BigInt(serviceFeeBps)) / BASIS_POINTS

/**
 * The ledger transfers that move a deposit from one bucket to another; their ids make posting them twice impossible.
 * The service fee is a transfer of its own: taken after the deposit becomes available, and given back before the
 * deposit is taken away.
 */
export function depositTransfers(invoice: Invoice, posting: Extract<InvoiceEffect, { kind: 'posting' }>) {
  const deposit = depositTransfer(invoice, posting)
  const amount = serviceFeeOf(deposit.amount, invoice.serviceFeeBps)
  if (amount === 0n) return [deposit]
  const fee = { ...deposit, id: `${deposit.id}:fee`, amount, usdCents: null }
  if (posting.to === 'available')
    return [deposit, { ...fee, kind: 'service_fee', from: 'available', to: 'fees' } as const]
  if (posting.from === 'available')
    return [{ ...fee, kind: 'service_fee_return', from: 'fees', to: 'available' } as const, deposit]
  return [deposit]
}

function depositTransfer(invoice: Invoice, posting: Extract<InvoiceEffect, { kind: 'posting' }>) {
  const { payment, number } = posting
  const base = depositId(invoice, payment)
  return {
    id: `${base}:${number}`,
    valuedAs: number > 1 ? `${base}:${number - 1}` : null,
    kind: posting.to === 'none' ? 'deposit_void' : 'deposit',
    invoiceId: invoice.id,
    paymentId: payment.id,
    asset: payment.asset,
    from: accountOf(posting.from),
    to: accountOf(posting.to),
    amount: payment.amount,
    usdCents: usdCentsOf(invoice, payment),
  }
}

/**
 * The id of a deposit's postings, without their number. On an account-based chain one transaction may credit several
 * invoices and has no outputs to tell them apart, so the invoice is part of the id there, and in that of a block's sum.
 */
function depositId(invoice: Invoice, { network, txid, outputIndex, asset, isBlockSum }: Payment): string {
  const output = `dep:${network}:${txid}:${outputIndex}`
  const { keyFamily } = COINS[asset]
  const hasOutputs = (keyFamily === 'bitcoin' || keyFamily === 'litecoin') && !isBlockSum
  return hasOutputs ? output : `${output}:${invoice.id}`
}

function accountOf(bucket: LedgerBucket): LedgerAccount {
  return bucket === 'none' ? 'chain' : bucket
}

/**
 * At the invoice's own rate, which was promised to what counts by itself; null where no rate was taken, and for what waits
 * for a decision, such as what comes a month late or in another coin: that is worth what it is worth when it comes.
 */
function usdCentsOf(invoice: Invoice, { asset, amount, reviewReason }: Payment): bigint | null {
  const rate = invoice.tokenRates?.[COINS[asset].symbol] ?? invoice.rate
  const price = rate === null ? null : parsePrice(rate.usdPerUnit)
  if (price === null || reviewReason !== null || !isAskedFor(invoice, asset)) return null
  return usdValueOf(amount, price, ASSETS[invoice.asset].decimals)
}

type Valued = {
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly usdCents: bigint | null
}

/**
 * Transfers of one asset and moment with what each was worth in US cents, rounded down: as one of them says, by its own
 * rate, else as the same money was worth earlier, else by the price of the moment (10⁻¹² US dollar per coin). Null stays
 * only where there is none of these.
 */
export function withValues<Transfer extends Valued>(
  transfers: readonly Transfer[],
  price: bigint | null,
  earlier: Valued | null = null,
): Transfer[] {
  const known = [...transfers, ...(earlier === null ? [] : [earlier])].find(
    ({ usdCents, amount }) => usdCents !== null && amount > 0n,
  )
  return transfers.map((transfer) => {
    if (transfer.usdCents !== null) return transfer
    const { asset, amount } = transfer
    if (known !== undefined && known.usdCents !== null)
      return { ...transfer, usdCents: (known.usdCents * amount) / known.amount }
    return price === null
      ? transfer
      : { ...transfer, usdCents: usdValueOf(amount, price, COINS[asset].decimals) }
  })
}

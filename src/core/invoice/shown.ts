import { isCounting, isLive, isUnderReview } from './status.ts'
import type { Invoice, Payment } from './types.ts'

/** Payments that an invoice carries in answers, events and pages; the list of its payments has them all. */
const PAYMENTS_SHOWN_MAX = 20

/**
 * The payments that matter most, oldest first: the newest, and of the others those that count before those that wait
 * for the merchant, and these before what left the chain; the largest first.
 */
export function shownPayments(invoice: Invoice): readonly Payment[] {
  const payments = invoice.payments.filter(({ dust, isBlockSum }) => !dust && !isBlockSum)
  if (payments.length <= PAYMENTS_SHOWN_MAX) return payments
  const rankOf = (payment: Payment): number => {
    if (payment === payments.at(-1)) return 4
    if (isCounting(invoice, payment)) return 3
    if (isUnderReview(payment)) return 2
    return isLive(payment) ? 1 : 0
  }
  const first = payments
    .map((payment) => ({ payment, rank: rankOf(payment) }))
    .sort((a, b) => b.rank - a.rank || (a.payment.amount < b.payment.amount ? 1 : -1))
    .slice(0, PAYMENTS_SHOWN_MAX)
  const shown = new Set(first.map(({ payment }) => payment))
  return payments.filter((payment) => shown.has(payment))
}

/** How many payments the list has. */
export const countPayments = ({ payments, blockSums }: Invoice): number =>
  payments.filter(({ dust }) => !dust).length +
  blockSums.reduce((count, sum) => count + (sum.dust ? 0 : sum.payments), 0)

/** What is too small to be a payment, by asset. */
export function dustOf({ payments, blockSums }: Invoice) {
  const dust = new Map<Payment['asset'], { count: number; amount: bigint }>()
  for (const each of [...payments, ...blockSums]) {
    if (!each.dust || !isLive(each)) continue
    const { count, amount } = dust.get(each.asset) ?? { count: 0, amount: 0n }
    dust.set(each.asset, { count: count + each.transfers, amount: amount + each.amount })
  }
  return [...dust].map(([asset, sum]) => ({ asset, ...sum }))
}

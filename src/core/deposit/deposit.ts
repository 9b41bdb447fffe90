import { COINS, isAssetId } from '../assets.ts'
import { ID_PREFIXES } from '../ids.ts'
import { type NetworkFacts, renderPayment, renderRate } from '../invoice/render.ts'
import type { Payment, RateEvidence } from '../invoice/types.ts'
import { formatUsd, parsePrice, usdValueOf } from '../money.ts'

export const DEPOSIT_EVENT_TYPES = ['deposit.detected', 'deposit.confirmed', 'deposit.reversed'] as const
export type DepositEventType = (typeof DEPOSIT_EVENT_TYPES)[number]

/** One customer of a merchant, whose addresses stay the same for ever. */
export type DepositAccount = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly customerReference: string
  /** What the operator keeps of every deposit, in basis points, fixed when the account was made. */
  readonly serviceFeeBps: number
  readonly createdAtMs: number
}

/** What the last event announced: null before the first, and of what is no money to credit. */
export type DepositAnnounced = 'detected' | 'confirmed' | 'reversed' | null

/** What is kept of a deposit besides its payment, whose id it has but for the prefix. */
export type DepositRecord = {
  readonly id: string
  /** What the coin was worth when it came; null where no price was known. */
  readonly rate: RateEvidence | null
  readonly announced: DepositAnnounced
  readonly eventCount: number
}

export type Deposit = DepositRecord & {
  readonly account: DepositAccount
  readonly address: string
  readonly payment: Payment
}

/** A deposit has its payment's id with a prefix of its own. */
export const depositIdOf = (paymentId: string): string =>
  ID_PREFIXES.deposit + paymentId.slice(ID_PREFIXES.payment.length)

/** US cents; null where no price was known, and for what is no money of the merchant's to credit. */
function depositWorth(rate: RateEvidence | null, payment: Payment): bigint | null {
  const price = rate === null ? null : parsePrice(rate.usdPerUnit)
  if (price === null || payment.reviewReason !== null || !isAssetId(payment.asset)) return null
  return usdValueOf(payment.amount, price, COINS[payment.asset].decimals)
}

/** A deposit as merchants see it, in the API and in events. */
export function renderDeposit({ id, account, address, payment, rate }: Deposit, networkFacts: NetworkFacts) {
  const worth = depositWorth(rate, payment)
  const { id: _paymentId, late: _late, ...facts } = renderPayment(payment, networkFacts)
  return {
    id,
    object: 'deposit' as const,
    livemode: account.livemode,
    deposit_address_id: account.id,
    customer_reference: account.customerReference,
    address,
    network: payment.network,
    usd_amount: worth === null ? null : formatUsd(worth),
    rate: renderRate(rate),
    ...facts,
  }
}

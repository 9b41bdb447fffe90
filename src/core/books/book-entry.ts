import { COINS, type PaymentAsset } from '../assets.ts'
import { isIdOf } from '../ids.ts'
import type { RateEvidence } from '../invoice/types.ts'
import type { LedgerAccount } from '../ledger/deposit.ts'
import { formatCoinAmount, formatUsd } from '../money.ts'
import type { Currency } from '../rates/currencies.ts'
import type { HomeValue } from './home-value.ts'

/** One ledger transfer of a merchant, as a journal exports it. */
export type BookEntry = {
  readonly id: string
  readonly kind: string
  readonly asset: PaymentAsset
  /** Moved from the first account to the second, base units. */
  readonly amount: bigint
  readonly from: LedgerAccount
  readonly to: LedgerAccount
  /** What it was worth then; null where no price was known. */
  readonly usdCents: bigint | null
  /** US dollars per coin of the invoice, and who said so; null where the value is not at an invoice's rate. */
  readonly rate: RateEvidence | null
  /** What it was worth then in the shop's own currency; null where that is the dollar. */
  readonly home: HomeValue | null
  /** Or the deposit's to a permanent address. */
  readonly invoiceId: string | null
  /** The payout whose money moved, with the fee that it took beside what was sent, base units. */
  readonly payout: { readonly id: string; readonly networkFee: bigint } | null
  /** The transaction that brought or took the money; null where there is not one alone. */
  readonly txid: string | null
  readonly createdAt: Date
}

/** What stands in one account of the merchant's own after the last entry, base units. */
export type ClosingBalance = {
  readonly account: LedgerAccount
  readonly asset: PaymentAsset
  readonly balance: bigint
}

/** A journal in one format: what stands before, for and after the entries. Every line ends without a line break. */
export type BookFormat = {
  head(home: Currency | null): readonly string[]
  linesOf(entry: BookEntry): readonly string[]
  /** That one of a commodity was worth so many dollars on a day; null where the format has no word for it. */
  priceLine(day: string, commodity: string, dollars: string): string | null
  closing(balances: readonly ClosingBalance[], lastDay: string): readonly string[]
}

/** Coins and networks alike: `USDC_BASE` is another commodity than `USDC_ETHEREUM`. */
export const amountText = (units: bigint, asset: PaymentAsset): string =>
  formatCoinAmount(units, COINS[asset].decimals)

/** Days are those of UTC. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

/**
 * The accounts of the journals. The outside is what the money came for and went to: what customers paid, what was paid out
 * and its network fees, and the operator's service fees.
 */
export function accountName(account: LedgerAccount, kind: string): string {
  switch (account) {
    case 'pending':
    case 'suspense':
    case 'available':
    case 'reserved':
    case 'shortfall':
      return `Assets:Paylink:${account[0]?.toUpperCase()}${account.slice(1)}`
    case 'fees':
    case 'fees_reserved':
      return 'Expenses:Paylink:ServiceFees'
    case 'chain':
      if (kind === 'network_fee') return 'Expenses:Paylink:NetworkFees'
      return kind === 'payout_sent' ? 'Assets:PaidOut' : 'Income:Paylink:Payments'
    default:
      return account satisfies never
  }
}

/** Whether it belongs to somebody else than the merchant. */
export const isOutside = (account: LedgerAccount): boolean =>
  account === 'chain' || account === 'fees' || account === 'fees_reserved'

/** Every account that a journal may name. */
export const ACCOUNT_NAMES = [
  ...(['pending', 'suspense', 'available', 'reserved', 'shortfall', 'fees'] as const).map((account) =>
    accountName(account, ''),
  ),
  ...['', 'network_fee', 'payout_sent'].map((kind) => accountName('chain', kind)),
]

/** What money came as. */
export const receivedAs = (id: string): 'deposit' | 'invoice' =>
  isIdOf('deposit', id) ? 'deposit' : 'invoice'

/** What an entry says besides its amounts, by name. */
export function detailsOf(entry: BookEntry): readonly (readonly [string, string])[] {
  const { rate, usdCents, home } = entry
  return [
    ['transfer', entry.id],
    ...(entry.invoiceId === null ? [] : [[receivedAs(entry.invoiceId), entry.invoiceId] as const]),
    ...(entry.payout === null ? [] : [['payout', entry.payout.id] as const]),
    ...(usdCents === null ? [] : [['usd', formatUsd(usdCents)] as const]),
    ...(rate === null ? [] : [['rate', `${rate.usdPerUnit} by ${sourcesOf(rate)}`] as const]),
    ...(home === null ? [] : homeDetails(home, entry)),
  ]
}

function homeDetails({ currency, amount, rate }: HomeValue, { createdAt }: BookEntry) {
  if (rate === null) return [['home', `no ${currency} rate kept for ${dayOf(createdAt)}`] as const]
  const by = `${rate.usdPerUnit} by ${sourcesOf(rate)} on ${rateDay(rate)}`
  return [
    ...(amount === null ? [] : [['home', `${amount} ${currency}`] as const]),
    ['home-rate', by] as const,
  ]
}

export const sourcesOf = ({ sources }: RateEvidence): string => sources.map(({ name }) => name).join(' ')
export const rateDay = ({ quotedAt }: RateEvidence): string => dayOf(new Date(quotedAt))

/** What an entry tells of prices: day, commodity, dollars for one. */
export const pricesOf = ({
  asset,
  rate,
  home,
}: BookEntry): readonly (readonly [string, string, string])[] => [
  ...(rate === null ? [] : [[rateDay(rate), asset, rate.usdPerUnit] as const]),
  ...(home === null || home.rate === null
    ? []
    : [[rateDay(home.rate), home.currency, home.rate.usdPerUnit] as const]),
]

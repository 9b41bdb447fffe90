import { COINS } from '../assets.ts'
import { formatUsd } from '../money.ts'
import { amountText, type BookEntry, type BookFormat } from './book-entry.ts'

const isOutside = (account: BookEntry['from']): boolean =>
  account === 'chain' || account === 'fees' || account === 'fees_reserved'

/**
 * Koinly's "simple" CSV (support.koinly.io, "How to create a custom CSV file with your data"): what came in and, negative,
 * what went out. What only moved between the merchant's own accounts is no line. Coins have their tickers there, so that
 * ether on Base is ETH.
 */
export const KOINLY: BookFormat = {
  head: ['Koinly Date,Amount,Currency,Net Worth Amount,Net Worth Currency,Label,Description'],
  linesOf: (entry) => {
    const [isIn, isOut] = [isOutside(entry.from), isOutside(entry.to)]
    if (isIn === isOut) return []
    const amount = amountText(isIn ? entry.amount : -entry.amount, entry.asset)
    const worth = entry.usdCents === null ? ',' : `${formatUsd(entry.usdCents)},USD`
    const at = `${entry.createdAt.toISOString().slice(0, 19).replace('T', ' ')} UTC`
    const about = entry.payoutId ?? entry.invoiceId ?? ''
    const label = entry.kind === 'service_fee' || entry.kind === 'network_fee' ? 'cost' : ''
    return [`${at},${amount},${COINS[entry.asset].symbol},${worth},${label},${entry.kind} ${about}`.trimEnd()]
  },
  closing: () => [],
}

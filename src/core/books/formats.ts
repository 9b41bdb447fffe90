import { COINS } from '../assets.ts'
import { formatUsd } from '../money.ts'
import { currencyDecimals } from '../rates/currencies.ts'
import {
  ACCOUNT_NAMES,
  accountName,
  amountText,
  type BookFormat,
  dayOf,
  detailsOf,
  isOutside,
} from './book-entry.ts'

/** A commodity whose name has more than letters is quoted. */
const commodity = (asset: string): string => `"${asset}"`

/** hledger's journal (hledger 1.25, "hledger_journal(5)"). Details are tags; the closing balances are assertions. */
export const HLEDGER: BookFormat = {
  // How many decimals a report in dollars, or in the shop's own currency, has (hledger_journal(5), "commodity directive").
  head: (home) => [
    '; What Paylink’s ledger says. Cost basis and taxes are not decided here.',
    'commodity 1000.00 USD',
    ...(home === null ? [] : [`commodity ${currencyDecimals(home) === 0 ? '1000.' : '1000.00'} ${home}`]),
  ],
  linesOf: (entry) => {
    const tags = detailsOf(entry).map(([name, value]) => `${name}:${value.replaceAll(',', ' ')}`)
    return [
      '',
      `${dayOf(entry.createdAt)} ${entry.kind}  ; ${tags.join(', ')}`,
      `    ${accountName(entry.to, entry.kind)}  ${amountText(entry.amount, entry.asset)} ${commodity(entry.asset)}`,
      `    ${accountName(entry.from, entry.kind)}  ${amountText(-entry.amount, entry.asset)} ${commodity(entry.asset)}`,
    ]
  },
  priceLine: (day, asset, dollars) => `P ${day} ${commodity(asset)} ${dollars} USD`,
  closing: (balances, lastDay) => [
    '',
    `${lastDay} closing balances`,
    ...balances.map(
      ({ account, asset, balance }) =>
        `    ${accountName(account, '')}  0 ${commodity(asset)} = ${amountText(balance, asset)} ${commodity(asset)}`,
    ),
  ],
}

/** Before the first day of any chain. */
const OPENED = '2009-01-01'

/**
 * Beancount's journal (Beancount 2, "Language Syntax"). Details are metadata; the closing balances are checked at the
 * beginning of the day after the last entry's, as `balance` does.
 */
export const BEANCOUNT: BookFormat = {
  head: () => [
    '; What Paylink’s ledger says. Cost basis and taxes are not decided here.',
    ...ACCOUNT_NAMES.map((name) => `${OPENED} open ${name}`),
  ],
  linesOf: (entry) => [
    '',
    `${dayOf(entry.createdAt)} * "${entry.kind}"`,
    ...detailsOf(entry).map(([name, value]) => `  ${name}: "${value}"`),
    `  ${accountName(entry.to, entry.kind)}  ${amountText(entry.amount, entry.asset)} ${entry.asset}`,
    `  ${accountName(entry.from, entry.kind)}  ${amountText(-entry.amount, entry.asset)} ${entry.asset}`,
  ],
  priceLine: (day, asset, dollars) => `${day} price ${asset} ${dollars} USD`,
  closing: (balances, lastDay) => {
    const next = new Date(`${lastDay}T00:00:00Z`)
    next.setUTCDate(next.getUTCDate() + 1)
    // Otherwise `balance` takes a difference of twice the last digit that is written.
    return [
      '',
      ...balances.map(
        ({ account, asset, balance }) =>
          `${dayOf(next)} balance ${accountName(account, '')}  ${amountText(balance, asset)} ~ 0 ${asset}`,
      ),
    ]
  },
}

/**
 * Koinly's "simple" CSV (support.koinly.io, "How to create a custom CSV file with your data"): what came in and, negative,
 * what went out. What only moved between the merchant's own accounts is no line. Coins have their tickers there, so that
 * ether on Base is ETH.
 */
export const KOINLY: BookFormat = {
  head: () => ['Koinly Date,Amount,Currency,Net Worth Amount,Net Worth Currency,Label,Description'],
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
  priceLine: () => null,
  closing: () => [],
}

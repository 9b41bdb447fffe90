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

const KOINLY_COLUMNS =
  'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,' +
  'Net Worth Amount,Net Worth Currency,Label,Description,TxHash'

/**
 * Koinly's "universal" CSV (support.koinly.io, "How to create a custom CSV file with your data"): what came in and what went
 * out, a payout with its fee in one line. What only moved between the merchant's own accounts is no line. Coins have their
 * tickers there, so that ether on Base is ETH.
 */
export const KOINLY: BookFormat = {
  head: () => [KOINLY_COLUMNS],
  linesOf: (entry) => {
    const { kind, asset, payout, home, usdCents } = entry
    const [isIn, isOut] = [isOutside(entry.from), isOutside(entry.to)]
    if (isIn === isOut || (kind === 'network_fee' && payout !== null)) return []
    const coins = (units: bigint): string => `${amountText(units, asset)},${COINS[asset].symbol}`
    const fee = kind === 'payout_sent' && payout !== null ? payout.networkFee : 0n
    const worth = usdCents === null ? ',' : `${formatUsd(usdCents)},USD`
    return [
      [
        `${entry.createdAt.toISOString().slice(0, 19).replace('T', ' ')} UTC`,
        ...(isIn ? [',', coins(entry.amount)] : [coins(entry.amount), ',']),
        fee === 0n ? ',' : coins(fee),
        home === null || home.amount === null ? worth : `${home.amount},${home.currency}`,
        kind === 'service_fee' || kind === 'network_fee' ? 'cost' : '',
        `${kind} ${payout?.id ?? entry.invoiceId ?? ''}`.trimEnd(),
        entry.txid ?? '',
      ].join(','),
    ]
  },
  priceLine: () => null,
  closing: () => [],
}

import { accountName, amountText, type BookFormat, dayOf, detailsOf } from './book-entry.ts'

/** A commodity whose name has more than letters is quoted. */
const commodity = (asset: string): string => `"${asset}"`

/** hledger's journal (hledger 1.25, "hledger_journal(5)"). Details are tags; the closing balances are assertions. */
export const HLEDGER: BookFormat = {
  head: ['; What Paylink’s ledger says. Cost basis and taxes are not decided here.'],
  linesOf: (entry) => {
    const tags = detailsOf(entry).map(([name, value]) => `${name}:${value.replaceAll(',', ' ')}`)
    return [
      '',
      `${dayOf(entry.createdAt)} ${entry.kind}  ; ${tags.join(', ')}`,
      `    ${accountName(entry.to, entry.kind)}  ${amountText(entry.amount, entry.asset)} ${commodity(entry.asset)}`,
      `    ${accountName(entry.from, entry.kind)}  ${amountText(-entry.amount, entry.asset)} ${commodity(entry.asset)}`,
    ]
  },
  closing: (balances, lastDay) => [
    '',
    `${lastDay} closing balances`,
    ...balances.map(
      ({ account, asset, balance }) =>
        `    ${accountName(account, '')}  0 ${commodity(asset)} = ${amountText(balance, asset)} ${commodity(asset)}`,
    ),
  ],
}

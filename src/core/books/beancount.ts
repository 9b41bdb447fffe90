import { ACCOUNT_NAMES, accountName, amountText, type BookFormat, dayOf, detailsOf } from './book-entry.ts'

/** Before the first day of any chain. */
const OPENED = '2009-01-01'

/**
 * Beancount's journal (Beancount 2, "Language Syntax"). Details are metadata; the closing balances are checked at the
 * beginning of the day after the last entry's, as `balance` does.
 */
export const BEANCOUNT: BookFormat = {
  head: [
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

import { useQuery } from '@tanstack/react-query'
import { CURRENCIES, type Currency, currencyDecimals } from '../../../core/rates/currencies.ts'
import { merchantOf } from '../api/reads.ts'
import { money } from '../parts/money.ts'
import { useMode } from './session.ts'

/** What the shop prices in; US dollars until that is known. An API of the release before knows none. */
export function useHomeCurrency(): Currency | 'USD' {
  const { data } = useQuery(merchantOf(useMode()))
  return CURRENCIES.find((each) => each === data?.home_currency) ?? 'USD'
}

/** `about €46.20`: what dollars are worth in it now; null where it is the dollar, or has no rate. */
export function useAboutAtHome(): (dollars: number) => string | null {
  const { data } = useQuery(merchantOf(useMode()))
  const currency = useHomeCurrency()
  const rate = Number(data?.home_currency_usd ?? 0)
  return (dollars) =>
    currency === 'USD' || rate === 0
      ? null
      : `about ${money({ amount: (dollars / rate).toFixed(currencyDecimals(currency)), currency })}`
}

import { CURRENCIES } from '../core/rates/currencies.ts'
import { saveCurrencyRates } from '../db/ledger/currency-rates.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { repeat } from '../runtime/repeat.ts'
import type { CurrencyRates } from './currency-rates.ts'

type KeptRatesDeps = {
  readonly pool: Pool
  readonly rates: Pick<CurrencyRates, 'refresh' | 'quote'>
  readonly clock: Clock
}

/** As often as the source of the moment is asked. */
const KEEP_INTERVAL_MS = 60_000

/** Writes down what each currency is worth today, the first time that its rate can be trusted. */
export async function keepCurrencyRatesOnce({ pool, rates, clock }: KeptRatesDeps): Promise<void> {
  // Test mode has its table until a source has answered, and a day's rate is written once.
  await rates.refresh()
  const known = [true, false].flatMap((livemode) =>
    CURRENCIES.flatMap((currency) => {
      const quote = rates.quote(currency, livemode)
      return quote === null ? [] : [{ livemode, currency, rate: quote.evidence }]
    }),
  )
  if (known.length > 0) await saveCurrencyRates(pool, known, clock())
}

/** Does so again and again until it is stopped. */
export const keepCurrencyRates = (
  deps: KeptRatesDeps & { readonly log: { warn(fields: object, message: string): void } },
): { stop(): Promise<void> } =>
  repeat(() => keepCurrencyRatesOnce(deps), {
    everyMs: KEEP_INTERVAL_MS,
    onError: (error) =>
      deps.log.warn({ err: error }, 'currency rates could not be kept; the next round tries again'),
  })

import { createCurrencyRates } from '../rates/currency-rates.ts'
import { exchangesAt } from '../rates/exchanges.ts'
import { keepCurrencyRates } from '../rates/keep-currency-rates.ts'
import { keepPrices } from '../rates/keep-prices.ts'
import { createPriceBook } from '../rates/price-book.ts'
import type { RoleContext } from '../roles/role.ts'
import type { StopList } from './stop-list.ts'

/** Opens what coins and currencies are worth, kept fresh, kept for the ledger, and shown as metrics. */
export function openPrices(context: RoleContext, stops: StopList) {
  const { config, clock, metrics, poolOf, onFatal } = context
  const { pause } = context.activity
  // In the sandbox an unreachable exchange is normal: the built-in table stands in for it.
  const log = config.sandbox ? context.log.child({}, { level: 'error' }) : context.log
  const sources = exchangesAt(config.priceSources, config.priceUrls)
  const prices = createPriceBook({ sources, sandboxPrices: true, clock, log, pause })
  stops.add('the prices', () => prices.stop())
  // The start waits for no exchange: until one answers, an asset is unavailable, or priced by the sandbox's table.
  prices.start().catch(onFatal)
  const currencyRates = createCurrencyRates({ urls: config.currencyUrls, clock, log })
  stops.add('the currency rates', () => currencyRates.stop())
  currencyRates.start()
  const rateKeeper = keepCurrencyRates({ pool: poolOf('api'), rates: currencyRates, clock, log: context.log })
  stops.add('the kept currency rates', () => rateKeeper.stop())
  const priceKeeper = keepPrices({ pool: poolOf('api'), prices, clock, log: context.log, pause })
  stops.add('the kept prices', () => priceKeeper.stop())
  metrics.gauge(
    'paylink_price_ok',
    '1 where exchanges agree on a price of an asset, so that it can be invoiced',
    async () =>
      prices.report().map(({ asset, status }) => ({ label: asset, value: status === 'ok' ? 1 : 0 })),
  )
  metrics.gauge(
    'paylink_currencies_priced',
    'Currencies beside the US dollar that invoices can be priced in now: two sources agree on each',
    async () => [{ value: currencyRates.dollarsPerCurrency(!config.sandbox).size }],
  )
  return { prices, currencyRates }
}

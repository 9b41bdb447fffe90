import { type CurrencyRates, createCurrencyRates } from '../../src/rates/currency-rates.ts'
import { coinbaseRates, ecbRates, type FakeRates, startFakeRates } from '../rates/fake-rates.ts'
import { createTestApi, type TestApi, type TestMerchant } from './api.ts'

/** When the central bank published. */
export const RATES_DAY = '2026-11-20'
const MINUTE_MS = 60_000

/** An API whose currencies have the rates that the test says. */
export type PricedApi = {
  readonly api: TestApi
  readonly merchant: TestMerchant
  readonly fake: FakeRates
  readonly rates: CurrencyRates
  /** The sources answer so from now on, and are asked once. */
  say(changes: {
    readonly coinbase?: { readonly [currency: string]: string }
    readonly ecb?: { readonly [currency: string]: string }
  }): Promise<void>
  stop(): Promise<void>
}

export async function createPricedApi(): Promise<PricedApi> {
  const fake = await startFakeRates({ coinbase: '', ecb: '' })
  const urls = { coinbase: fake.url, ecb: fake.url }
  let now = () => new Date()
  const rates = createCurrencyRates({ urls, clock: () => now() })
  const api = await createTestApi({ currencyRates: rates })
  now = () => api.time.now
  return {
    api,
    merchant: await api.addMerchant(),
    fake,
    rates,
    say: async ({ coinbase, ecb }) => {
      fake.answers = { coinbase: coinbaseRates(coinbase), ecb: ecbRates(RATES_DAY, ecb) }
      // The bank is asked once an hour.
      api.time.advance(61 * MINUTE_MS)
      await rates.refresh()
    },
    stop: async () => {
      await rates.stop()
      await fake.close()
      await api.drop()
    },
  }
}

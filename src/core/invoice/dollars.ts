import { ASSETS, type AssetId } from '../assets.ts'
import { formatPrice, PRICE_UNIT } from '../money.ts'
import { isAtPeg, PEG_BAND_TEXT } from '../rates/peg.ts'
import { DOLLAR_TOKENS } from '../token-symbols.ts'
import type { Price } from './quote.ts'

/** The rates at which dollar tokens count on an invoice that is created now. */
type TokenPrices = {
  /** By ticker, of those that are taken. */
  readonly prices: ReadonlyMap<string, Price>
  /** Whether the token has a price that its sources agree on, and that is near a dollar. */
  isTaken(asset: AssetId): boolean
  priceOf(asset: AssetId): Price | null
  /** Why those that are left out are: one line, empty where none is. */
  readonly reason: string
}

/** A dollar each where the shop says so, with the prices that made sure of it as evidence; else each its own price. */
export function tokenPricesNow(
  accepted: readonly AssetId[],
  {
    rules,
    priceOf,
  }: {
    readonly rules: { readonly stablecoinsAtPar: boolean }
    readonly priceOf: (asset: AssetId) => Price | null
  },
): TokenPrices {
  const prices = new Map<string, Price>()
  const faults: string[] = []
  const tokens = new Map(
    DOLLAR_TOKENS.filter((asset) => accepted.includes(asset)).map((asset) => [ASSETS[asset].symbol, asset]),
  )
  for (const [symbol, asset] of tokens) {
    const price = priceOf(asset)
    if (price === null) faults.push(`The sources of ${symbol}'s price do not agree.`)
    else if (!isAtPeg(price.price))
      faults.push(`${symbol} is at ${formatPrice(price.price)} US dollars, outside ${PEG_BAND_TEXT}.`)
    else prices.set(symbol, rules.stablecoinsAtPar ? atPar(price) : price)
  }
  const known = (asset: AssetId) => prices.get(ASSETS[asset].symbol) ?? null
  return { prices, isTaken: (asset) => known(asset) !== null, priceOf: known, reason: faults.join(' ') }
}

const atPar = ({ evidence }: Price): Price => ({
  price: PRICE_UNIT,
  evidence: { ...evidence, usdPerUnit: formatPrice(PRICE_UNIT) },
})

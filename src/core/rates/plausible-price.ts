import type { Asset } from '../assets.ts'
import { parsePrice } from '../money.ts'

export type PriceSymbol = Asset['priceSymbol']

export const PRICE_SYMBOLS: readonly PriceSymbol[] = [
  'BTC',
  'LTC',
  'ETH',
  'USDC',
  'SOL',
  'USDT',
  'POL',
  'PYUSD',
]

/**
 * US dollars between which a coin's price may lie. Far wider than any market moves: what is outside is a mistake of units (the pair turned over, cents, thousands, another coin), and two exchanges can make the same one.
 */
const PLAUSIBLE_USD: { readonly [name in PriceSymbol]: readonly [lowest: string, highest: string] } = {
  BTC: ['1000', '20000000'],
  LTC: ['1', '20000'],
  ETH: ['50', '1000000'],
  USDC: ['0.5', '2'],
  SOL: ['1', '50000'],
  USDT: ['0.5', '2'],
  POL: ['0.005', '40'],
  PYUSD: ['0.5', '2'],
}

/**
 * The price in 10⁻¹² US dollar, or null where the text is no plain decimal number (`NaN`, `1e5`, `-1`, empty)
 * or lies where no price of this coin can.
 */
export function parsePlausiblePrice(symbol: PriceSymbol, text: string): bigint | null {
  const price = parsePrice(text)
  const [lowest, highest] = PLAUSIBLE_USD[symbol].map(parsePrice)
  if (
    price === null ||
    lowest === undefined ||
    lowest === null ||
    highest === undefined ||
    highest === null
  ) {
    return null
  }
  return price >= lowest && price <= highest ? price : null
}

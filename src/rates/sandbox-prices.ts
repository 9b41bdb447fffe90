import { type PriceSymbol, parsePlausiblePrice } from '../core/rates/plausible-price.ts'

/** Round prices for test mode on a machine without a network. They are no market's. */
const SANDBOX_USD: { readonly [coin in PriceSymbol]: string } = {
  BTC: '100000',
  LTC: '100',
  ETH: '4000',
  USDC: '1',
  SOL: '200',
}

export const SANDBOX_SOURCE = 'sandbox'

/** 10⁻¹² US dollar per coin. */
export function sandboxPrice(symbol: PriceSymbol): bigint {
  const price = parsePlausiblePrice(symbol, SANDBOX_USD[symbol])
  if (price === null) throw new Error(`the sandbox price of ${symbol} is not plausible`)
  return price
}

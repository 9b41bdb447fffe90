import { ASSET_IDS, ASSETS, type AssetId, isToken } from './assets.ts'

/** The tickers of all tokens. */
export const TOKEN_SYMBOLS = ['USDC', 'USDT', 'PYUSD'] as const
export type TokenSymbol = (typeof TOKEN_SYMBOLS)[number]

const SYMBOLS: ReadonlySet<string> = new Set(TOKEN_SYMBOLS)

/** Whether it names a token wherever it is, and no asset. */
export const isTokenSymbol = (name: string): name is TokenSymbol => SYMBOLS.has(name)

/** The token of this ticker on each of its networks. */
export const tokensNamed = (symbol: TokenSymbol): readonly AssetId[] =>
  ASSET_IDS.filter((id) => isToken(id) && ASSETS[id].symbol === symbol)

/** What an invoice asks for that takes the dollar tokens of every issuer. */
export const DOLLARS = 'USD'

/** The tokens that each stand for a US dollar, of every issuer on every network: all that there are. */
export const DOLLAR_TOKENS: readonly AssetId[] = TOKEN_SYMBOLS.flatMap(tokensNamed)

/** The same token on the other networks: one invoice can be paid in all of them, base unit for base unit. */
export const siblingsOf = (asset: AssetId): readonly AssetId[] =>
  ASSET_IDS.filter((id) => {
    const { symbol, decimals } = ASSETS[id]
    const own = ASSETS[asset]
    const isSame = symbol === own.symbol && decimals === own.decimals
    return isSame && id !== asset && isToken(asset) && isToken(id)
  })

/** What one invoice can take beside this token: itself on other networks; where it asks for dollars, every other dollar token too. */
export const payableBeside = (asset: AssetId, inDollars: boolean): readonly AssetId[] => {
  if (!inDollars) return siblingsOf(asset)
  const { decimals } = ASSETS[asset]
  return DOLLAR_TOKENS.filter((id) => id !== asset && ASSETS[id].decimals === decimals)
}

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

/** The same token on the other networks: one invoice can be paid in all of them, since they share its address. */
export const siblingsOf = (asset: AssetId): readonly AssetId[] =>
  ASSET_IDS.filter((id) => {
    const { symbol, keyFamily, decimals } = ASSETS[id]
    const own = ASSETS[asset]
    const isSame = symbol === own.symbol && keyFamily === own.keyFamily && decimals === own.decimals
    return isSame && id !== asset && isToken(asset) && isToken(id)
  })

const DOLLARS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

/** `$49.99`; a dash where there is no dollar amount. */
export const usd = (amount: string | null | undefined): string =>
  amount === null || amount === undefined ? '–' : DOLLARS.format(Number(amount))

/** The coin's letters and its network, as buyers see them. */
export const COINS = {
  BTC: { symbol: 'BTC', name: 'Bitcoin' },
  LTC: { symbol: 'LTC', name: 'Litecoin' },
  ETH: { symbol: 'ETH', name: 'Ether on Ethereum' },
  ETH_BASE: { symbol: 'ETH', name: 'Ether on Base' },
  USDC_BASE: { symbol: 'USDC', name: 'USDC on Base' },
  SOL: { symbol: 'SOL', name: 'Solana' },
} as const satisfies { readonly [asset: string]: { symbol: string; name: string } }

export type CoinName = keyof typeof COINS
export const COIN_NAMES = Object.keys(COINS) as CoinName[]

/** `0.015 LTC`. */
export const coins = (amount: string, asset: CoinName): string => `${amount} ${COINS[asset].symbol}`

/** Where a transaction of the live networks can be looked at. Sandbox chains have no explorer. */
const EXPLORERS: { readonly [asset in CoinName]: string } = {
  BTC: 'https://mempool.space/tx/',
  LTC: 'https://litecoinspace.org/tx/',
  ETH: 'https://etherscan.io/tx/',
  ETH_BASE: 'https://basescan.org/tx/',
  USDC_BASE: 'https://basescan.org/tx/',
  SOL: 'https://solscan.io/tx/',
}

export const explorerUrl = (asset: CoinName, txid: string): string =>
  `${EXPLORERS[asset]}${encodeURIComponent(txid)}`

import type { Chain } from '../../../core/assets.ts'
import { formatCoinAmount, parseCoinAmount, readableAmount } from '../../../core/money.ts'
import type { AssetName, PaidAssetName } from '../api/types.ts'

const DOLLARS = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

/** `$49.99`; a dash where there is no dollar amount. */
export const usd = (amount: string | null | undefined): string =>
  amount === null || amount === undefined ? '–' : DOLLARS.format(Number(amount))

/** `€49.99`, `¥5,000`: an amount of any currency, with all the decimals that it has. */
export function money({ amount, currency }: { readonly amount: string; readonly currency: string }): string {
  // Some currencies are by custom shown without the decimals that they have.
  const decimals = /\.(?!0+$)(\d+)$/.exec(amount)?.[1]?.length
  const digits = decimals === undefined ? {} : { minimumFractionDigits: decimals }
  return new Intl.NumberFormat('en-US', { style: 'currency', currency, ...digits }).format(Number(amount))
}

/** What is asked for: the shop's own currency, else dollars; null where it is neither. */
export function totalOf({
  price,
  usd_amount,
}: {
  readonly price: { readonly amount: string; readonly currency: string } | null
  readonly usd_amount: string | null
}): string | null {
  // An API of the release before knows no price.
  if (price) return money(price)
  return usd_amount === null ? null : usd(usd_amount)
}

type Coin = {
  readonly symbol: string
  readonly on?: string
  readonly name: string
  readonly explorer: string
  /** Whether a shop has to turn it on. */
  readonly isOptional?: true
}

/**
 * The coins an invoice can ask for. `on`: the chain, where the coin is on several and money that is sent on another
 * one does not pay. `explorer`: where a live transaction can be looked at.
 */
export const COINS: { readonly [coin in AssetName]: Coin & { readonly chain: Chain } } = {
  BTC: { chain: 'bitcoin', symbol: 'BTC', name: 'Bitcoin', explorer: 'https://mempool.space/tx/' },
  LTC: { chain: 'litecoin', symbol: 'LTC', name: 'Litecoin', explorer: 'https://litecoinspace.org/tx/' },
  ETH: { chain: 'ethereum', symbol: 'ETH', name: 'Ether on Ethereum', explorer: 'https://etherscan.io/tx/' },
  ETH_BASE: {
    chain: 'base',
    symbol: 'ETH',
    on: 'Base',
    name: 'Ether on Base',
    explorer: 'https://basescan.org/tx/',
  },
  USDC_BASE: {
    chain: 'base',
    symbol: 'USDC',
    on: 'Base',
    name: 'USDC on Base',
    explorer: 'https://basescan.org/tx/',
  },
  SOL: { chain: 'solana', symbol: 'SOL', name: 'Solana', explorer: 'https://solscan.io/tx/' },
  USDC_ETHEREUM: {
    chain: 'ethereum',
    symbol: 'USDC',
    on: 'Ethereum',
    name: 'USDC on Ethereum',
    explorer: 'https://etherscan.io/tx/',
    isOptional: true,
  },
}
export const COIN_NAMES = Object.keys(COINS) as AssetName[]
/** What a shop accepts that has chosen nothing. */
export const USUAL_COINS = COIN_NAMES.filter((coin) => COINS[coin].isOptional !== true)

/** What else may come to an address of ours, never asked for. */
const MISSENT: { readonly [coin in Exclude<PaidAssetName, AssetName>]: Coin } = {
  WSOL: { symbol: 'WSOL', name: 'Wrapped SOL', explorer: 'https://solscan.io/tx/' },
}
/** Whether no invoice asks for it, and no payout is made in it. */
export const isMissent = (coin: PaidAssetName): boolean => coin in MISSENT

const ALL_COINS: { readonly [coin in PaidAssetName]: Coin } = { ...COINS, ...MISSENT }

export const coinName = (coin: PaidAssetName): string => ALL_COINS[coin].name

/** `0.015`; of a dollar coin `5.50`. */
export const coinAmount = (amount: string, coin: PaidAssetName): string =>
  readableAmount(amount, ALL_COINS[coin].symbol)

/** `20.00 USDC`, below the name of the coin, which says on which network. */
export const coinAndSymbol = (amount: string, coin: PaidAssetName): string =>
  `${coinAmount(amount, coin)} ${ALL_COINS[coin].symbol}`

/** `0.015 LTC`, `20.00 USDC on Base`. */
export function coins(amount: string, coin: PaidAssetName): string {
  const { on } = ALL_COINS[coin]
  const text = coinAndSymbol(amount, coin)
  return on === undefined ? text : `${text} on ${on}`
}

/** More decimals than any coin has. */
const DECIMALS_MAX = 18

/** By how much a coin amount of the API is more than another of the same coin. */
export function excess(amount: string, price: string): string {
  const units = [amount, price].map((text) => parseCoinAmount(text, DECIMALS_MAX))
  const [more = null, less = null] = units
  if (more === null || less === null) throw new Error(`no amounts of a coin: ${amount} and ${price}`)
  return formatCoinAmount(more - less, DECIMALS_MAX)
}

export const explorerUrl = (coin: PaidAssetName, txid: string): string =>
  `${ALL_COINS[coin].explorer}${encodeURIComponent(txid)}`

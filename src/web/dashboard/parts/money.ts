import { ASSETS_BY_COIN } from '../../../core/asset-order.ts'
import {
  COINS as ALL_ASSETS,
  ASSETS,
  type Chain,
  isAssetId,
  PAYMENT_ASSET_IDS,
} from '../../../core/assets.ts'
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
  readonly chain: Chain
  readonly symbol: string
  /** The network, where money of this symbol that is sent on another one does not pay. */
  readonly on: string | null
  readonly name: string
}

/**
 * A coin on several networks names its own, but for its first one in an amount: `Ether on Ethereum`, `0.015 ETH`. So does
 * each token: others take USDT on networks that we do not.
 */
function coinOf(id: PaidAssetName): Coin {
  const { chain, symbol, name, networkName, token } = ALL_ASSETS[id]
  const isOnSeveral =
    token !== null ||
    id.startsWith(`${symbol}_`) ||
    Object.values(ALL_ASSETS).some((other) => other.id !== id && other.symbol === symbol)
  return {
    chain,
    symbol,
    on: isOnSeveral && id !== symbol ? networkName : null,
    name: isOnSeveral ? `${name} on ${networkName}` : name,
  }
}

const coinsOf = <Id extends PaidAssetName>(ids: readonly Id[]): { readonly [id in Id]: Coin } =>
  Object.fromEntries(ids.map((id) => [id, coinOf(id)])) as { [id in Id]: Coin }

export const COIN_NAMES: readonly AssetName[] = ASSETS_BY_COIN
/** The coins an invoice can ask for. */
export const COINS = coinsOf(COIN_NAMES)
/** What a shop accepts that has chosen nothing. */
export const USUAL_COINS = COIN_NAMES.filter((coin) => ASSETS[coin].isOnByDefault)

/** A network as a shopper knows it. */
export const chainName = (chain: Chain): string =>
  Object.values(ASSETS).find((asset) => asset.chain === chain)?.networkName ?? chain

/** What else may come to an address of ours: no invoice asks for it, and no payout is made in it. */
export const isMissent = (coin: PaidAssetName): boolean => !isAssetId(coin)

const ALL_COINS = coinsOf(PAYMENT_ASSET_IDS)

export const coinName = (coin: PaidAssetName): string => ALL_COINS[coin].name
export const symbolOf = (coin: PaidAssetName): string => ALL_COINS[coin].symbol

/** The networks of one coin beside each other; what no invoice asks for comes last. */
export function byCoin<Row extends { readonly asset: PaidAssetName }>(rows: readonly Row[]): readonly Row[] {
  const ours = COIN_NAMES.flatMap((coin) => rows.filter(({ asset }) => asset === coin))
  return [...ours, ...rows.filter(({ asset }) => isMissent(asset))]
}

/** Rows of one coin on its networks together; what no invoice asks for stays by itself. */
export function byToken<Row extends { readonly asset: PaidAssetName }>(
  rows: readonly Row[],
): readonly (readonly [Row, ...Row[]])[] {
  const groups = new Map<string, [Row, ...Row[]]>()
  for (const row of byCoin(rows)) {
    const name = isMissent(row.asset) ? row.asset : symbolOf(row.asset)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  return [...groups.values()]
}

/** What a coin is called on all of its networks: `Ether`; and the network by itself. */
export const plainName = (coin: PaidAssetName): string => ALL_ASSETS[coin].name
export const networkName = (coin: PaidAssetName): string => ALL_ASSETS[coin].networkName

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
  return on === null ? text : `${text} on ${on}`
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

/** Coin amounts of the API of one coin, added. */
export const sumOf = (amounts: readonly string[]): string =>
  formatCoinAmount(
    amounts.reduce((sum, amount) => sum + (parseCoinAmount(amount, DECIMALS_MAX) ?? 0n), 0n),
    DECIMALS_MAX,
  )

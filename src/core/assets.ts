/** The chains Paylink knows. A chain in one mode is a network: `litecoin-test`, `base-live`. */
export const CHAINS = ['bitcoin', 'litecoin', 'ethereum', 'base', 'solana'] as const
export type Chain = (typeof CHAINS)[number]

export type Network = `${Chain}-${'live' | 'test'}`
export const NETWORKS: readonly Network[] = CHAINS.flatMap((chain) => [
  `${chain}-live` as const,
  `${chain}-test` as const,
])

/**
 * One line of derived addresses. Chains that share an address share its keyspace: one EVM address serves
 * Ether on both networks and USDC.
 */
export type KeyFamily = 'bitcoin' | 'litecoin' | 'evm' | 'solana'
export type Keyspace = `${KeyFamily}-${'live' | 'test'}`

export const ASSET_IDS = ['BTC', 'LTC', 'ETH', 'ETH_BASE', 'USDC_BASE', 'SOL'] as const
export type AssetId = (typeof ASSET_IDS)[number]

export type Asset = {
  readonly id: AssetId
  /** The coin's name as a shopper knows it. */
  readonly name: string
  /** The ticker that wallets show. */
  readonly symbol: string
  /** The network as a shopper knows it. */
  readonly networkName: string
  readonly chain: Chain
  readonly keyFamily: KeyFamily
  readonly decimals: number
  /** The symbol whose US dollar price is fetched from the exchanges. */
  readonly priceSymbol: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'SOL'
  /** Smallest invoice in base units; a merchant may raise it. Null: read from the chain (Solana's rent-exempt minimum). */
  readonly minimum: bigint | null
  /** A transfer below this many base units is recorded, but starts nothing and blocks nothing. */
  readonly dustBelow: bigint
}

export const ASSETS: { readonly [id in AssetId]: Asset } = {
  BTC: {
    id: 'BTC',
    name: 'Bitcoin',
    symbol: 'BTC',
    networkName: 'Bitcoin',
    chain: 'bitcoin',
    keyFamily: 'bitcoin',
    decimals: 8,
    priceSymbol: 'BTC',
    minimum: 330n,
    dustBelow: 294n,
  },
  LTC: {
    id: 'LTC',
    name: 'Litecoin',
    symbol: 'LTC',
    networkName: 'Litecoin',
    chain: 'litecoin',
    keyFamily: 'litecoin',
    decimals: 8,
    priceSymbol: 'LTC',
    minimum: 5_000n,
    dustBelow: 294n,
  },
  ETH: {
    id: 'ETH',
    name: 'Ether',
    symbol: 'ETH',
    networkName: 'Ethereum',
    chain: 'ethereum',
    keyFamily: 'evm',
    decimals: 18,
    priceSymbol: 'ETH',
    minimum: 50_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
  },
  ETH_BASE: {
    id: 'ETH_BASE',
    name: 'Ether',
    symbol: 'ETH',
    networkName: 'Base',
    chain: 'base',
    keyFamily: 'evm',
    decimals: 18,
    priceSymbol: 'ETH',
    minimum: 10_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
  },
  USDC_BASE: {
    id: 'USDC_BASE',
    name: 'USDC',
    symbol: 'USDC',
    networkName: 'Base',
    chain: 'base',
    keyFamily: 'evm',
    decimals: 6,
    priceSymbol: 'USDC',
    minimum: 100_000n,
    dustBelow: 10_000n,
  },
  SOL: {
    id: 'SOL',
    name: 'Solana',
    symbol: 'SOL',
    networkName: 'Solana',
    chain: 'solana',
    keyFamily: 'solana',
    decimals: 9,
    priceSymbol: 'SOL',
    minimum: null,
    dustBelow: 5_000n,
  },
}

/**
 * Money that no invoice asks for but a buyer may send anyway: a token of ours on the wrong network, or a coin of ours
 * inside a token account. No payout is made in it, and none of it is balance of another asset.
 */
const FOREIGN_COIN_IDS = ['USDC_ETHEREUM', 'WSOL'] as const
type ForeignCoinId = (typeof FOREIGN_COIN_IDS)[number]

/** What may arrive at one of our addresses. Only an `AssetId` can be invoiced and priced. */
export type PaymentAsset = AssetId | ForeignCoinId
export const PAYMENT_ASSET_IDS: readonly PaymentAsset[] = [...ASSET_IDS, ...FOREIGN_COIN_IDS]

/** What we must know about a kind of money to record that it arrived. */
type Coin = Omit<Asset, 'id' | 'priceSymbol' | 'minimum'> & { readonly id: PaymentAsset }

export const COINS: { readonly [id in PaymentAsset]: Coin } = {
  ...ASSETS,
  USDC_ETHEREUM: {
    id: 'USDC_ETHEREUM',
    name: 'USDC',
    symbol: 'USDC',
    networkName: 'Ethereum',
    chain: 'ethereum',
    keyFamily: 'evm',
    decimals: 6,
    dustBelow: 10_000n,
  },
  WSOL: {
    id: 'WSOL',
    name: 'Wrapped SOL',
    symbol: 'WSOL',
    networkName: 'Solana',
    chain: 'solana',
    keyFamily: 'solana',
    decimals: 9,
    dustBelow: 5_000n,
  },
}

/** What foreign money is worth as much as. */
const WORTH_AS: { readonly [id in ForeignCoinId]: AssetId } = { USDC_ETHEREUM: 'USDC_BASE', WSOL: 'SOL' }

/** The asset whose price this money has. */
export const pricedAs = (asset: PaymentAsset): AssetId => (isAssetId(asset) ? asset : WORTH_AS[asset])

/** Whether an invoice can ask for this money. */
export const isAssetId = (asset: PaymentAsset): asset is AssetId => ASSET_IDS.some((id) => id === asset)

/** The network on which an asset moves in the given mode. */
export function networkOf(asset: AssetId, livemode: boolean): Network {
  return `${ASSETS[asset].chain}-${livemode ? 'live' : 'test'}`
}

/** The keyspace of a network's deposit addresses: all its assets share one. */
export function keyspaceOfNetwork(network: Network): Keyspace {
  return `${keyFamilyOfNetwork(network)}-${network.endsWith('-live') ? 'live' : 'test'}`
}

/** The key family of a network's addresses: all its assets share one. */
export function keyFamilyOfNetwork(network: Network): KeyFamily {
  const livemode = network.endsWith('-live')
  const asset = ASSET_IDS.find((id) => networkOf(id, livemode) === network)
  if (asset === undefined) throw new Error(`no asset moves on ${network}`)
  return ASSETS[asset].keyFamily
}

/**
 * Identifies how a keyspace's addresses are written: the chain's parameters where the text names the chain, as bech32
 * does; one constant where it reads the same on every chain.
 */
export function addressFormOf(keyspace: Keyspace, parameters: string): string {
  if (keyspace.startsWith('evm-')) return 'evm'
  return keyspace.startsWith('solana-') ? 'solana' : parameters
}

/** The keyspace from which an asset's deposit addresses come in the given mode. */
export function keyspaceOf(asset: AssetId, livemode: boolean): Keyspace {
  return `${ASSETS[asset].keyFamily}-${livemode ? 'live' : 'test'}`
}

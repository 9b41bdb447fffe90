import { ASSET_REGISTRY, type AssetTerms } from './asset-registry.ts'
import { EVM_CHAINS, type EvmChain } from './chain/evm-networks.ts'

/** The chains Paylink knows. A chain in one mode is a network: `litecoin-test`, `base-live`. */
export type Chain = AssetTerms['chain']
export const CHAINS: readonly Chain[] = ['bitcoin', 'litecoin', ...EVM_CHAINS, 'solana']

export type Network = `${Chain}-${'live' | 'test'}`
export const NETWORKS: readonly Network[] = CHAINS.flatMap((chain) => [
  `${chain}-live` as const,
  `${chain}-test` as const,
])

/**
 * One line of derived addresses. Chains that share an address share its keyspace: one EVM address serves
 * Ether on both networks and USDC.
 */
export type KeyFamily = AssetTerms['keyFamily']
export type Keyspace = `${KeyFamily}-${'live' | 'test'}`

export type AssetId = keyof typeof ASSET_REGISTRY
export type Asset = AssetTerms & { readonly id: AssetId }

/** In the order of the registry. */
export const ASSET_IDS = Object.keys(ASSET_REGISTRY) as readonly AssetId[]

export const ASSETS = Object.fromEntries(ASSET_IDS.map((id) => [id, { id, ...ASSET_REGISTRY[id] }])) as {
  readonly [id in AssetId]: Asset
}

/**
 * Money that no invoice asks for but a buyer may send anyway: a coin of ours inside a token account. No payout is made in
 * it, and none of it is balance of another asset.
 */
export const FOREIGN_COIN_IDS = ['WSOL'] as const
type ForeignCoinId = (typeof FOREIGN_COIN_IDS)[number]

/** What may arrive at one of our addresses. Only an `AssetId` can be invoiced and priced. */
export type PaymentAsset = AssetId | ForeignCoinId
export const PAYMENT_ASSET_IDS: readonly PaymentAsset[] = [...ASSET_IDS, ...FOREIGN_COIN_IDS]

/** What we must know about a kind of money to record that it arrived. */
type Coin = Omit<Asset, 'id' | 'priceSymbol' | 'minimum' | 'isOnByDefault'> & { readonly id: PaymentAsset }

export const COINS: { readonly [id in PaymentAsset]: Coin } = {
  ...ASSETS,
  WSOL: {
    id: 'WSOL',
    name: 'Wrapped SOL',
    symbol: 'WSOL',
    networkName: 'Solana',
    chain: 'solana',
    keyFamily: 'solana',
    decimals: 9,
    dustBelow: 5_000n,
    sumIndex: -8,
    token: null,
  },
}

/** What foreign money is worth as much as. */
const WORTH_AS: { readonly [id in ForeignCoinId]: AssetId } = { WSOL: 'SOL' }

/** The asset whose price this money has. */
export const pricedAs = (asset: PaymentAsset): AssetId => (isAssetId(asset) ? asset : WORTH_AS[asset])

/** Whether it is a contract's or a mint's, whose transfers its network's own coin pays for. */
export const isToken = (asset: PaymentAsset): boolean => COINS[asset].token !== null

/** Whether it is a token of Solana. */
export const isSplToken = (asset: PaymentAsset): boolean =>
  isToken(asset) && COINS[asset].keyFamily === 'solana'

/** Whether deposits of it are swept by delegating their addresses. */
export const isSweptByDelegation = (asset: PaymentAsset): boolean => COINS[asset].token?.standard === 'eip20'

/** The coin in which an EVM network's gas is paid. */
export function nativeAssetOf(chain: EvmChain): AssetId {
  const native = Object.values(ASSETS).find((asset) => asset.chain === chain && asset.token === null)
  if (native === undefined) throw new Error(`${chain} has no coin of its own`)
  return native.id
}

/** The tokens of an EVM network, whose gas its hot wallet pays. */
export const tokensOf = (chain: EvmChain): readonly AssetId[] =>
  Object.values(ASSETS).flatMap(({ id, chain: own, token }) => (own === chain && token !== null ? [id] : []))

/** Whether an invoice can ask for this money. */
export const isAssetId = (asset: PaymentAsset): asset is AssetId => Object.hasOwn(ASSETS, asset)

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
  const asset = Object.values(ASSETS).find(({ id }) => networkOf(id, livemode) === network)
  if (asset === undefined) throw new Error(`no asset moves on ${network}`)
  return asset.keyFamily
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

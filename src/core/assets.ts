import { EVM_CHAINS, type EvmChain } from './chain/evm-networks.ts'

/** The chains Paylink knows. A chain in one mode is a network: `litecoin-test`, `base-live`. */
export type Chain = 'bitcoin' | 'litecoin' | EvmChain | 'solana'
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
export type KeyFamily = 'bitcoin' | 'litecoin' | 'evm' | 'solana'
export type Keyspace = `${KeyFamily}-${'live' | 'test'}`

export const ASSET_IDS = [
  'BTC',
  'LTC',
  'ETH',
  'ETH_BASE',
  'USDC_BASE',
  'SOL',
  'USDC_ETHEREUM',
  'ETH_ARBITRUM',
  'USDC_ARBITRUM',
  'USDT_ETHEREUM',
  'USDT_ARBITRUM',
] as const
export type AssetId = (typeof ASSET_IDS)[number]

/**
 * How a token's holder lets others move it: by a signature (EIP-3009), or not at all (EIP-20 alone). Deposits of the
 * second kind are delegated to our own sweeper (EIP-7702), on networks that know of that.
 */
type TokenStandard = 'eip3009' | 'eip20'

/** A token of an EVM network. Nothing but its pinned contracts is money, whatever it calls itself. */
type Token = {
  /**
   * The issuer's contracts on the network's two public chains; null where there is none. Circle's:
   * developers.circle.com/stablecoins/usdc-contract-addresses; Tether's: tether.to/en/supported-protocols, and where it is
   * USDT0, docs.usdt0.to/technical-documentation/deployments.
   */
  readonly contracts: { readonly live: string; readonly test: string | null }
  readonly standard: TokenStandard
  /**
   * The output at which a transaction credits an address in this token, for the chain's own coin has 0: above it, another for
   * each token of a chain, and never changed, for ids of transfers hold it.
   */
  readonly outputIndex: number
  /** Whether programs may pay in it by x402, whose gas the hot wallet pays: of the tokens of a chain, one at most. */
  readonly isX402?: true
  /** The function that says what part of 10,000 the issuer takes of each transfer; absent where none can be taken. */
  readonly fee?: string
}

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
  readonly priceSymbol: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'SOL' | 'USDT'
  /** Smallest invoice in base units; a merchant may raise it. Null: read from the chain (Solana's rent-exempt minimum). */
  readonly minimum: bigint | null
  /** A transfer below this many base units is recorded, but starts nothing and blocks nothing. */
  readonly dustBelow: bigint
  /** Whether merchants who chose no coins accept it. What came later is theirs to turn on. */
  readonly isOnByDefault: boolean
  /** Null for a chain's own coin. */
  readonly token: Token | null
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
    isOnByDefault: true,
    token: null,
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
    isOnByDefault: true,
    token: null,
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
    isOnByDefault: true,
    token: null,
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
    isOnByDefault: true,
    token: null,
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
    isOnByDefault: true,
    token: {
      contracts: {
        live: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        test: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      },
      standard: 'eip3009',
      outputIndex: 1,
      isX402: true,
    },
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
    isOnByDefault: true,
    token: null,
  },
  USDC_ETHEREUM: {
    id: 'USDC_ETHEREUM',
    name: 'USDC',
    symbol: 'USDC',
    networkName: 'Ethereum',
    chain: 'ethereum',
    keyFamily: 'evm',
    decimals: 6,
    priceSymbol: 'USDC',
    // The hot wallet pays for its sweep, some 100,000 gas: a dollar at three gwei, where ether is at 3,000 dollars.
    minimum: 10_000_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: {
        live: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
        test: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
      },
      standard: 'eip3009',
      outputIndex: 1,
    },
  },
  USDT_ETHEREUM: {
    id: 'USDT_ETHEREUM',
    name: 'USDT',
    symbol: 'USDT',
    networkName: 'Ethereum',
    chain: 'ethereum',
    keyFamily: 'evm',
    decimals: 6,
    priceSymbol: 'USDT',
    // Its sweep takes a little more than that of USDC.
    minimum: 10_000_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: { live: '0xdAC17F958D2ee523a2206206994597C13D831ec7', test: null },
      standard: 'eip20',
      outputIndex: 2,
      fee: 'basisPointsRate()',
    },
  },
  ETH_ARBITRUM: {
    id: 'ETH_ARBITRUM',
    name: 'Ether',
    symbol: 'ETH',
    networkName: 'Arbitrum One',
    chain: 'arbitrum',
    keyFamily: 'evm',
    decimals: 18,
    priceSymbol: 'ETH',
    // Some ten times its sweep at 0.02 gwei, the least that gas costs there, data included.
    minimum: 10_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
    isOnByDefault: false,
    token: null,
  },
  USDC_ARBITRUM: {
    id: 'USDC_ARBITRUM',
    name: 'USDC',
    symbol: 'USDC',
    networkName: 'Arbitrum One',
    chain: 'arbitrum',
    keyFamily: 'evm',
    decimals: 6,
    priceSymbol: 'USDC',
    // The hot wallet pays for its sweep, some 110,000 gas with its data: a cent at 0.03 gwei, where ether is at 3,000 dollars.
    minimum: 250_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      // Circle's own, not the bridged USDC.e.
      contracts: {
        live: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
        test: '0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d',
      },
      standard: 'eip3009',
      outputIndex: 1,
    },
  },
  USDT_ARBITRUM: {
    id: 'USDT_ARBITRUM',
    name: 'USDT',
    symbol: 'USDT',
    networkName: 'Arbitrum One',
    chain: 'arbitrum',
    keyFamily: 'evm',
    decimals: 6,
    priceSymbol: 'USDT',
    // Its sweep takes a third more than that of USDC.
    minimum: 250_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: { live: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', test: null },
      standard: 'eip20',
      outputIndex: 2,
    },
  },
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
    token: null,
  },
}

/** What foreign money is worth as much as. */
const WORTH_AS: { readonly [id in ForeignCoinId]: AssetId } = { WSOL: 'SOL' }

/** The asset whose price this money has. */
export const pricedAs = (asset: PaymentAsset): AssetId => (isAssetId(asset) ? asset : WORTH_AS[asset])

/** Whether it is a contract's, whose transfers an EVM network's coin pays for. */
export const isToken = (asset: PaymentAsset): boolean => COINS[asset].token !== null

/** Whether deposits of it are swept by delegating their addresses. */
export const isSweptByDelegation = (asset: PaymentAsset): boolean => COINS[asset].token?.standard === 'eip20'

/** The tickers of all tokens. */
export const TOKEN_SYMBOLS: readonly string[] = [
  ...new Set(Object.values(ASSETS).flatMap(({ symbol, token }) => (token === null ? [] : [symbol]))),
]

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

import { EVM_NETWORKS } from './chain/evm-registry.ts'

type EvmChain = keyof typeof EVM_NETWORKS
/** Chains that share a key family share addresses: one EVM address serves all EVM networks, their coins and tokens. */
type KeyFamily = 'bitcoin' | 'litecoin' | 'evm' | 'solana'

/** What a token is, wherever it is. Nothing but its pinned contracts is money, whatever else calls itself so. */
type TokenTerms = {
  /**
   * The issuer's contracts, on Solana mints, on the network's two public chains; null where there is none. Circle's:
   * developers.circle.com/stablecoins/usdc-contract-addresses; Tether's: tether.to/en/supported-protocols, and where it is
   * USDT0, docs.usdt0.to/technical-documentation/deployments; Paxos's: docs.paxos.com/guides/stablecoin/pyusd.
   */
  readonly contracts: { readonly live: string; readonly test: string | null }
  /**
   * The output at which a transaction credits an address in this token, for the chain's own coin has 0: above it, another for
   * each token of a chain, and never changed, for ids of transfers hold it. On Solana the place of the credited account
   * among those of the transaction comes on top.
   */
  readonly outputIndex: number
}

/** A token of an EVM network. */
type EvmToken = TokenTerms & {
  /**
   * How its holder lets others move it: by a signature (EIP-3009), or not at all (EIP-20 alone). Deposits of the second
   * kind are delegated to our own sweeper (EIP-7702), on networks that know of that.
   */
  readonly standard: 'eip3009' | 'eip20'
  /** The function that says what part of 10,000 the issuer takes of each transfer; absent where none can be taken. */
  readonly fee?: string
}

/** A token of Solana, by the program that its mint belongs to: the Token program or the Token Extensions program. */
type SplToken = TokenTerms & { readonly standard: 'spl' | 'token-2022' }

type Token = EvmToken | SplToken

export type AssetTerms = {
  /** The coin's name as a shopper knows it. */
  readonly name: string
  /** The ticker that wallets show. */
  readonly symbol: string
  /** The network as a shopper knows it. */
  readonly networkName: string
  readonly chain: 'bitcoin' | 'litecoin' | EvmChain | 'solana'
  readonly keyFamily: KeyFamily
  readonly decimals: number
  /** The symbol whose US dollar price is fetched from the exchanges. */
  readonly priceSymbol: 'BTC' | 'LTC' | 'ETH' | 'USDC' | 'SOL' | 'USDT' | 'POL' | 'PYUSD'
  /** Smallest invoice in base units; a merchant may raise it. Null: read from the chain (Solana's rent-exempt minimum). */
  readonly minimum: bigint | null
  /** A transfer below this many base units is recorded, but starts nothing and blocks nothing. */
  readonly dustBelow: bigint
  /** Whether merchants who chose no coins accept it. What came later is theirs to turn on. */
  readonly isOnByDefault: boolean
  /**
   * Stands for the sum of a block's small payments where others have the index of their output: each asset has the next
   * below, and none changes, for ids of payments hold it.
   */
  readonly sumIndex: number
  /** Null for a chain's own coin. */
  readonly token: Token | null
}

type Terms<Given extends keyof AssetTerms> = Omit<AssetTerms, Given>

type TokenOf<Kind extends Token> = Terms<
  'name' | 'symbol' | 'priceSymbol' | 'networkName' | 'chain' | 'keyFamily' | 'decimals' | 'token'
> & { readonly token: Kind }

/** The coin in which an EVM network's gas is paid. */
function ownCoinOf(
  chain: EvmChain,
  terms: Terms<'name' | 'symbol' | 'networkName' | 'chain' | 'keyFamily' | 'decimals' | 'token'>,
): AssetTerms {
  const { title: networkName, currency } = EVM_NETWORKS[chain]
  return { ...currency, networkName, chain, keyFamily: 'evm', token: null, ...terms }
}

/** A dollar token of an EVM network, with its six decimals. */
function dollarsOn(chain: EvmChain, symbol: 'USDC' | 'USDT', terms: TokenOf<EvmToken>): AssetTerms {
  const { title: networkName } = EVM_NETWORKS[chain]
  const coin = { name: symbol, symbol, priceSymbol: symbol, decimals: 6 }
  return { ...coin, networkName, chain, keyFamily: 'evm', ...terms }
}

/** A dollar token of Solana, with its six decimals. */
const solanaDollars = (symbol: 'USDC' | 'USDT' | 'PYUSD', terms: TokenOf<SplToken>): AssetTerms => ({
  name: symbol,
  symbol,
  priceSymbol: symbol,
  networkName: 'Solana',
  chain: 'solana',
  keyFamily: 'solana',
  decimals: 6,
  ...terms,
})

/** Every asset that Paylink knows: what a new one takes is an entry here. In the order in which lists have them. */
export const ASSET_REGISTRY = {
  BTC: {
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
    sumIndex: -1,
    token: null,
  },
  LTC: {
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
    sumIndex: -2,
    token: null,
  },
  ETH: ownCoinOf('ethereum', {
    priceSymbol: 'ETH',
    minimum: 50_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
    isOnByDefault: true,
    sumIndex: -3,
  }),
  ETH_BASE: ownCoinOf('base', {
    priceSymbol: 'ETH',
    minimum: 10_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
    isOnByDefault: true,
    sumIndex: -4,
  }),
  USDC_BASE: dollarsOn('base', 'USDC', {
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
    },
    sumIndex: -5,
  }),
  SOL: {
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
    sumIndex: -6,
    token: null,
  },
  USDC_ETHEREUM: dollarsOn('ethereum', 'USDC', {
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
    sumIndex: -7,
  }),
  ETH_ARBITRUM: ownCoinOf('arbitrum', {
    priceSymbol: 'ETH',
    // Some ten times its sweep at 0.02 gwei, the least that gas costs there, data included.
    minimum: 10_000_000_000_000n,
    dustBelow: 1_000_000_000_000n,
    isOnByDefault: false,
    sumIndex: -9,
  }),
  USDC_ARBITRUM: dollarsOn('arbitrum', 'USDC', {
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
    sumIndex: -10,
  }),
  USDT_ETHEREUM: dollarsOn('ethereum', 'USDT', {
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
    sumIndex: -11,
  }),
  USDT_ARBITRUM: dollarsOn('arbitrum', 'USDT', {
    // Its sweep takes a third more than that of USDC.
    minimum: 250_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: { live: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', test: null },
      standard: 'eip20',
      outputIndex: 2,
    },
    sumIndex: -12,
  }),
  POL_POLYGON: ownCoinOf('polygon', {
    priceSymbol: 'POL',
    // Some ten times its sweep at 200 gwei.
    minimum: 50_000_000_000_000_000n,
    dustBelow: 1_000_000_000_000_000n,
    isOnByDefault: false,
    sumIndex: -13,
  }),
  USDC_POLYGON: dollarsOn('polygon', 'USDC', {
    // The hot wallet pays for its sweep, some 100,000 gas: a cent at 200 gwei, where POL is at half a dollar.
    minimum: 250_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      // Circle's own, not the bridged USDC.e.
      contracts: {
        live: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
        test: '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582',
      },
      standard: 'eip3009',
      outputIndex: 1,
    },
    sumIndex: -14,
  }),
  USDT_POLYGON: dollarsOn('polygon', 'USDT', {
    // Its sweep takes a third more than that of USDC.
    minimum: 250_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: { live: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', test: null },
      standard: 'eip20',
      outputIndex: 2,
    },
    sumIndex: -15,
  }),
  USDC_SOLANA: solanaDollars('USDC', {
    // A payout to somebody without a token account pays for that account: 0.002 SOL, some 40 cents at 200 dollars.
    minimum: 500_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: {
        live: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
        test: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
      },
      standard: 'spl',
      outputIndex: 2_000,
    },
    sumIndex: -16,
  }),
  USDT_SOLANA: solanaDollars('USDT', {
    minimum: 500_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: { live: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', test: null },
      standard: 'spl',
      outputIndex: 3_000,
    },
    sumIndex: -17,
  }),
  PYUSD_SOLANA: solanaDollars('PYUSD', {
    minimum: 500_000n,
    dustBelow: 10_000n,
    isOnByDefault: false,
    token: {
      contracts: {
        live: '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo',
        test: 'CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM',
      },
      standard: 'token-2022',
      outputIndex: 4_000,
    },
    sumIndex: -18,
  }),
} satisfies { readonly [id: string]: AssetTerms }

/** A public chain, as wallets name it (EIP-3085). */
type PublicChain = {
  /** `main`, or the name of a test chain. */
  readonly name: string
  readonly title: string
  /** EIP-155. */
  readonly chainId: number
  /** An endpoint that anybody may use; a wallet is offered it when the chain is added. */
  readonly rpcUrl: string
  readonly explorer: string
}

/**
 * How a network charges for what its transactions take on the chain below it. `none`: there is no chain below.
 * `op_stack`: beside the gas, as its own contract says (OP Stack, GasPriceOracle). `in_gas`: as gas, within the same
 * limit, so that a limit without it is refused as too low; eth_estimateGas has it in its answer (Arbitrum Nitro,
 * arbos/tx_processor.go, GasChargingHook).
 */
export type DataFee = 'none' | 'op_stack' | 'in_gas'

/** What a buyer may expect of paying a token: the order of magnitude of the fee, and how long until it is final. */
export type TokenTransfer = { readonly feeCents: number; readonly finalSeconds: number }

/** A network of accounts with Ethereum's virtual machine, as data. */
export type EvmNetwork = {
  /** As a shopper knows it. */
  readonly title: string
  readonly main: PublicChain
  /** Two of different operators that need no account, which setup offers for the main chain. */
  readonly publicProviders: readonly [string, string]
  /** The public test chain. */
  readonly testnet: PublicChain
  /** The chain id of its sandbox chain, which no public chain has. */
  readonly sandboxChainId: number
  /** In what gas is paid. */
  readonly currency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  /** A head that is older is not the chain's. */
  readonly headAgeMsMax: number
  /** Pause between two looks at the head, milliseconds: a fraction of the chain's block time. */
  readonly probeIntervalMs: number
  /** Blocks that a reorganisation may take back at most; a deeper one halts the network. */
  readonly reorgDepthMax: number
  /** The tag of what is unlikely to be taken back, for smaller payments; what never is has `finalized` everywhere. */
  readonly safeTag: 'safe' | 'finalized'
  readonly dataFee: DataFee
  /**
   * Wei per gas for the block's maker: where a node suggests none of its own, the least that blocks take, and the most that
   * is believed of it.
   */
  readonly tip: { readonly usual: bigint; readonly min: bigint; readonly max: bigint }
  /** Wei per gas: no price above this is believed or paid. */
  readonly gasPriceMax: bigint
  /** Absent where nobody has looked. */
  readonly tokenTransfer?: TokenTransfer
}

const GWEI = 1_000_000_000n
const ETHER = { name: 'Ether', symbol: 'ETH', decimals: 18 }

/**
 * Every EVM network that Paylink knows: what a new one takes is an entry here, and its assets in `core/asset-registry.ts`.
 * Chain ids, endpoints and explorers are those of viem's `src/chains/definitions`.
 */
export const EVM_NETWORKS = {
  ethereum: {
    title: 'Ethereum',
    main: {
      name: 'main',
      title: 'Ethereum',
      chainId: 1,
      rpcUrl: 'https://ethereum.reth.rs/rpc',
      explorer: 'https://etherscan.io',
    },
    publicProviders: ['https://ethereum-rpc.publicnode.com', 'https://eth.llamarpc.com'],
    testnet: {
      name: 'sepolia',
      title: 'Sepolia',
      chainId: 11_155_111,
      rpcUrl: 'https://11155111.rpc.thirdweb.com',
      explorer: 'https://sepolia.etherscan.io',
    },
    sandboxChainId: 31_337,
    currency: ETHER,
    // Twenty-five slots of twelve seconds: Ethereum has never missed so many in a row.
    headAgeMsMax: 300_000,
    probeIntervalMs: 2_000,
    // Four epochs: what two of them have voted for is never taken back, and no fork has been longer.
    reorgDepthMax: 128,
    safeTag: 'safe',
    dataFee: 'none',
    tip: { usual: GWEI, min: 0n, max: 100n * GWEI },
    gasPriceMax: 1_000n * GWEI,
    // 65,000 gas at 3 gwei, where ether is at 3,000 dollars. `safe` is an epoch behind (docs/ethereum-and-base.md).
    tokenTransfer: { feeCents: 50, finalSeconds: 420 },
  },
  base: {
    title: 'Base',
    main: {
      name: 'main',
      title: 'Base',
      chainId: 8_453,
      rpcUrl: 'https://mainnet.base.org',
      explorer: 'https://basescan.org',
    },
    publicProviders: ['https://mainnet.base.org', 'https://base-rpc.publicnode.com'],
    testnet: {
      name: 'base-sepolia',
      title: 'Base Sepolia',
      chainId: 84_532,
      rpcUrl: 'https://sepolia.base.org',
      explorer: 'https://sepolia.basescan.org',
    },
    sandboxChainId: 31_338,
    currency: ETHER,
    // Where Base's sequencer stands for longer, nobody can pay, and nothing should expire.
    headAgeMsMax: 120_000,
    probeIntervalMs: 500,
    // Four minutes of blocks of 200 ms (its Denim upgrade, November 2026; before, two seconds).
    reorgDepthMax: 1_280,
    safeTag: 'safe',
    dataFee: 'op_stack',
    // A block has room there nearly always, and a thousandth of a gwei is common.
    tip: { usual: GWEI / 100n, min: 0n, max: 5n * GWEI },
    gasPriceMax: 1_000n * GWEI,
    // A cent at most on ordinary days. In a batch on Ethereum after some two minutes (docs.base.org, Transaction finality).
    tokenTransfer: { feeCents: 1, finalSeconds: 120 },
  },
  arbitrum: {
    title: 'Arbitrum One',
    main: {
      name: 'main',
      title: 'Arbitrum One',
      chainId: 42_161,
      rpcUrl: 'https://arb1.arbitrum.io/rpc',
      explorer: 'https://arbiscan.io',
    },
    publicProviders: ['https://arb1.arbitrum.io/rpc', 'https://arbitrum-one-rpc.publicnode.com'],
    testnet: {
      name: 'arbitrum-sepolia',
      title: 'Arbitrum Sepolia',
      chainId: 421_614,
      rpcUrl: 'https://sepolia-rollup.arbitrum.io/rpc',
      explorer: 'https://sepolia.arbiscan.io',
    },
    sandboxChainId: 31_339,
    currency: ETHER,
    // As on Base: four blocks come in a second, and where the sequencer stands for longer, nobody can pay.
    headAgeMsMax: 120_000,
    probeIntervalMs: 500,
    // Four minutes of blocks of 250 ms. Only a sequencer that takes back what it said reorganises what is not on Ethereum yet.
    reorgDepthMax: 960,
    safeTag: 'safe',
    dataFee: 'in_gas',
    // The sequencer takes who comes first, and tips are ignored (docs.arbitrum.io, Gas and fees).
    tip: { usual: 0n, min: 0n, max: 0n },
    gasPriceMax: 1_000n * GWEI,
    // 65,000 gas at 0.02 gwei are half a cent. `safe` once the block of Ethereum is that has its batch (docs.arbitrum.io,
    // Finality and chain reorganizations): seven minutes after a batch that is posted every few.
    tokenTransfer: { feeCents: 1, finalSeconds: 600 },
  },
  polygon: {
    title: 'Polygon',
    main: {
      name: 'main',
      title: 'Polygon',
      chainId: 137,
      rpcUrl: 'https://polygon.drpc.org',
      explorer: 'https://polygonscan.com',
    },
    publicProviders: ['https://polygon.drpc.org', 'https://polygon-bor-rpc.publicnode.com'],
    testnet: {
      name: 'amoy',
      title: 'Polygon Amoy',
      chainId: 80_002,
      rpcUrl: 'https://polygon-amoy.drpc.org',
      explorer: 'https://amoy.polygonscan.com',
    },
    sandboxChainId: 31_340,
    currency: { name: 'POL', symbol: 'POL', decimals: 18 },
    // Sixty blocks of two seconds: where none come for longer, nobody can pay.
    headAgeMsMax: 120_000,
    probeIntervalMs: 1_000,
    // Half an hour. What a milestone has is never taken back (PIP-11), and one comes every few seconds; where none came, the
    // longest fork had 157 blocks (February 2023), and a checkpoint on Ethereum has some 512.
    reorgDepthMax: 1_024,
    // Its nodes know no `safe` block ("safe block not found": bor, eth/api_backend.go); `finalized` is the last milestone's.
    safeTag: 'finalized',
    dataFee: 'none',
    // Blocks take no tip below 25 gwei (PIP-35; bor, BorDefaultMinerGasPrice). Busy days have had thousands, of a cheap coin.
    tip: { usual: 30n * GWEI, min: 25n * GWEI, max: 2_000n * GWEI },
    gasPriceMax: 10_000n * GWEI,
    // 65,000 gas at 200 gwei, where POL is at half a dollar. A milestone comes every few seconds (PIP-11).
    tokenTransfer: { feeCents: 1, finalSeconds: 10 },
  },
} as const satisfies { readonly [chain: string]: EvmNetwork }

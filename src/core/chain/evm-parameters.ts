import type { Network, PaymentAsset } from '../assets.ts'
import type { Realm } from './realm.ts'

export const EVM_CHAINS = ['ethereum', 'base'] as const
export type EvmChain = (typeof EVM_CHAINS)[number]

/** A token contract whose transfers are looked for. Nothing else is money, whatever it calls itself. */
export type EvmToken = {
  readonly asset: PaymentAsset
  /** 20 bytes, lower-case hex with 0x. */
  readonly contract: string
  readonly decimals: number
}

/** An account-based chain as data. */
export type EvmParameters = {
  readonly chain: EvmChain
  /** `main`, the name of a public test chain, or for a private one `regtest`, and `staging` in the place of `main`. */
  readonly name: string
  /** EIP-155. */
  readonly chainId: number
  /** A private chain, which stands still while nothing happens. */
  readonly isolated: boolean
  /** A head that is older is not the chain's; null on a private chain. */
  readonly headAgeMsMax: number | null
  /** Pause between two looks at the head, milliseconds: a fraction of the chain's block time. */
  readonly probeIntervalMs: number
}

const PROBE_OWN_MS = 100
/** Twenty-five slots of twelve seconds: Ethereum has never missed so many in a row. */
const ETHEREUM_HEAD_MS = 300_000
/** Sixty blocks. Where Base's sequencer stands for longer, nobody can pay, and nothing should expire. */
const BASE_HEAD_MS = 120_000

const PUBLIC: readonly EvmParameters[] = [
  {
    chain: 'ethereum',
    name: 'main',
    chainId: 1,
    isolated: false,
    headAgeMsMax: ETHEREUM_HEAD_MS,
    probeIntervalMs: 2_000,
  },
  {
    chain: 'ethereum',
    name: 'sepolia',
    chainId: 11_155_111,
    isolated: false,
    headAgeMsMax: ETHEREUM_HEAD_MS,
    probeIntervalMs: 2_000,
  },
  {
    chain: 'base',
    name: 'main',
    chainId: 8_453,
    isolated: false,
    headAgeMsMax: BASE_HEAD_MS,
    probeIntervalMs: 500,
  },
  {
    chain: 'base',
    name: 'base-sepolia',
    chainId: 84_532,
    isolated: false,
    headAgeMsMax: BASE_HEAD_MS,
    probeIntervalMs: 500,
  },
]

/** Circle's contracts. */
const USDC: { readonly [network in Network]?: EvmToken } = {
  'base-live': {
    asset: 'USDC_BASE',
    contract: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    decimals: 6,
  },
  'base-test': {
    asset: 'USDC_BASE',
    contract: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
    decimals: 6,
  },
  'ethereum-live': {
    asset: 'USDC_ETHEREUM',
    contract: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    decimals: 6,
  },
  'ethereum-test': {
    asset: 'USDC_ETHEREUM',
    contract: '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238',
    decimals: 6,
  },
}

/**
 * The chain that a node with this chain id is on, in this realm; null where it is another chain than the one asked
 * for. `live` has one chain, `test` the public test chain and any private one: what is no public chain. `staging` has
 * private ones alone: what is signed for a public chain's id is good there.
 */
export function evmParametersOf(chain: EvmChain, realm: Realm, chainId: number): EvmParameters | null {
  const known = PUBLIC.find((each) => each.chainId === chainId)
  if (known !== undefined)
    return known.chain === chain && realm === (known.name === 'main' ? 'live' : 'test') ? known : null
  if (realm === 'live') return null
  return {
    chain,
    name: realm === 'staging' ? 'staging' : 'regtest',
    chainId,
    isolated: true,
    headAgeMsMax: null,
    probeIntervalMs: PROBE_OWN_MS,
  }
}

/** The public chain of a network: `main`, or the public test chain. */
function publicChainId(chain: EvmChain, isMain: boolean): number {
  const known = PUBLIC.find((each) => each.chain === chain && (each.name === 'main') === isMain)
  if (known === undefined) throw new Error(`${chain} has no such public chain`)
  return known.chainId
}

/** The chain id of the public test chain. */
export const publicTestChainId = (chain: EvmChain): number => publicChainId(chain, false)

/** The chain that a message may name as right. */
export function expectedChain(chain: EvmChain, realm: Realm): string {
  return realm === 'staging' ? 'a private chain' : `chain ${publicChainId(chain, realm === 'live')}`
}

/** Whether this is the id of a public chain that Paylink knows. */
export const isPublicChainId = (chainId: number): boolean => PUBLIC.some((each) => each.chainId === chainId)

/** The tokens that are looked for on a network; `usdcContract` is one's own in place of Circle's, never for live money. */
export function evmTokensOf(
  network: Network,
  realm: Realm,
  usdcContract: string | null,
): readonly EvmToken[] {
  const token = USDC[network]
  if (token === undefined) return []
  if (usdcContract === null || realm === 'live') return [token]
  return [{ ...token, contract: usdcContract.toLowerCase() }]
}

import { ASSETS, type AssetId, type Network } from '../assets.ts'
import { EVM_CHAINS, type EvmChain, evmNetworkOf } from './evm-networks.ts'
import { EVM_PRIVATE_PROBE_MS } from './probe-pauses.ts'
import type { Realm } from './realm.ts'

/** A token contract whose transfers are looked for. Nothing else is money, whatever it calls itself. */
export type EvmToken = {
  readonly asset: AssetId
  /** 20 bytes, lower-case hex with 0x. */
  readonly contract: string
  readonly decimals: number
  /** At which its transfers are credited. */
  readonly outputIndex: number
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

/** A public chain of a network, with what this realm calls it. */
const publicParametersOf = (chain: EvmChain): readonly EvmParameters[] => {
  const { main, testnet, headAgeMsMax, probeIntervalMs } = evmNetworkOf(chain)
  return [main, testnet].map(({ name, chainId }) => ({
    chain,
    name,
    chainId,
    isolated: false,
    headAgeMsMax,
    probeIntervalMs,
  }))
}
const PUBLIC: readonly EvmParameters[] = EVM_CHAINS.flatMap(publicParametersOf)

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
    probeIntervalMs: EVM_PRIVATE_PROBE_MS,
  }
}

/** The chain id of the public test chain. */
export const publicTestChainId = (chain: EvmChain): number => evmNetworkOf(chain).testnet.chainId

/** The chain that a message may name as right. */
export function expectedChain(chain: EvmChain, realm: Realm): string {
  const { main, testnet } = evmNetworkOf(chain)
  return realm === 'staging' ? 'a private chain' : `chain ${(realm === 'live' ? main : testnet).chainId}`
}

/** Whether this is the id of a public chain that Paylink knows. */
export const isPublicChainId = (chainId: number): boolean => PUBLIC.some((each) => each.chainId === chainId)

/** A network's own contracts, on Solana mints, in the place of the issuers', by the symbols of their tokens. */
export type TokenContracts = { readonly [symbol: string]: string }

/** The tokens that are looked for on a network. Own contracts are never for live money. */
export function evmTokensOf(network: Network, realm: Realm, contracts: TokenContracts): readonly EvmToken[] {
  const own = realm === 'live' ? {} : contracts
  return Object.values(ASSETS).flatMap(({ id: asset, symbol, chain, decimals, token }) => {
    const isLive = network === `${chain}-live`
    if (token === null || (!isLive && network !== `${chain}-test`)) return []
    const contract = own[symbol] ?? (isLive ? token.contracts.live : token.contracts.test)
    if (contract === null) return []
    return [{ asset, contract: contract.toLowerCase(), decimals, outputIndex: token.outputIndex }]
  })
}

/** Whether a contract (lower-case hex with 0x) may be that of a token there: live money has one for each, whatever anybody says. */
export function isKnownContract(
  network: Network,
  realm: Realm,
  { asset, contract }: { readonly asset: AssetId; readonly contract: string },
): boolean {
  return evmTokensOf(network, realm, { [ASSETS[asset].symbol]: contract }).some(
    (known) => known.asset === asset && known.contract === contract,
  )
}

import { EVM_NETWORKS, type EvmNetwork } from './evm-registry.ts'

export type EvmChain = keyof typeof EVM_NETWORKS

export const isEvmChain = (chain: string): chain is EvmChain => Object.hasOwn(EVM_NETWORKS, chain)

/** In the order of the registry. */
export const EVM_CHAINS: readonly EvmChain[] = Object.keys(EVM_NETWORKS).filter(isEvmChain)

/** Of the names of networks on them, as PostgreSQL and JavaScript read it. */
export const EVM_NETWORK_PATTERN = `^(${EVM_CHAINS.join('|')})-`

export const evmNetworkOf = (chain: EvmChain): EvmNetwork => EVM_NETWORKS[chain]

/** One value for each EVM network. */
export const forEvmChains = <Value>(
  of: (chain: EvmChain) => Value,
): { readonly [chain in EvmChain]: Value } =>
  Object.fromEntries(EVM_CHAINS.map((chain) => [chain, of(chain)])) as { [chain in EvmChain]: Value }

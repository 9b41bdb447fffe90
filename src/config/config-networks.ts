import { z } from 'zod'
import { CHAINS, type Chain, type Network } from '../core/assets.ts'
import type { TokenContracts } from '../core/chain/evm-parameters.ts'
import type { PrivateChain } from '../core/chain/realm.ts'
import { TOKEN_SYMBOLS } from '../core/token-symbols.ts'
import { readPrivateChain, readTokenContracts } from './config-staging.ts'
import { ConfigError, type Environment, must, urlOf } from './config-values.ts'

type NetworkConfig = {
  /** The first is followed; the others confirm what it says and stand in for it. URLs contain credentials. */
  readonly rpcUrls: readonly string[]
  readonly zmqUrl: string | null
  /** In staging, the private chain in the place of live money's. */
  readonly privateChain: PrivateChain | null
  /** On test networks and in staging: contracts in the place of the issuers'. */
  readonly tokenContracts: TokenContracts
}

export type NetworksConfig = { readonly [network in Network]?: NetworkConfig }

const RPC_URLS_MAX = 5
export const NETWORK_VARIABLE = new RegExp(
  `^(?:LIVE|TEST)_([A-Z0-9]+)_(?:(?:RPC|ZMQ)_URL|GENESIS|CHAIN_ID|(?:${TOKEN_SYMBOLS.join('|')})_ADDRESS)$`,
)
const MODES = ['live', 'test'] as const

/**
 * A comma-separated list of URLs; `esplora+https:` names an Esplora server where plain http is the chain's own node.
 */
const rpcUrls = (...protocols: string[]) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .refine(
      (parts) =>
        parts.length <= RPC_URLS_MAX &&
        new Set(parts).size === parts.length &&
        parts.every((part) => urlOf(...protocols).safeParse(part).success && new URL(part).hostname !== ''),
    )
const nodeUrls = rpcUrls('http:', 'https:')
const nodeOrEsploraUrls = rpcUrls('http:', 'https:', 'esplora+http:', 'esplora+https:')

/** The nodes of an environment. Throws `ConfigError`. */
export function readNetworks(env: Environment, staging: boolean): NetworksConfig {
  refuseUnknownNetworks(env)
  const networks: { [network in Network]?: NetworkConfig } = {}
  for (const mode of MODES) {
    for (const chain of CHAINS) {
      const prefix = `${mode}_${chain}`.toUpperCase()
      const zmqUrl = readZmqUrl(env, chain, `${prefix}_ZMQ_URL`)
      const name = `${prefix}_RPC_URL`
      const text = env[name]
      const tokenContracts = readTokenContracts(env, { chain, mode, staging })
      const privateChain = readPrivateChain(env, { chain, mode, staging })
      if (text === undefined || text === '') {
        if (zmqUrl !== null)
          throw new ConfigError(`${prefix}_ZMQ_URL needs ${name} beside it: the same node's RPC`)
        continue
      }
      const rpcUrls = readRpcUrls(chain, name, text)
      if (zmqUrl !== null && rpcUrls[0]?.startsWith('esplora+'))
        throw new ConfigError(`${prefix}_ZMQ_URL goes with a node, and ${name} begins with an Esplora server`)
      networks[`${chain}-${mode}`] = { rpcUrls, zmqUrl, privateChain, tokenContracts }
    }
  }
  return networks
}

function readRpcUrls(chain: Chain, name: string, text: string): readonly string[] {
  const several = `or up to ${RPC_URLS_MAX} different ones separated by commas`
  if (!hasNodesLikeBitcoin(chain)) return must(`an http or https URL, ${several}`, nodeUrls)(name, text)
  const expectation = `a node's http or https URL, or an Esplora server's as in esplora+https://host/api, ${several}`
  return must(expectation, nodeOrEsploraUrls)(name, text)
}

const hasNodesLikeBitcoin = (chain: Chain): boolean => chain === 'bitcoin' || chain === 'litecoin'

/** A misspelt chain name would otherwise leave its network silently off, or on the sandbox chain. */
function refuseUnknownNetworks(env: Environment): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || value === '') continue
    const chain = NETWORK_VARIABLE.exec(name)?.[1]?.toLowerCase()
    if (chain === undefined || CHAINS.some((known) => known === chain)) continue
    throw new ConfigError(`${name} names no chain of Paylink: use one of ${CHAINS.join(', ')}, in capitals`)
  }
}

function readZmqUrl(env: Environment, chain: Chain, name: string): string | null {
  const text = env[name]
  if (text === undefined || text === '') return null
  if (!hasNodesLikeBitcoin(chain)) throw new ConfigError(`${name} is not known: remove it`)
  return must('a URL such as tcp://127.0.0.1:28332', urlOf('tcp:', 'ipc:'))(name, text)
}

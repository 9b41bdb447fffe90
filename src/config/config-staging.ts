import { z } from 'zod'
import { ASSETS, type Chain } from '../core/assets.ts'
import { isEvmChain } from '../core/chain/evm-networks.ts'
import { isPublicChainId, type TokenContracts } from '../core/chain/evm-parameters.ts'
import type { PrivateChain } from '../core/chain/realm.ts'
import { TOKEN_SYMBOLS } from '../core/token-symbols.ts'
import {
  ConfigError,
  contractAddress,
  type Environment,
  mintAddress,
  must,
  wholeNumber,
} from './config-values.ts'

type Place = { readonly chain: Chain; readonly mode: 'live' | 'test'; readonly staging: boolean }

const CHAIN_ID_MAX = 999_999_999
const chainId = must(
  'the EIP-155 chain id of a private chain',
  wholeNumber(1, CHAIN_ID_MAX).refine((id) => !isPublicChainId(id)),
)
const utxoGenesis = must('the hash of block 0: 64 hexadecimal digits', z.string().regex(/^[0-9a-f]{64}$/))
const evmGenesis = must(
  'the hash of block 0: 0x and 64 hexadecimal digits',
  z.string().regex(/^0x[0-9a-f]{64}$/),
)
const solanaGenesis = must('what getGenesisHash answers', z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/))

function genesisOf(chain: Chain) {
  if (isEvmChain(chain)) return evmGenesis
  return chain === 'solana' ? solanaGenesis : utxoGenesis
}

/**
 * The private chain that the operator names for a live network in staging; null elsewhere. Every live network needs one
 * there, and none may have one without `STAGING`.
 */
export function readPrivateChain(env: Environment, { chain, mode, staging }: Place): PrivateChain | null {
  const prefix = `${mode}_${chain}`.toUpperCase()
  const genesis = given(env, `${prefix}_GENESIS`)
  const id = given(env, `${prefix}_CHAIN_ID`)
  const isStaged = staging && mode === 'live'
  for (const [name, text] of [
    [`${prefix}_GENESIS`, genesis],
    [`${prefix}_CHAIN_ID`, id],
  ] as const) {
    if (text !== undefined && !isStaged)
      throw new ConfigError(`${name} names a private chain in the place of live money's: it needs STAGING=1`)
  }
  if (!isStaged || given(env, `${prefix}_RPC_URL`) === undefined) return null
  if (genesis === undefined)
    throw new ConfigError(
      `${prefix}_GENESIS is missing: in staging each live network names its private chain`,
    )
  if (isEvmChain(chain) && id === undefined)
    throw new ConfigError(
      `${prefix}_CHAIN_ID is missing: in staging each live network names its private chain`,
    )
  return {
    genesis: genesisOf(chain)(`${prefix}_GENESIS`, genesis),
    chainId: id === undefined ? null : chainId(`${prefix}_CHAIN_ID`, id),
  }
}

/**
 * A network's token contracts in the place of the issuers', as in `TEST_BASE_USDC_ADDRESS`. Live money has one of each, which
 * no setting changes.
 */
export function readTokenContracts(env: Environment, { chain, mode, staging }: Place): TokenContracts {
  const contracts: { [symbol: string]: string } = {}
  for (const symbol of TOKEN_SYMBOLS) {
    const name = `${mode}_${chain}_${symbol}_ADDRESS`.toUpperCase()
    const text = given(env, name)
    if (text === undefined) continue
    if (!isTokenOf(chain, symbol)) throw new ConfigError(`${name} is not known: remove it`)
    if (mode === 'live' && !staging)
      throw new ConfigError(`${name} needs STAGING=1: live money's contract is its issuer's`)
    contracts[symbol] = (chain === 'solana' ? mintAddress : contractAddress)(name, text)
  }
  return contracts
}

const isTokenOf = (chain: Chain, symbol: string): boolean =>
  Object.values(ASSETS).some(
    (asset) => asset.chain === chain && asset.token !== null && asset.symbol === symbol,
  )

const given = (env: Environment, name: string): string | undefined =>
  env[name] === '' ? undefined : env[name]

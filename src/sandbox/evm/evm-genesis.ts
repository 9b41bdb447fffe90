import { z } from 'zod'
import { ASSETS, tokensOf } from '../../core/assets.ts'
import type { EvmChain } from '../../core/chain/evm-networks.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'

/**
 * The test USDC on the sandbox's Base: where the first transaction of the first account creates a contract
 * (Yellow Paper, 7).
 */
export const SANDBOX_USDC_CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'

/**
 * The test tokens of other chains, whose first account may have sent something before they came: where CREATE2 puts the same
 * bytes, whoever asks for it (EIP-1014), through the contract that anvil has for that from its first block.
 */
const CREATED_CONTRACTS: TokenContracts = {
  USDC: '0x5F07ca59b72553E04Bbf2dEE3155f0b1A9C11782',
  USDT: '0xe6D9C1b11A7583169157e3167eb8C7245274Ca6D',
}
export const CREATE2_CALL = {
  to: '0x4e59b44847b379578588920cA78FbF26c0B4956C',
  /** Stands before the bytes that create the contract. */
  salt: `0x${'00'.repeat(32)}`,
}

/** The contracts of a sandbox chain's test tokens. */
export function sandboxTokensOf(chain: EvmChain): TokenContracts {
  const symbols = tokensOf(chain).map((token) => ASSETS[token].symbol)
  const created = Object.entries(CREATED_CONTRACTS).filter(([symbol]) => symbols.includes(symbol))
  return { ...Object.fromEntries(created), ...(chain === 'base' ? { USDC: SANDBOX_USDC_CONTRACT } : {}) }
}

/** The words that every EVM developer's tools know: play money that anybody may spend in a wallet of theirs. */
const MNEMONIC = 'test test test test test test test test test test test junk'
/** The first account is for whoever tries a wallet; the others pay test payments, one of each at a time. */
const ACCOUNTS = 41
const ETHER_EACH = 1_000_000_000
const GAS_LIMIT = 30_000_000

/** What makes one chain differ from any other of its kind; the same for as long as its folder lives. */
export const genesisSchema = z.object({ chainId: z.int().positive(), timestamp: z.int().positive() })
export type EvmGenesis = z.output<typeof genesisSchema>

/** Blocks come when they are asked for, and the block below the tip is safe, the one below that final. */
export function anvilArguments(genesis: EvmGenesis, snapshot: string | null): readonly string[] {
  return [
    '--no-mining',
    ...['--chain-id', String(genesis.chainId)],
    ...['--timestamp', String(genesis.timestamp)],
    ...['--slots-in-an-epoch', '1'],
    ...['--mnemonic', MNEMONIC],
    ...['--accounts', String(ACCOUNTS)],
    ...['--balance', String(ETHER_EACH)],
    ...['--gas-limit', String(GAS_LIMIT)],
    // A hard fork of a later anvil must not change the blocks that are made again at a start.
    ...['--hardfork', 'prague'],
    ...['--threads', '1'],
    ...(snapshot === null ? [] : ['--load-state', snapshot]),
  ]
}

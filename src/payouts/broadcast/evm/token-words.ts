import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { ChainUnavailable } from '../../../chain/adapter.ts'
import { contractCall, textOfAnswer } from '../../../chain/evm/contract-call.ts'
import { domainSeparatorOf } from '../../../chain/evm/token-authorization.ts'
import type { EvmToken } from '../../../core/chain/evm-parameters.ts'

/** Of a token's EIP-712 domain. */
export type TokenWords = { readonly name: string; readonly version: string }

/** What a function of a contract that only reads answers; `0x` where there is no such contract or function. */
export type ReadContract = (contract: string, data: Uint8Array) => Promise<string>

/**
 * The words under which a token takes signatures, checked against the contract's own separator: a signature under others
 * would be worth nothing. Null where no such contract is there.
 */
export async function readTokenWords(
  read: ReadContract,
  { contract }: EvmToken,
  chainId: number,
): Promise<TokenWords | null> {
  const separator = await read(contract, contractCall('DOMAIN_SEPARATOR()'))
  if (separator === '0x') return null
  const name = textOfAnswer(await read(contract, contractCall('name()')))
  const version = textOfAnswer(await read(contract, contractCall('version()')))
  const domain = { name, version, chainId: BigInt(chainId), contract: hexToBytes(contract.slice(2)) }
  if (separator.toLowerCase() !== `0x${bytesToHex(domainSeparatorOf(domain))}`)
    throw new ChainUnavailable(`the token at ${contract} does not sign as USDC does: correct its address`)
  return { name, version }
}

import { ChainUnavailable } from '../../../chain/adapter.ts'
import { contractCall } from '../../../chain/evm/contract-call.ts'
import { TRANSFER_GAS } from '../../../core/payout/gas.ts'
import type { ReadContract } from './token-words.ts'

/** The chain's own contract that says what a place on Ethereum costs, and the operator (OP Stack since Isthmus). */
const GAS_ORACLE = '0x420000000000000000000000000000000000000f'
/** More bytes than a signed plain transfer has. */
const TRANSFER_BYTES = 200n

/**
 * What a plain transfer pays at most for its place on Ethereum, and to the operator, wei, on a network with the OP Stack; a
 * private chain has no such contract.
 */
export async function placeOnEthereum(
  read: ReadContract,
  {
    isolated,
    where,
    gasPriceMax,
  }: { readonly isolated: boolean; readonly where: string; readonly gasPriceMax: bigint },
): Promise<bigint> {
  const place = await read(GAS_ORACLE, contractCall('getL1FeeUpperBound(uint256)', TRANSFER_BYTES))
  const operator = await read(GAS_ORACLE, contractCall('getOperatorFee(uint256)', TRANSFER_GAS))
  if (place !== '0x') {
    const fee = BigInt(place) + (operator === '0x' ? 0n : BigInt(operator))
    const most = gasPriceMax * TRANSFER_GAS
    return fee > most ? most : fee
  }
  if (isolated) return 0n
  throw new ChainUnavailable(`the node at ${where} does not say what a place on Ethereum costs`)
}

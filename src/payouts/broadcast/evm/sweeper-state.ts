import { hexToBytes } from '@noble/hashes/utils.js'
import { z } from 'zod'
import { encodeEvmAddress } from '../../../chain/evm/address.ts'
import { bytes, type EvmSent } from '../../../chain/evm/evm-answers.ts'
import type { EvmNode } from '../../../chain/evm/evm-node.ts'
import {
  CREATE2_DEPLOYER,
  CREATE2_DEPLOYER_CODE,
  delegatedTo,
  sweeperCodeOf,
  sweeperOf,
} from '../../../chain/evm/sweeper.ts'
import { delegatorOf } from '../../../chain/evm/transaction.ts'

/**
 * How far a hot wallet's sweeper has come, by which deposits of tokens without signatures are swept. `settling`: it is there,
 * and a reorganisation may still take it away. `problem`: why it cannot be there, and what to do.
 */
export type SweeperState =
  | { readonly kind: 'ready' | 'settling' | 'absent' }
  | { readonly kind: 'problem'; readonly problem: string }

/** A header since the fork with which addresses can be delegated (Prague; EIP-7685 came with EIP-7702). */
const headerSchema = z.object({ requestsHash: z.string().nullish() })

const codeAt = (node: EvmNode, address: Uint8Array, at: 'latest' | 'finalized') =>
  node.rpc.call('eth_getCode', [encodeEvmAddress(address), at], bytes)

/** See `SweeperState`. What calls the sweeper where it is not does nothing and succeeds: it counts once it is final. */
export async function readSweeper(node: EvmNode, hot: Uint8Array): Promise<SweeperState> {
  const { requestsHash } = await node.rpc.call('eth_getBlockByNumber', ['latest', false], headerSchema)
  if (requestsHash == null)
    return problem(`the chain of the node at ${node.rpc.where} knows no EIP-7702 (Ethereum's Prague)`)
  const sweeper = sweeperOf(hot)
  const latest = await codeAt(node, sweeper, 'latest')
  if (latest !== '0x' && latest !== sweeperCodeOf(hot))
    return problem(
      `the node at ${node.rpc.where} has other code at ${encodeEvmAddress(sweeper)} than our own`,
    )
  if (latest !== '0x')
    return { kind: (await codeAt(node, sweeper, 'finalized')) === latest ? 'ready' : 'settling' }
  if ((await codeAt(node, CREATE2_DEPLOYER, 'latest')) === CREATE2_DEPLOYER_CODE) return { kind: 'absent' }
  const deployer = encodeEvmAddress(CREATE2_DEPLOYER)
  return problem(
    `the chain of the node at ${node.rpc.where} lacks the CREATE2 deployer at ${deployer}: put it there`,
  )
}

const problem = (text: string): SweeperState => ({ kind: 'problem', problem: text })

/** Whether a deposit address runs the sweeper of this hot wallet at the newest block. */
export async function isDelegated(node: EvmNode, deposit: Uint8Array, hot: Uint8Array): Promise<boolean> {
  return (await codeAt(node, deposit, 'latest')) === delegatedTo(sweeperOf(hot))
}

/**
 * Whether a transaction uses up this nonce of an account (lower-case hex with 0x), as its sender's or by a delegation of it
 * that it carries. Of which chain that is does not matter: one of another chain uses up nothing, and nothing follows from it
 * where the nonce is not gone.
 */
export const usesNonce = (sent: EvmSent, account: string, nonce: number): boolean =>
  (sent.from === account && sent.nonce === nonce) ||
  (sent.authorizationList ?? []).some(
    (item) =>
      item?.nonce === nonce &&
      delegatorOf({
        chainId: item.chainId,
        to: hexToBytes(item.address.slice(2)),
        nonce: BigInt(item.nonce),
        parity: item.yParity === 0n ? 0 : 1,
        r: item.r,
        s: item.s,
      }) === account,
  )

import { randomBytes } from 'node:crypto'
import { encodeEvmAddress } from '../../../chain/evm/address.ts'
import { quantity } from '../../../chain/evm/evm-answers.ts'
import type { EvmNode } from '../../../chain/evm/evm-node.ts'
import { EvmRpcError } from '../../../chain/evm/evm-rpc.ts'
import type { DataFee } from '../../../core/chain/evm-registry.ts'
import { DESTINATION_GAS_MAX, TRANSFER_GAS } from '../../../core/payout/gas.ts'

const ADDRESS_BYTES = 20
/** A destination's gas is estimated for the state of now, and may grow by a quarter. */
const ROOM = { times: 5n, parts: 4n }
/** How an execution ends that did not revert: geth's words, Nethermind's, and the names that revm gives them. */
const HALT_PATTERN =
  /invalid (opcode|jump)|gas spent exceeded|NotActivated|BadInstruction|(StaticCall|Access)Violation|PrecompileFailure|InvalidCode|stack (underflow|overflow|limit)|out of (bounds|gas|offset)|write protection|uint64 overflow|Invalid(Jump|FEOpcode)|OpcodeNotFound|Stack(Over|Under)flow|OutOf(Offset|Gas)/
export const REVERT_PATTERN =
  /revert|vm execution error|invalid opcode|out of gas|gas required exceeds|stack underflow/i

/** A payment's data and that of another to another address are as long, but for what compression makes of the address. */
const DATA_ROOM_PARTS = 32n

/** Of native coin, wei, between addresses of 20 bytes. */
export type Payment = { readonly from: Uint8Array; readonly to: Uint8Array; readonly value: bigint }

const hex = (value: bigint) => `0x${value.toString(16)}`

/**
 * What the data of a plain transfer takes, in gas, where the network charges for it so (`dataFee` is `in_gas`): what the node
 * estimates for a payment of this account (20 bytes), without code, to itself is that and what the transfer itself takes.
 */
export async function dataGasOf(node: EvmNode, account: Uint8Array, value = 0n): Promise<bigint> {
  const own = encodeEvmAddress(account)
  const call = { from: own, to: own, value: hex(value) }
  const estimate = await node.rpc.call('eth_estimateGas', [call], quantity)
  return estimate > TRANSFER_GAS ? estimate - TRANSFER_GAS : 0n
}

/**
 * How much gas a payment of native coin to this address takes, with room, and without its data; 0 where the address refuses
 * it, or takes more than any may. Throws `EvmRpcError` where the node says something else.
 */
export async function gasOf(node: EvmNode, payment: Payment, dataFee: DataFee): Promise<bigint> {
  const [from, to] = [encodeEvmAddress(payment.from), encodeEvmAddress(payment.to)]
  try {
    const data = dataFee === 'in_gas' ? await dataGasOf(node, payment.from, payment.value) : 0n
    // The code there may be anybody's, and the node runs no more of it than would be paid for.
    const call = { from, to, value: hex(payment.value), gas: hex(DESTINATION_GAS_MAX + data) }
    const estimate = (await node.rpc.call('eth_estimateGas', [call], quantity)) - data
    if (estimate <= TRANSFER_GAS + data / DATA_ROOM_PARTS) return TRANSFER_GAS
    const gas = (estimate * ROOM.times) / ROOM.parts
    return gas > DESTINATION_GAS_MAX ? 0n : gas
  } catch (error) {
    const message = error instanceof EvmRpcError && error.kind === 'other' ? error.message : ''
    if (REVERT_PATTERN.test(message) || HALT_PATTERN.test(message)) return 0n
    throw error
  }
}

/** Asked about again and again, so that whoever keeps answers may answer as before. */
const UNUSED_ADDRESS = randomBytes(ADDRESS_BYTES)

/**
 * The same for an address that nobody has used, where a state grows by an account (EIP-8037); what any payment takes where
 * the node does not say, says too much, or `account` has nothing to send.
 */
export async function newAccountGasOf(node: EvmNode, account: Uint8Array, dataFee: DataFee): Promise<bigint> {
  try {
    const gas = await gasOf(node, { from: account, to: UNUSED_ADDRESS, value: 1n }, dataFee)
    // More than any payment may use: each is refused by itself, and those to known addresses go on.
    return gas === 0n ? TRANSFER_GAS : gas
  } catch (error) {
    if (error instanceof EvmRpcError) return TRANSFER_GAS
    throw error
  }
}

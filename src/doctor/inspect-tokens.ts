import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { textOfAnswer } from '../chain/evm/contract-call.ts'
import { bytes } from '../chain/evm/evm-answers.ts'
import type { EvmNode } from '../chain/evm/evm-node.ts'
import { ASSETS } from '../core/assets.ts'
import { type EvmToken, evmTokensOf } from '../core/chain/evm-parameters.ts'
import { realmOf } from '../core/chain/realm.ts'
import type { EvmChainNode } from '../nodes/chain-nodes.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** `symbol()`. */
const SYMBOL_CALL = '0x95d89b41'

/** What stands at the address of each token of a network: whether it is one, what it calls itself, and its code. */
export async function inspectTokens(node: EvmChainNode, asked: EvmNode): Promise<Finding[]> {
  const tokens = evmTokensOf(node.network, realmOf(node), node.usdcContract)
  return Promise.all(tokens.map((token) => inspectToken(node, asked, token)))
}

async function inspectToken({ network }: EvmChainNode, asked: EvmNode, token: EvmToken): Promise<Finding> {
  const { asset, contract, decimals } = token
  const where = `${network}: ${asset} at ${contract}`
  const code = await asked.rpc.call('eth_getCode', [contract, 'latest'], bytes)
  if (code === '0x') return notice(`${where}: no contract there, so it cannot be paid or paid out`)
  const found = await asked.decimalsOf(contract)
  const symbol = textOfAnswer(
    await asked.rpc.call('eth_call', [{ to: contract, data: SYMBOL_CALL }, 'latest'], bytes),
  )
  const hash = bytesToHex(keccak_256(hexToBytes(code.slice(2))))
  const said = `${where} calls itself ${symbol}, has ${found} decimals, and code 0x${hash}`
  if (symbol === ASSETS[asset].symbol && found === decimals) return ok(said)
  return fault(`${said}: it is another token than ${asset}; correct the contract, or use another node`)
}

import { parseTransaction } from 'viem'
import type { Anvil } from './anvil.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'

/** What blocks of Polygon take at least (PIP-35). */
export const BOR_TIP_MIN = 25_000_000_000n

/** An anvil that answers as a node of Polygon does (bor): it knows no `safe` block, and takes no tip below 25 gwei. */
export async function startBorNode(anvil: Anvil): Promise<RpcProxy> {
  const proxy = await startRpcProxy(anvil.url)
  proxy.lie('eth_getBlockByNumber', (answer, { params: [place] }) => {
    if (place === 'safe') throw Object.assign(new Error('safe block not found'), { code: -32_000 })
    return answer
  })
  proxy.lie('eth_sendRawTransaction', (answer, { params: [raw] }) => {
    const { maxPriorityFeePerGas: tip = 0n } = parseTransaction(raw as `0x02${string}`)
    if (tip >= BOR_TIP_MIN) return answer
    throw new Error(`transaction underpriced: gas tip cap ${tip}, minimum needed ${BOR_TIP_MIN}`)
  })
  return proxy
}

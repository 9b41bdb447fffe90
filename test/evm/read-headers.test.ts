import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hex } from '../support/anvil.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Headers that the walk read are remembered, and may be of a chain that we are not on. */

let watched: WatchedChain<DrivenAnvil>
let proxy: RpcProxy
beforeEach(async () => {
  watched = await WatchedChain.open(evmDriver('ETH'))
  proxy = await startRpcProxy(watched.chain.url)
})
afterEach(async () => {
  await watched.close()
  await proxy.close()
})

/** The node is on a branch of its own at this height, until the truth is told. */
function onAnotherFork(height: number): string {
  const other = `0x${randomBytes(32).toString('hex')}`
  proxy.lie('eth_getBlockByNumber', (result) => {
    const block = result as { number: string } | null
    if (block?.number !== hex(BigInt(height))) return result
    return { ...block, hash: other, logsBloom: `0x${'0'.repeat(512)}`, transactions: [] }
  })
  return other
}

test('after a step onto another branch that was not taken, tokens are read on ours', async () => {
  const { anvil } = watched.chain
  await anvil.mine(3)
  const adapter = watched.chain.adapter(proxy.url)
  const { tokens } = adapter
  if (tokens === undefined) throw new Error('no tokens are read')
  await adapter.connect()
  const below = await adapter.tip()
  await anvil.mine(1)
  const [ours] = (await adapter.nextUpdate(below, 100))?.blocks ?? []
  if (ours === undefined) throw new Error('nothing was read')
  const other = onAnotherFork(ours.block.height)
  const left = await adapter.nextUpdate(ours.block, 100)
  expect(left?.blocks.map(({ block }) => block.hash)).toEqual([other])
  // What was read could not be recorded, and the node came back meanwhile.
  proxy.tellTheTruth()
  expect(await adapter.nextUpdate(ours.block, 100)).toBeNull()
  expect((await tokens.prove(below, ours.block.height))?.end).toEqual(ours.block)
  await anvil.mine(2)
  const above = (await adapter.nextUpdate(ours.block, 100))?.blocks.at(-1)?.block
  expect((await tokens.prove(below, ours.block.height + 2))?.end).toEqual(above)
  await adapter.close()
})

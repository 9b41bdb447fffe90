import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import type { EvmChain } from '../../src/core/chain/evm-networks.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { startBorNode } from '../support/bor-node.ts'
import { deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import type { RpcProxy } from '../support/rpc-proxy.ts'

const USDC = 1_000_000n
/** As deep as Polygon was reorganised once (February 2023), and more than Ethereum takes back. */
const DEPTH = 157

let anvil: Anvil
let token: TestToken
let node: RpcProxy
beforeAll(async () => {
  anvil = await startAnvil()
  token = await deployTestToken(anvil)
  node = await startBorNode(anvil)
})
afterAll(async () => {
  await node?.close()
  await anvil?.remove()
})

/** A watcher of one address from the newest block on. */
async function follow(chain: EvmChain) {
  const { address, addressBytes } = newEvmAddress()
  const adapter = new EvmAdapter({
    chain,
    livemode: false,
    url: node.url,
    setting: 'the test',
    clock: systemClock,
    tokenContracts: { USDC: token.contract },
    openAddresses: async () => [addressBytes],
  })
  adapter.watched.add([addressBytes])
  await adapter.connect()
  let checkpoint = await adapter.tip()
  /** What blocks that came since it was last asked hold, and below which block they begin. */
  const found = async () => {
    const transfers = []
    let from = checkpoint.height
    for (;;) {
      const update = await adapter.nextUpdate(checkpoint, 100)
      if (update === null || update.blocks.length === 0) return { transfers, from, checkpoint }
      from = Math.min(from, update.ancestor.height)
      for (const { transfers: those, block } of update.blocks) {
        transfers.push(...those)
        checkpoint = block
      }
    }
  }
  return { address, adapter, found, close: () => adapter.close() }
}

test('on Polygon what is finalized is safe too, for its nodes know no safe block', async () => {
  const { adapter, close } = await follow('polygon')
  try {
    await anvil.mine(5)
    const { number } = await anvil.rpc<{ number: string }>('eth_getBlockByNumber', ['finalized', false])
    expect(Number(number)).toBeGreaterThan(0)
    const heights = { safe: Number(number), finalized: Number(number) }
    expect(await adapter.readBlockTags(await adapter.tip())).toEqual(heights)
  } finally {
    await close()
  }
})

test('a reorganisation of 157 blocks takes a payment back on Polygon, and halts Ethereum', async () => {
  const polygon = await follow('polygon')
  const ethereum = await follow('ethereum')
  try {
    const start = await anvil.height()
    const paid = await anvil.send(token.mint(polygon.address, 5n * USDC))
    await anvil.mine(DEPTH)
    const { transfers } = await polygon.found()
    expect(transfers).toMatchObject([{ txid: paid, asset: 'USDC_POLYGON', amount: 5n * USDC }])
    await ethereum.found()
    await anvil.reorganise(DEPTH, () => true)
    const after = await polygon.found()
    expect([after.from, after.transfers]).toEqual([start, []])
    expect(after.checkpoint.hash).toBe((await polygon.adapter.tip()).hash)
    await expect(ethereum.found()).rejects.toThrow(/left the chain more than 128 blocks/)
  } finally {
    await polygon.close()
    await ethereum.close()
  }
})

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ChainHalted } from '../../src/chain/adapter.ts'
import { ProviderGroup } from '../../src/chain/provider-group.ts'
import type { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'

type Head = { parentSlot: number; previousBlockhash: string }

let solana: DrivenSolana
let proxy: RpcProxy
let adapters: SolanaAdapter[]
let group: ProviderGroup
beforeAll(async () => {
  solana = await solanaDriver('blocks').start()
})
beforeEach(async () => {
  proxy = await startRpcProxy(solana.url)
  adapters = [solana.adapter(), solana.adapter(proxy.url)]
  const [first, second] = adapters
  if (first === undefined || second === undefined) throw new Error('two adapters were made')
  group = new ProviderGroup({ name: 'one', chain: first }, [{ name: 'other', chain: second }], systemClock)
  await group.connect()
})
afterEach(async () => {
  await Promise.all(adapters.map((adapter) => adapter.close()))
  await proxy.close()
})
afterAll(() => solana.remove())

/** A block of the chain with two more on top of it. */
async function blockBelowTip() {
  await solana.mine(1)
  const block = await group.tip()
  await solana.mine(2)
  return { ...block, reached: block.height }
}

/** The other provider's chain goes past the slot: it lists none there, and the next block stands on an earlier slot. */
const passOver = (slot: number, parentSlot = slot - 1) => {
  proxy.lie('getBlocks', (told) => (told as number[]).filter((each) => each !== slot))
  proxy.lie('getBlock', (told, { params }) =>
    params[0] === slot + 1 ? { ...(told as Head), parentSlot } : told,
  )
}

test('a block where another provider’s chain has none is a disagreement, and nothing is credited', async () => {
  const block = await blockBelowTip()
  expect(await group.agreedBlocks([block])).toEqual(new Set([block.hash]))
  passOver(block.height)
  const asked = group.agreedBlocks([block])
  await expect(asked).rejects.toThrow(ChainHalted)
  await expect(asked).rejects.toThrow(/other has no block .* follows slot/)
})

test('a provider that merely lacks the block is waited for', async () => {
  const block = await blockBelowTip()
  passOver(block.height, block.height)
  expect(await group.agreedBlocks([block])).toEqual(new Set())
  expect(group.notice).toMatch(/wait.* for another provider/)
  proxy.tellTheTruth()
  expect(await group.agreedBlocks([block])).toEqual(new Set([block.hash]))
})

test('a balance beyond 2⁵³ lamports is read to its last digit', async () => {
  const server = createServer((request, response) => {
    request.resume()
    const accounts = ['18446744073709551615', '9007199254740993', '5'].map(
      (lamports) => `{"lamports":${lamports},"owner":"${'1'.repeat(32)}","data":["","base64"]}`,
    )
    response.end(`{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":7},"value":[${accounts}]}}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const rpc = new SolanaRpc(`http://127.0.0.1:${port}`, 'TEST_SOLANA_RPC_URL')
  try {
    const owners = [await solana.newAddress(), await solana.newAddress(), await solana.newAddress()]
    const { balances } = await rpc.balancesOf(
      owners.map((owner) => owner.address),
      0,
    )
    const lamports = balances.map((balance) => balance.lamports)
    expect(lamports).toEqual([18446744073709551615n, 9007199254740993n, 5n])
  } finally {
    await rpc.close()
    server.close()
  }
})

test('what is final is said by a provider that was never followed, also one that is some slots behind', async () => {
  await solana.mine(3)
  const below = await group.tip()
  expect(await group.readBlockTags?.(below)).toEqual({ safe: below.height, finalized: below.height })
  await solana.mine(2)
  const tip = await group.tip()
  proxy.lie('getSlot', () => below.height)
  expect(await group.readBlockTags?.(tip)).toEqual({ safe: below.height, finalized: below.height })
  proxy.tellTheTruth()
  expect(await group.readBlockTags?.(tip)).toEqual({ safe: tip.height, finalized: tip.height })
})

test('a fork that a provider was never asked to follow leaves it able to say what is final', async () => {
  await solana.mine(3)
  const left = await group.tip()
  expect(await group.readBlockTags?.(left)).not.toBeNull()
  await solana.reorganise(2)
  await solana.mine(1)
  expect(await group.readBlockTags?.(left)).toBeNull()
  const tip = await group.tip()
  expect(await group.readBlockTags?.(tip)).toEqual({ safe: tip.height, finalized: tip.height })
})

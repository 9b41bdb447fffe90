import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, hex, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'

const ETHER = 10n ** 18n
const BLOCKS = 48
const PLAIN_GAS = 21_000n
const GAS_PRICE = 10n ** 11n

let anvil: Anvil
let proxy: RpcProxy
let payer: string
let start: BlockRef
const [first, second, swept, emptied, spender] = Array.from({ length: 5 }, newEvmAddress).map(
  ({ address }) => address,
) as [string, string, string, string, string]
const watched = [first, second, swept, emptied, spender]

const byContract = (to: readonly string[], amount: bigint) => {
  const data = callData(
    'pay(address[],uint256[])',
    to,
    to.map(() => amount),
  )
  return anvil.send({ to: payer, data, value: amount * BigInt(to.length), gas: 300_000 })
}
/** An address of ours spends by its own key. */
async function spend(from: string, to: string, value: bigint): Promise<void> {
  await anvil.rpc('anvil_impersonateAccount', [from])
  const fee = { gas: hex(PLAIN_GAS), gasPrice: hex(GAS_PRICE) }
  await anvil.rpc('eth_sendTransaction', [{ from, to, value: hex(value), ...fee }])
}

/** What happens in the blocks of these numbers; in all others, a stranger pays a stranger. */
const ACTIONS: { readonly [block: number]: () => Promise<unknown> } = {
  2: () => anvil.send({ to: spender, value: 2n * ETHER }),
  3: () => byContract([first, second], 3n),
  5: () => anvil.send({ to: first, value: 4n }),
  6: () => byContract([swept], ETHER),
  8: () => byContract([emptied], ETHER),
  // After this it holds what it held before block 8.
  17: () => spend(emptied, newEvmAddress().address, ETHER - PLAIN_GAS * GAS_PRICE),
  20: async () => {
    await spend(swept, newEvmAddress().address, ETHER / 2n)
    await byContract([swept], 7n)
  },
  22: () => spend(swept, second, 11n),
  23: () => spend(swept, swept, 5n),
  30: async () => anvil.send({ data: `0x73${second.slice(2)}ff`, value: 9n, gas: 200_000 }),
  31: () => anvil.send({ to: payer, data: '0xdeadbeef', gas: 100_000 }).catch(() => {}),
  // Comes in and goes again in one block.
  40: async () => {
    await byContract([spender], ETHER)
    await spend(spender, newEvmAddress().address, ETHER - PLAIN_GAS * GAS_PRICE)
  },
  47: () => byContract([first], 5n),
}

beforeAll(async () => {
  anvil = await startAnvil()
  payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
  proxy = await startRpcProxy(anvil.url)
  const adapter = newAdapter()
  await adapter.connect()
  start = await adapter.tip()
  await adapter.close()
  for (let block = 1; block <= BLOCKS; block++) {
    await anvil.send({ to: newEvmAddress().address, value: 1n })
    await ACTIONS[block]?.()
    await anvil.mine(1)
  }
})
beforeEach(() => proxy.tellTheTruth())
afterAll(async () => {
  await proxy.close()
  await anvil.remove()
})

function newAdapter(): EvmAdapter {
  const options = { chain: 'ethereum', livemode: false, setting: 'TEST_ETHEREUM_RPC_URL' } as const
  const adapter = new EvmAdapter({ ...options, url: proxy.url, clock: systemClock, nativeMode: 'traces' })
  adapter.watched.add(watched.map((address) => Buffer.from(address.slice(2), 'hex')))
  return adapter
}

/** What these blocks credit, read so many at a time, and how often each method was called meanwhile. */
async function read(adapter: EvmAdapter, blocksAtOnce: number, from = start) {
  await adapter.connect()
  const before = proxy.calls.length
  const found: { block: string; transfers: unknown[] }[] = []
  let checkpoint = from
  for (;;) {
    const update = await adapter.nextUpdate(checkpoint, blocksAtOnce)
    if (update === null) break
    for (const { block, transfers } of update.blocks)
      found.push({ block: block.hash, transfers: [...transfers] })
    checkpoint = update.blocks.at(-1)?.block ?? checkpoint
  }
  await adapter.close()
  const calls = proxy.calls.slice(before)
  return { found, callsOf: (method: string) => calls.filter((each) => each === method).length }
}

test('of many blocks few are traced, and what is found is what is found in each by itself', async () => {
  const singly = await read(newAdapter(), 1)
  expect(singly.callsOf('debug_traceBlockByHash')).toBe(BLOCKS)
  expect(singly.found.flatMap(({ transfers }) => transfers)).toHaveLength(11)
  for (const blocksAtOnce of [12, 16, BLOCKS]) {
    const together = await read(newAdapter(), blocksAtOnce)
    expect(together.found).toEqual(singly.found)
    expect(together.callsOf('debug_traceBlockByHash')).toBeLessThan(BLOCKS / 2)
    expect(together.callsOf('eth_call')).toBeLessThan(BLOCKS)
  }
})

test('where the node has put away old balances, each block is traced, and they are not asked for again', async () => {
  const singly = await read(newAdapter(), 1)
  proxy.lie('eth_call', () => {
    throw new Error('missing trie node')
  })
  const together = await read(newAdapter(), 16)
  expect(together.found).toEqual(singly.found)
  // Each end of the first blocks alone.
  expect(together.callsOf('eth_call')).toBeLessThanOrEqual(12)
})

test('where so many addresses are watched that their balances cost more, each block is traced', async () => {
  const singly = await read(newAdapter(), 1)
  const adapter = newAdapter()
  adapter.watched.add(Array.from({ length: 100_000 }, () => randomBytes(20)))
  const together = await read(adapter, BLOCKS)
  expect(together.found).toEqual(singly.found)
  expect(together.callsOf('eth_call')).toBe(0)
})

const failing = (message: string) => () => {
  throw new Error(message)
}
/** What a node may do to questions that it was never asked before it was caught up with like this. */
const REFUSALS: readonly (readonly [what: string, refuse: () => void])[] = [
  ['takes no state override, and says nothing of it', () => proxy.lie('eth_call', () => '0x')],
  [
    'gives the same balances for every block',
    () => proxy.lie('eth_call', (balances) => (balances as string).replace(/[1-9a-f]/g, '0')),
  ],
  ['refuses calls of that size as a whole', () => proxy.forbid(({ method }) => method === 'eth_call')],
  [
    'gives no block with its transactions in full',
    () =>
      proxy.lie('eth_getBlockByNumber', (block, { params }) =>
        params[1] === true ? failing('too large')() : block,
      ),
  ],
  [
    'has a transaction in full that is like no other',
    () =>
      proxy.lie('eth_getBlockByNumber', (block, { params }) => {
        const { transactions } = block as { transactions: object[] }
        return params[1] === true
          ? { ...(block as object), transactions: transactions.map(() => ({})) }
          : block
      }),
  ],
]

for (const [what, refuse] of REFUSALS) {
  test(`each block is traced on a node that ${what}`, async () => {
    const singly = await read(newAdapter(), 1)
    refuse()
    const together = await read(newAdapter(), 16)
    expect(together.found).toEqual(singly.found)
    // Those of the first blocks that are ours may have been traced before.
    expect(together.callsOf('debug_traceBlockByHash')).toBeGreaterThanOrEqual(BLOCKS)
    expect(together.callsOf('eth_call')).toBeLessThan(BLOCKS / 4)
  })
}

test('a node that gives little gas to a call is not asked for balances a few at a time', async () => {
  const singly = await read(newAdapter(), 1)
  const ADDRESS_DIGITS = 40
  proxy.lie('eth_call', (balances, { params: [call] }) => {
    const { data } = call as { data: string }
    return data.length > 2 + 100 * ADDRESS_DIGITS ? failing('out of gas')() : balances
  })
  const adapter = newAdapter()
  adapter.watched.add(Array.from({ length: 20_000 }, () => randomBytes(20)))
  const together = await read(adapter, 16)
  expect(together.found).toEqual(singly.found)
  expect(together.callsOf('eth_call')).toBeLessThan(40)
})

test('a provider that answers no more calls for now is not asked for more traces instead', async () => {
  const singly = await read(newAdapter(), 1)
  const adapter = newAdapter()
  proxy.lie('eth_call', () => {
    throw Object.assign(new Error('too many requests'), { code: 429 })
  })
  await expect(read(adapter, 16)).rejects.toThrow('too many requests')
  proxy.tellTheTruth()
  const together = await read(adapter, 16)
  expect(together.found).toEqual(singly.found)
  expect(together.callsOf('debug_traceBlockByHash')).toBeLessThan(BLOCKS / 2)
})

/** One node of several behind an address has come to this block, and answers a call for it whatever block was asked for. */
function lagAt(block: number, isOfIt: (calls: number) => boolean): void {
  let calls = 0
  const own = hex(BigInt(start.height + block))
  proxy.askInstead('eth_call', ({ params: [call, asked, override] }) => {
    calls += 1
    return [call, isOfIt(calls) ? own : asked, override]
  })
}

test.each([1, 7, 25, 44, BLOCKS])('balances that once are those of block %d hide nothing', async (block) => {
  const singly = await read(newAdapter(), 1)
  // Both ends first, then what was held between.
  for (const nth of [1, 2, 3, 4, 5, 6]) {
    proxy.tellTheTruth()
    lagAt(block, (calls) => calls === nth)
    expect((await read(newAdapter(), BLOCKS)).found).toEqual(singly.found)
  }
  lagAt(block, () => true)
  expect((await read(newAdapter(), BLOCKS)).found).toEqual(singly.found)
})

test('of more balances than one call gives, each call is held to what traces leave', async () => {
  const singly = await read(newAdapter(), 1)
  const ADDRESS_DIGITS = 40
  const own = hex(BigInt(start.height + 44))
  // Of the calls for the last balances, the first ones are answered by the node that has not come so far.
  proxy.askInstead('eth_call', ({ params: [call, asked, override] }) => {
    const { data } = call as { data: string }
    const isOfMany = data.length > 15_000 * ADDRESS_DIGITS
    const { blockHash } = asked as { blockHash: string }
    return [call, isOfMany && blockHash === singly.found.at(-1)?.block ? own : asked, override]
  })
  const adapter = newAdapter()
  adapter.watched.add(Array.from({ length: 20_000 }, () => randomBytes(20)))
  expect((await read(adapter, BLOCKS)).found).toEqual(singly.found)
})

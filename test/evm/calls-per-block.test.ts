import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'

const BLOCKS = 5
const ADDRESS_BYTES = 20

let anvil: Anvil
let token: TestToken
beforeAll(async () => {
  anvil = await startAnvil()
  token = await deployTestToken(anvil)
})
afterAll(() => anvil.remove())

/** So many addresses, drawn at once: to draw a million one by one takes longer than all that is asked about them. */
function randomAddresses(count: number): Buffer[] {
  const drawn = randomBytes(ADDRESS_BYTES * count)
  return Array.from({ length: count }, (_, index) =>
    drawn.subarray(index * ADDRESS_BYTES, (index + 1) * ADDRESS_BYTES),
  )
}

/** Calls for each new block, in one of which somebody else is paid, with these addresses watched. */
async function callsPerBlock(
  chain: 'ethereum' | 'base',
  nativeMode: 'traces' | 'balances',
  addresses: readonly Buffer[],
) {
  const proxy = await startRpcProxy(anvil.url)
  const adapter = new EvmAdapter({
    chain,
    livemode: false,
    url: proxy.url,
    setting: 'TEST_RPC_URL',
    clock: systemClock,
    nativeMode,
    tokenContracts: chain === 'base' ? { USDC: token.contract } : {},
    openAddresses: async () => addresses,
  })
  try {
    adapter.watched.add(addresses)
    await adapter.connect()
    let checkpoint = await adapter.tip()
    let calls = 0
    for (let block = 0; block <= BLOCKS; block++) {
      await anvil.send({ to: newEvmAddress().address, value: 1n })
      await anvil.send(token.mint(newEvmAddress().address, 1n))
      await anvil.mine(1)
      const before = proxy.calls.length
      const update = await adapter.nextUpdate(checkpoint, 10)
      // The first block also asks for the balances before it.
      if (block > 0) calls += proxy.calls.length - before
      checkpoint = update?.blocks.at(-1)?.block ?? checkpoint
    }
    return calls / BLOCKS
  } finally {
    await adapter.close()
    await proxy.close()
  }
}

test.each([10, 10_000, 1_000_000])(
  'a block costs two calls with traces, and one more for USDC, with %i addresses',
  async (count) => {
    const addresses = randomAddresses(count)
    expect(await callsPerBlock('ethereum', 'traces', addresses)).toBe(2)
    expect(await callsPerBlock('base', 'traces', addresses)).toBe(3)
  },
  120_000,
)

test.each([
  [10, 3],
  [10_000, 3],
  [100_000, 9],
])(
  'without traces a block with %i open checkouts costs %i calls, and one more for USDC',
  async (count, calls) => {
    const addresses = randomAddresses(count)
    expect(await callsPerBlock('ethereum', 'balances', addresses)).toBe(calls)
    expect(await callsPerBlock('base', 'balances', addresses)).toBe(calls + 1)
  },
  120_000,
)

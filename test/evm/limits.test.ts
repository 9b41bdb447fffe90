import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BlockRef, ChainUnavailable } from '../../src/chain/adapter.ts'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { deployTestToken, type TestToken } from '../support/evm-contracts.ts'
import { type Lie, startRpcProxy } from '../support/rpc-proxy.ts'

const BLOCKS = 60
const ATTEMPTS_MAX = 200

let anvil: Anvil
let token: TestToken
beforeAll(async () => {
  anvil = await startAnvil()
  token = await deployTestToken(anvil)
})
afterAll(() => anvil.remove())

const tooLarge: Lie = (logs, { params }) => {
  const { fromBlock, toBlock } = params[0] as { fromBlock?: string; toBlock?: string }
  if (Number(toBlock ?? 0) - Number(fromBlock ?? 0) >= 7) throw new Error('block range is too large')
  return logs
}

/** Fails at each n-th call. */
function everyFew(few: number): Lie {
  let calls = 0
  return (told) => {
    calls += 1
    if (calls % few === 0) throw new Error('rate limit exceeded')
    return told
  }
}

test.each<[string, string, () => Lie]>([
  ['ranges of more than seven blocks', 'eth_getLogs', () => tooLarge],
  ['every seventh trace', 'debug_traceBlockByHash', () => everyFew(7)],
  ['every eleventh header', 'eth_getBlockByNumber', () => everyFew(11)],
])(
  'a provider that refuses %s is caught up with all the same, each payment once',
  async (_what, method, lie) => {
    const proxy = await startRpcProxy(anvil.url)
    const adapter = new EvmAdapter({
      chain: 'base',
      livemode: false,
      url: proxy.url,
      setting: 'TEST_BASE_RPC_URL',
      clock: systemClock,
      usdcContract: token.contract,
    })
    try {
      const { address, program } = newEvmAddress()
      adapter.watched.add([program])
      await adapter.connect()
      let checkpoint: BlockRef = await adapter.tip()
      const sent: string[] = []
      for (let block = 0; block < BLOCKS; block++) {
        sent.push(await anvil.send(block % 2 === 0 ? token.mint(address, 5n) : { to: address, value: 5n }))
        await anvil.mine(1)
      }
      proxy.lie(method, lie())
      const found: string[] = []
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        try {
          const update = await adapter.nextUpdate(checkpoint, 100)
          if (update === null) break
          found.push(...update.blocks.flatMap(({ transfers }) => transfers.map(({ txid }) => txid)))
          checkpoint = update.blocks.at(-1)?.block ?? checkpoint
        } catch (error) {
          if (!(error instanceof ChainUnavailable)) throw error
        }
      }
      expect(found).toEqual(sent)
    } finally {
      await adapter.close()
      await proxy.close()
    }
  },
)

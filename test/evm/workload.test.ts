import { afterAll, beforeAll, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { EvmWorkload } from '../support/evm-workload.ts'
import { seededRandom } from '../support/random.ts'

const SEED = 20_261_121
const IS_LONG = process.env.LONG !== undefined
const TRANSFERS = IS_LONG ? 10_000 : 300
const BLOCKS_PER_STEP = 20

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil()
})
afterAll(() => anvil.remove())

/** What an adapter has told of each block that is on its chain now, summed for each block, address and asset. */
class Follower {
  readonly adapter: EvmAdapter
  readonly start: BlockRef
  checkpoint: BlockRef
  #blocks: { readonly height: number; readonly sums: ReadonlyMap<string, bigint> }[] = []
  readonly #names = new Set<string>()

  constructor(adapter: EvmAdapter, checkpoint: BlockRef) {
    this.adapter = adapter
    this.start = checkpoint
    this.checkpoint = checkpoint
  }

  async follow(): Promise<void> {
    for (;;) {
      const update = await this.adapter.nextUpdate(this.checkpoint, BLOCKS_PER_STEP)
      if (update === null) return
      this.#blocks = this.#blocks.filter(({ height }) => height <= update.ancestor.height)
      for (const { block, transfers } of update.blocks) {
        const sums = new Map<string, bigint>()
        for (const { addressBytes, asset, amount, txid, outputIndex } of transfers) {
          const key = `${block.hash} ${addressBytes} ${asset}`
          sums.set(key, (sums.get(key) ?? 0n) + amount)
          this.#names.add(`${block.hash} ${addressBytes} ${txid} ${outputIndex}`)
        }
        this.#blocks.push({ height: block.height, sums })
      }
      this.checkpoint = update.blocks.at(-1)?.block ?? update.ancestor
    }
  }

  credits(): Map<string, bigint> {
    return new Map(this.#blocks.flatMap(({ sums }) => [...sums]))
  }
}

test(`${TRANSFERS} random transfers with reorganisations are found once each, with traces and without`, async () => {
  const random = seededRandom(SEED)
  const workload = await EvmWorkload.start(anvil, random)
  const options = {
    chain: 'base' as const,
    livemode: false,
    url: anvil.url,
    setting: 'TEST_BASE_RPC_URL',
    clock: systemClock,
    usdcContract: workload.contracts.token.contract,
    openAddresses: async () => workload.addresses,
  }
  const followers: Follower[] = []
  for (const nativeMode of ['traces', 'balances'] as const) {
    const adapter = new EvmAdapter({ ...options, nativeMode })
    adapter.watched.add(workload.addresses)
    await adapter.connect()
    followers.push(new Follower(adapter, await adapter.tip()))
  }
  const [first] = followers
  if (first === undefined) throw new Error('nobody follows')
  let reorganisations = 0
  while (workload.sent < TRANSFERS) {
    await workload.block()
    if (random.chance(0.15)) {
      await workload.reorganise()
      reorganisations += 1
    }
    // Sometimes several blocks and a reorganisation come between two looks.
    if (random.chance(0.5)) for (const follower of followers) await follower.follow()
  }
  for (const follower of followers) await follower.follow()
  const expected = await workload.creditsAbove(first.start.height)
  expect(expected.size).toBeGreaterThan(TRANSFERS / 4)
  expect(reorganisations).toBeGreaterThan(2)
  const sorted = (sums: ReadonlyMap<string, bigint>) => [...sums].sort()
  for (const follower of followers) expect(sorted(follower.credits())).toEqual(sorted(expected))
  // Received is what is there: nothing was ever spent from these addresses.
  const received = new Map<string, bigint>()
  for (const [key, amount] of expected) {
    const [, addressBytes = '', asset] = key.split(' ')
    if (asset === 'ETH_BASE') received.set(addressBytes, (received.get(addressBytes) ?? 0n) + amount)
  }
  for (const addressBytes of workload.addresses) {
    const name = addressBytes.toString('hex')
    const balance = BigInt(await anvil.rpc<string>('eth_getBalance', [`0x${name}`, 'latest']))
    expect([name, balance]).toEqual([name, received.get(name) ?? 0n])
  }
  for (const { adapter } of followers) await adapter.close()
}, 3_600_000)

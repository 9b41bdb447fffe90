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
const BLOCKS_PER_STEP_MAX = 60

let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil()
})
afterAll(() => anvil.remove())

/** What an adapter has told of each block that is on its chain now, summed for each block, address and asset. */
class Follower {
  readonly adapter: EvmAdapter
  checkpoint: BlockRef
  #blocks: {
    readonly height: number
    readonly sums: ReadonlyMap<string, bigint>
    readonly transfers: readonly string[]
  }[] = []

  constructor(adapter: EvmAdapter, checkpoint: BlockRef) {
    this.adapter = adapter
    this.checkpoint = checkpoint
  }

  async follow(maxBlocks: number): Promise<void> {
    for (;;) {
      const update = await this.adapter.nextUpdate(this.checkpoint, maxBlocks)
      if (update === null) return
      this.#blocks = this.#blocks.filter(({ height }) => height <= update.ancestor.height)
      for (const { block, transfers } of update.blocks) {
        const sums = new Map<string, bigint>()
        const found: string[] = []
        for (const { addressBytes, asset, amount, txid, outputIndex } of transfers) {
          const key = `${block.hash} ${addressBytes} ${asset}`
          sums.set(key, (sums.get(key) ?? 0n) + amount)
          found.push(`${block.hash} ${addressBytes} ${txid} ${outputIndex} ${amount}`)
        }
        this.#blocks.push({ height: block.height, sums, transfers: found })
      }
      this.checkpoint = update.blocks.at(-1)?.block ?? update.ancestor
    }
  }

  /** Each transfer with its transaction. */
  transfers(): string[] {
    return this.#blocks.flatMap((block) => block.transfers)
  }

  credits(): Map<string, bigint> {
    return new Map(this.#blocks.flatMap(({ sums }) => [...sums]))
  }
}

test(`${TRANSFERS} random transfers with reorganisations are found once each, with traces and without`, async () => {
  const random = seededRandom(SEED)
  const workload = await EvmWorkload.start(anvil, random)
  workload.sweepsToo = true
  const options = {
    chain: 'base' as const,
    livemode: false,
    url: anvil.url,
    setting: 'TEST_BASE_RPC_URL',
    clock: systemClock,
    tokenContracts: { USDC: workload.contracts.token.contract },
    openAddresses: async () => workload.open,
  }
  const followers: Follower[] = []
  // The third reads one block after the other, each of them traced.
  for (const nativeMode of ['traces', 'balances', 'traces'] as const) {
    const adapter = new EvmAdapter({ ...options, nativeMode })
    adapter.watched.add(workload.addresses)
    await adapter.connect()
    followers.push(new Follower(adapter, await adapter.tip()))
  }
  const [, , singly] = followers
  const followAll = async (maxBlocks: number) => {
    for (const follower of followers) await follower.follow(follower === singly ? 1 : maxBlocks)
  }
  let reorganisations = 0
  let isSeldom = true
  while (workload.sent < TRANSFERS) {
    await workload.block()
    if (random.chance(0.15)) {
      await workload.reorganise()
      reorganisations += 1
    }
    // Sometimes many blocks and some reorganisations come between two looks.
    const maxBlocks = 1 + random.below(BLOCKS_PER_STEP_MAX)
    if (random.chance(isSeldom ? 0.03 : 0.5)) await followAll(maxBlocks)
    if (random.chance(0.05)) isSeldom = !isSeldom
  }
  await followAll(BLOCKS_PER_STEP_MAX)
  // A reorganisation may go below where the followers began; nothing was paid there before.
  const expected = await workload.creditsAbove(0)
  expect(expected.size).toBeGreaterThan(TRANSFERS / 4)
  expect(reorganisations).toBeGreaterThan(2)
  expect(workload.sweeps).toBeGreaterThan(2)
  const sorted = (sums: ReadonlyMap<string, bigint>) => [...sums].sort()
  for (const follower of followers) expect(sorted(follower.credits())).toEqual(sorted(expected))
  expect(followers[0]?.transfers()).toEqual(singly?.transfers())
  for (const { adapter } of followers) await adapter.close()
}, 3_600_000)

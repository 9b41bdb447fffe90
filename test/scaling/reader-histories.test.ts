import { describe, test } from 'vitest'
import { ReadingHistory, ReadingWorld } from '../chain-sources/reading-history.ts'
import type { DrivenChain } from '../support/chain-driver.ts'
import { seededRandom } from '../support/random.ts'
import { startReader } from '../support/reader.ts'
import { READING_FAMILIES, type ReadingFamily } from '../support/reading-families.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const HISTORIES = Number(process.env.READING_RUNS ?? 1)
const FIRST = Number(process.env.SEED ?? 20_261_129)
const TIMEOUT_MS = 120_000 + HISTORIES * 60_000
const { litecoin, ethereum, solana } = READING_FAMILIES

describe('histories of floods, faults and forks, with both providers and two other cells at one reader', () => {
  test(
    `on the sandbox chain of Litecoin each payment counts once, ${HISTORIES}`,
    () => playAll(litecoin),
    TIMEOUT_MS,
  )
  test(`on Ethereum each payment counts once, ${HISTORIES}`, () => playAll(ethereum), TIMEOUT_MS)
  test(`on Solana each payment counts once, ${HISTORIES}`, () => playAll(solana), TIMEOUT_MS)
})

async function playAll<Driven extends DrivenChain>(family: ReadingFamily<Driven>): Promise<void> {
  const { network } = family.driver
  const world = await ReadingWorld.open(family, async (urls) => {
    const reader = await startReader(network, urls)
    return { urls: [reader.url('cell', 0), reader.url('cell', 1)], close: reader.stop }
  })
  const { chain } = world.watched
  const shared = Object.create(chain, { remove: { value: async () => {} } }) as Driven
  const neighbours = await Promise.all(
    [0, 1].map(() => WatchedChain.open({ ...family.driver, start: async () => shared })),
  )
  const readUrl = (url: string, cell: string) => url.replace('//cell:', `//${cell}:`)
  for (const [index, neighbour] of neighbours.entries())
    neighbour.watch({ adapter: chain.adapter(readUrl(world.urls[index] ?? '', `neighbour-${index}`)) })
  try {
    for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) await play(world, seed)
  } finally {
    for (const neighbour of neighbours) await neighbour.close()
    await world.close()
  }
}

async function play<Driven extends DrivenChain>(world: ReadingWorld<Driven>, seed: number): Promise<void> {
  const history = new ReadingHistory(world, seededRandom(seed))
  try {
    await history.play()
  } catch (error) {
    throw new Error(`the history with SEED=${seed} failed`, { cause: error })
  } finally {
    await history.stop()
  }
}

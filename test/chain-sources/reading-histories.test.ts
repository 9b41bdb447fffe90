import { describe, test } from 'vitest'
import type { DrivenChain } from '../support/chain-driver.ts'
import { seededRandom } from '../support/random.ts'
import { READING_FAMILIES, type ReadingFamily } from '../support/reading-families.ts'
import { ReadingHistory, ReadingWorld } from './reading-history.ts'

const LONG = process.env.LONG === '1'
const HISTORIES = Number(process.env.READING_RUNS ?? (LONG ? 1_000 : 3))
const TIMEOUT_MS = 120_000 + HISTORIES * 30_000
const FIRST = Number(process.env.SEED ?? 20_261_122)

const { litecoin, ethereum, solana } = READING_FAMILIES

describe('in histories of floods, stale readers, faults, forks and still heads each payment counts once', () => {
  test(`on the sandbox chain, ${HISTORIES} histories`, () => playAll(litecoin), TIMEOUT_MS)
  test(`on Ethereum, ${HISTORIES} histories`, () => playAll(ethereum), TIMEOUT_MS)
  test(`on Solana, ${HISTORIES} histories`, () => playAll(solana), TIMEOUT_MS)
})

async function playAll<Driven extends DrivenChain>(family: ReadingFamily<Driven>): Promise<void> {
  const world = await ReadingWorld.open(family)
  try {
    for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) await play(world, seed)
  } finally {
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

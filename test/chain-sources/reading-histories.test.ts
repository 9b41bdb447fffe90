import { describe, test } from 'vitest'
import { ASSET_IDS, ASSETS } from '../../src/core/assets.ts'
import { isEvmChain } from '../../src/core/chain/evm-networks.ts'
import type { DrivenChain } from '../support/chain-driver.ts'
import { seededRandom } from '../support/random.ts'
import { evmFamily, READING_FAMILIES, type ReadingFamily, solanaFamily } from '../support/reading-families.ts'
import { ReadingHistory, ReadingWorld } from './reading-history.ts'

const LONG = process.env.LONG === '1'
const HISTORIES = Number(process.env.READING_RUNS ?? (LONG ? 1_000 : 2))
const TIMEOUT_MS = 120_000 + HISTORIES * 30_000
const FIRST = Number(process.env.SEED ?? 20_261_122)

const { litecoin, ethereum, solana } = READING_FAMILIES
/** Bitcoin is read as Litecoin is, and ether and SOL have more histories. */
const OTHERS = ASSET_IDS.filter((asset) => !['BTC', 'LTC', 'ETH', 'SOL'].includes(asset))
const OF_OTHERS = LONG ? HISTORIES : 1

describe('in histories of floods, stale readers, faults, forks and still heads each payment counts once', () => {
  test(`on the sandbox chain, ${HISTORIES} histories`, () => playAll(litecoin), TIMEOUT_MS)
  test(`on Ethereum, ${HISTORIES} histories`, () => playAll(ethereum), TIMEOUT_MS)
  test(`on Solana, ${HISTORIES} histories`, () => playAll(solana), TIMEOUT_MS)
  test.each(OTHERS)(
    `of %s, ${OF_OTHERS}`,
    (asset) => {
      const { chain } = ASSETS[asset]
      return isEvmChain(chain)
        ? playAll(evmFamily(asset, chain), OF_OTHERS)
        : playAll(solanaFamily(asset), OF_OTHERS)
    },
    TIMEOUT_MS,
  )
})

async function playAll<Driven extends DrivenChain>(
  family: ReadingFamily<Driven>,
  histories = HISTORIES,
): Promise<void> {
  const world = await ReadingWorld.open(family)
  try {
    for (let seed = FIRST; seed < FIRST + histories; seed++) await play(world, seed)
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

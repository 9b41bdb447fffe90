import { setTimeout as sleep } from 'node:timers/promises'
import type { SigningPoint } from '../../src/payouts/sign/signing-context.ts'
import type { PayoutProcess, PayoutSteps } from './payout-steps.ts'
import type { Random } from './random.ts'

/** What histories of payouts on every kind of chain have in common. */

/** The first seed of a run of histories. */
export const FIRST_SEED = Number(process.env.PAYOUT_SEED ?? 20_261_121)

/** How many histories to run: `PAYOUT_RUNS`, else these, and one for each asset at the least. */
export const historiesOf = (of: { readonly short: number; readonly long: number }, assets = 1): number =>
  Number(process.env.PAYOUT_RUNS ?? (process.env.LONG === '1' ? of.long : Math.max(of.short, assets)))

/** A world grows with every history in it, and with it what each of them takes: a long run goes through several. */
const HISTORIES_A_WORLD = 100

/** So many seeds, from the first one of the run on, in parts of which each has a world of its own. */
export const seedsByWorld = (count: number): number[][] =>
  Array.from({ length: Math.ceil(count / HISTORIES_A_WORLD) }, (_, part) =>
    Array.from(
      { length: Math.min(HISTORIES_A_WORLD, count - part * HISTORIES_A_WORLD) },
      (_, index) => FIRST_SEED + part * HISTORIES_A_WORLD + index,
    ),
  )

/** Deals kinds in an order of chance, each once before any comes again: a single history meets every fault. */
export class Deck<Kind> {
  readonly #kinds: readonly Kind[]
  readonly #random: Random
  #left: Kind[]

  constructor(kinds: readonly Kind[], random: Random) {
    this.#kinds = kinds
    this.#random = random
    this.#left = [...kinds]
  }

  deal(): Kind {
    if (this.#left.length === 0) this.#left = [...this.#kinds]
    const [dealt] = this.#left.splice(this.#random.below(this.#left.length), 1)
    if (dealt === undefined) throw new Error('there is nothing to deal')
    return dealt
  }

  /** Whether all kinds came equally often. */
  get isEven(): boolean {
    return this.#left.length % this.#kinds.length === 0
  }
}

/** Of these assets the one that the history of a seed is about: seeds in a row take them in turn. */
export function assetOf<Asset>(assets: readonly Asset[], seed: number): Asset {
  const asset = assets[seed % assets.length]
  if (asset === undefined) throw new Error('there is no asset')
  return asset
}

/** The process is gone: nothing after this line of it happens. */
export class Crash extends Error {}

/** Does the work up to where its process dies, or what it throws is what a process gets over by itself. */
export async function unlessCrashed(
  work: () => Promise<void>,
  isGotOver: (error: unknown) => boolean = () => false,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Crash || isGotOver(error))) throw error
  }
}

const SIGNING_POINTS: readonly SigningPoint[] = ['before_journal', 'after_journal', 'after_commit']

/**
 * A turn of a signer that may die at one of its steps, the first time it comes there or later where `strikes` says so;
 * the next turn is another process's.
 */
export function signerTurn(world: PayoutSteps, random: Random, strikes = () => true): Promise<void> {
  const dies = random.chance(0.6) ? random.pick(SIGNING_POINTS) : null
  const reached = async (point: SigningPoint) => {
    if (point === dies && strikes()) throw new Crash(point)
  }
  return unlessCrashed(() => world.sign({ reached }))
}

/** What is left undone by kills is more for the next process, and too much of it is all that any later one comes to. */
export const KILLS_BEFORE_REST = 10

const AFTER_MOMENT_MAX_MS = 10
/** What has nothing left to do comes to no further moment. */
const LIFE_MAX_MS = 4_000
const LOOK_MS = 2

/**
 * Kills a process at one of its first `momentsMax` moments or just after it, by `random`, at an early one more often: most
 * of what can be half done is there. `meanwhile` happens until then.
 */
export async function killSometime(
  random: Random,
  process: PayoutProcess,
  momentsMax: number,
  meanwhile: () => Promise<unknown> = () => sleep(LOOK_MS),
): Promise<void> {
  const moments = random.below(1 + random.below(momentsMax))
  const afterMs = random.below(AFTER_MOMENT_MAX_MS)
  const endsAtMs = performance.now() + LIFE_MAX_MS
  while (process.moments() < moments && performance.now() < endsAtMs) await meanwhile()
  await sleep(afterMs)
  await process.kill()
}

import { expect, test } from 'vitest'
import {
  blockAt,
  blocksReading,
  mempool,
  owned,
  sighted,
  tracked,
} from '../../../test/support/chain-readings.ts'
import { type Random, seededRandom } from '../../../test/support/random.ts'
import type { BlockRef, TransferFact } from '../invoice/types.ts'
import { reconcileBlocks, reconcileMempool, type TrackedTransfer, vanishedFrom } from './reconcile.ts'

const HISTORIES = 2_000

/**
 * A chain that forks, a mempool, and a watcher that dies between any two commits. Whatever happened, a walk to
 * the tip and a look at the mempool leave the records as the chain has them; and no record ever says that a
 * transfer left the chain while the chain that was just read to its tip holds it.
 */
test('random histories end in what the chain says, whatever was cut off in between', () => {
  const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  for (let history = 0; history < HISTORIES; history++) {
    const seed = (first + history) % 2 ** 31
    try {
      runHistory(seededRandom(seed))
    } catch (error) {
      throw new Error(`history with SEED=${seed} failed`, { cause: error })
    }
  }
})

type WorldBlock = BlockRef & { readonly txids: readonly string[] }

class World {
  readonly random: Random
  chain: WorldBlock[] = [{ ...blockAt(0), txids: [] }]
  mempool = new Set<string>()
  records = new Map<string, TrackedTransfer>()
  checkpoint = 0
  checkpointHash = 'a0'
  #names = 0

  constructor(random: Random) {
    this.random = random
  }

  get top(): WorldBlock {
    const top = this.chain.at(-1)
    if (top === undefined) throw new Error('no genesis')
    return top
  }

  change(): void {
    const { random } = this
    const what = random.below(5)
    if (what === 0) this.mempool.add(`t${this.#names++}`)
    else if (what === 1) this.mine(random.chance(0.7))
    else if (what === 2) this.reorganise(1 + random.below(4), random.below(6))
    else if (what === 3 && this.mempool.size > 0) this.mempool.delete(random.pick([...this.mempool]))
    else this.mine(true)
  }

  mine(takesMempool: boolean): void {
    const txids = takesMempool ? [...this.mempool].filter(() => this.random.chance(0.6)) : []
    for (const txid of txids) this.mempool.delete(txid)
    if (this.random.chance(0.1)) txids.push(`t${this.#names++}`)
    const height = this.top.height + 1
    this.chain.push({ height, hash: `f${this.#names++}`, timeMs: height, txids })
  }

  reorganise(depth: number, length: number): void {
    const removed = this.chain.splice(Math.max(1, this.chain.length - depth))
    for (const txid of removed.flatMap((block) => block.txids)) {
      // A double-spend on the other branch takes some of them for good.
      if (this.random.chance(0.8)) this.mempool.add(txid)
    }
    for (let index = 0; index < length; index++) this.mine(this.random.chance(0.7))
  }

  commit(facts: readonly { facts: readonly TransferFact[] }[], until: number): boolean {
    const flat = facts.flatMap((entry) => entry.facts)
    for (const fact of flat.slice(0, until)) this.record(fact)
    return until >= flat.length
  }

  record(fact: TransferFact): void {
    const block = fact.state === 'block' ? fact.block : null
    const states = { mempool: 'detected', replaced: 'replaced', reorged: 'reorged' } as const
    const isFinal = fact.state === 'block' && fact.confirmations >= 3
    const status = fact.state === 'block' ? (isFinal ? 'confirmed' : 'confirming') : states[fact.state]
    this.records.set(fact.txid, tracked(fact.txid, { block, status, firstSeenMs: fact.firstSeenMs }))
  }

  trackedAbove(height: number): TrackedTransfer[] {
    return [...this.records.values()].filter(
      ({ payment }) =>
        payment.status === 'detected' ||
        payment.status === 'confirming' ||
        (payment.block !== null && payment.block.height > height),
    )
  }
}

/** One step of the watcher, cut off after `budget` facts. False where there was nothing to do. */
function step(world: World, oldChain: readonly WorldBlock[], budget: number): boolean {
  if (world.top.hash === world.checkpointHash) return false
  const ancestor = world.chain.findLast(
    (block) => block.height <= world.checkpoint && oldChain[block.height]?.hash === block.hash,
  )
  if (ancestor === undefined) throw new Error('no common ancestor')
  const isReorg = ancestor.hash !== world.checkpointHash
  const above = world.chain.slice(ancestor.height + 1)
  const blocks = isReorg ? above : above.slice(0, 1 + world.random.below(3))
  const reading = blocksReading({
    ancestor,
    blocks: blocks.map((block) => ({ block, transfers: block.txids.map((txid) => owned(txid)) })),
    reachesTip: blocks.length === above.length,
    tracked: world.trackedAbove(ancestor.height),
  })
  const facts = reconcileBlocks(reading, reading.reachesTip ? world.mempool : null)
  const inChain = new Set(world.chain.flatMap((block) => block.txids))
  for (const fact of facts.flatMap((entry) => entry.facts)) {
    if (reading.reachesTip) expect(fact.state === 'block').toBe(inChain.has(fact.txid))
  }
  world.checkpoint = ancestor.height
  world.checkpointHash = ancestor.hash
  if (!world.commit(facts, budget)) return true
  world.checkpoint = blocks.at(-1)?.height ?? ancestor.height
  world.checkpointHash = blocks.at(-1)?.hash ?? ancestor.hash
  return true
}

function runHistory(random: Random): void {
  const world = new World(random)
  const seen: WorldBlock[] = [...world.chain]
  const follow = (interrupted: boolean) => {
    for (let round = 0; round < 50; round++) {
      const moved = step(world, seen, interrupted ? random.below(4) : Number.POSITIVE_INFINITY)
      // What the watcher has read is what it can compare with.
      seen.length = world.checkpoint + 1
      world.chain.slice(0, world.checkpoint + 1).forEach((block, height) => {
        seen[height] = block
      })
      if (!moved || interrupted) return
    }
  }
  for (let round = 0; round < 12; round++) {
    world.change()
    if (random.chance(0.6)) follow(random.chance(0.4))
  }
  follow(false)
  const contents = mempool({
    tipHeight: world.top.height,
    transfers: [...world.mempool].map((txid) => sighted(txid)),
    tracked: [...world.records.values()],
  })
  const dead = new Set(vanishedFrom(contents).map(({ payment }) => payment.txid))
  world.commit(reconcileMempool(contents, dead), Number.POSITIVE_INFINITY)
  expectTruth(world)
}

function expectTruth(world: World): void {
  const truth = new Map(world.chain.flatMap((block) => block.txids.map((txid) => [txid, block.hash])))
  for (const [txid, { payment }] of world.records) {
    const hash = truth.get(txid)
    if (hash !== undefined) expect([txid, payment.block?.hash]).toEqual([txid, hash])
    else
      expect([txid, payment.block, payment.status === 'detected']).toEqual([
        txid,
        null,
        world.mempool.has(txid),
      ])
  }
  for (const txid of [...truth.keys(), ...world.mempool]) expect(world.records.has(txid)).toBe(true)
}

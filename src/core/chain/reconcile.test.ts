import { expect, test } from 'vitest'
import { type Random, seededRandom } from '../../../test/support/random.ts'
import type { BlockPosition, Payment, TransferFact } from '../invoice/types.ts'
import {
  type BlocksReading,
  disconnectedBy,
  type MempoolContents,
  type OwnedTransfer,
  reconcileBlocks,
  reconcileMempool,
  type TrackedTransfer,
  vanishedFrom,
} from './reconcile.ts'

const NETWORK = 'litecoin-test'
const READ_AT_MS = 10_000_000
const HISTORIES = 2_000

const blockAt = (height: number, fork = 'a'): BlockPosition => ({
  height,
  hash: `${fork}${height}`,
  timeMs: height * 1_000,
})

function owned(txid: string, outputIndex = 0): OwnedTransfer {
  return {
    tenant: { merchantId: `mer_${txid.length % 2}`, livemode: false },
    invoiceId: `inv_${txid}`,
    txid,
    outputIndex,
    asset: 'LTC',
    amount: 5_000n,
    minimumConfirmations: 1,
  }
}

function tracked(txid: string, changes: Partial<Payment>): TrackedTransfer {
  const { tenant, invoiceId } = owned(txid)
  const payment: Payment = {
    id: `pay_${txid}`,
    network: NETWORK,
    txid,
    outputIndex: 0,
    asset: 'LTC',
    amount: 5_000n,
    status: changes.block == null ? 'detected' : 'confirming',
    firstSeenMs: 5_000,
    detectedAtMs: 5_000,
    confirmedAtMs: null,
    block: null,
    finality: 2,
    late: false,
    dust: false,
    reviewReason: null,
    resolution: null,
    announced: { confirming: false, review: false },
    bucket: 'none',
    postings: 0,
    ...changes,
  }
  return { tenant, invoiceId, payment }
}

function blocksReading(changes: Partial<BlocksReading>): BlocksReading {
  return {
    network: NETWORK,
    ancestor: blockAt(10),
    blocks: [],
    reachesTip: true,
    tracked: [],
    readAtMs: READ_AT_MS,
    ...changes,
  }
}

const stateOf = (facts: readonly { facts: readonly TransferFact[] }[]) =>
  facts.flatMap((entry) => entry.facts.map((fact) => `${fact.txid} ${fact.state}`)).sort()

test('confirmations are counted to the last block read, the including one counted', () => {
  const reading = blocksReading({
    blocks: [
      { block: blockAt(11), transfers: [owned('x')] },
      { block: blockAt(12), transfers: [] },
    ],
    tracked: [tracked('old', { block: blockAt(9) })],
  })
  const facts = reconcileBlocks(reading, null).flatMap((entry) => entry.facts)
  expect(facts).toMatchObject([
    { txid: 'x', state: 'block', confirmations: 2 },
    { txid: 'old', state: 'block', confirmations: 4, block: blockAt(9) },
  ])
})

test('first seen is the earliest of the record, the block and this reading', () => {
  const firstSeen = (timeMs: number, known: TrackedTransfer[]) => {
    const block = { ...blockAt(11), timeMs }
    const reading = blocksReading({ blocks: [{ block, transfers: [owned('x')] }], tracked: known })
    return reconcileBlocks(reading, null)[0]?.facts[0]?.firstSeenMs
  }
  expect(firstSeen(7_000, [])).toBe(7_000)
  expect(firstSeen(7_000, [tracked('x', { firstSeenMs: 6_000 })])).toBe(6_000)
  expect(firstSeen(READ_AT_MS + 7_200_000, [])).toBe(READ_AT_MS)
})

test('a transfer that moves to another block is told to be in it and nothing else', () => {
  const reading = blocksReading({
    blocks: [
      { block: blockAt(11, 'b'), transfers: [] },
      { block: blockAt(12, 'b'), transfers: [owned('x')] },
    ],
    tracked: [tracked('x', { block: blockAt(11) })],
  })
  expect(disconnectedBy(reading)).toEqual([])
  expect(stateOf(reconcileBlocks(reading, new Set()))).toEqual(['x block'])
})

test('a disconnected transfer is unconfirmed where it lives on, else reorged', () => {
  const reading = blocksReading({
    blocks: [{ block: blockAt(11, 'b'), transfers: [] }],
    tracked: [
      tracked('lives', { block: blockAt(11) }),
      tracked('dead', { block: blockAt(11), status: 'confirmed' }),
    ],
  })
  expect(disconnectedBy(reading).map(({ payment }) => payment.txid)).toEqual(['lives', 'dead'])
  expect(stateOf(reconcileBlocks(reading, new Set(['lives'])))).toEqual(['dead reorged', 'lives mempool'])
  expect(stateOf(reconcileBlocks({ ...reading, reachesTip: false }, null))).toEqual([
    'dead mempool',
    'lives mempool',
  ])
})

test('a transfer recorded above what was read so far waits until the walk comes there', () => {
  const reading = blocksReading({
    blocks: [{ block: blockAt(11), transfers: [] }],
    reachesTip: false,
    tracked: [tracked('x', { block: blockAt(12) })],
  })
  expect(reconcileBlocks(reading, null)).toEqual([])
})

test('one transaction paying two invoices is told to each', () => {
  const second = { ...owned('x', 1), invoiceId: 'inv_other' }
  const reading = blocksReading({ blocks: [{ block: blockAt(11), transfers: [owned('x'), second] }] })
  expect(reconcileBlocks(reading, null).map(({ invoiceId, facts }) => [invoiceId, facts.length])).toEqual([
    ['inv_x', 1],
    ['inv_other', 1],
  ])
})

function mempool(changes: Partial<MempoolContents>): MempoolContents {
  return { network: NETWORK, tipHeight: 10, transfers: [], tracked: [], ...changes }
}
const sighted = (txid: string, firstSeenMs = 5_000) => ({ ...owned(txid), firstSeenMs })

test('a mempool that stays the same says nothing', () => {
  const contents = mempool({ transfers: [sighted('x')], tracked: [tracked('x', {})] })
  expect(reconcileMempool(contents, new Set())).toEqual([])
})

test('a sighting, an earlier sighting and a return are told', () => {
  const contents = mempool({
    transfers: [sighted('new'), sighted('earlier', 4_000), sighted('back'), sighted('fallen')],
    tracked: [
      tracked('earlier', {}),
      tracked('back', { status: 'replaced' }),
      tracked('fallen', { block: blockAt(11) }),
    ],
  })
  const expected = ['back mempool', 'earlier mempool', 'fallen mempool', 'new mempool']
  expect(stateOf(reconcileMempool(contents, new Set()))).toEqual(expected)
})

test('what vanished is replaced when it is dead, and what lies in a block is left alone', () => {
  const contents = mempool({
    transfers: [sighted('buried')],
    tracked: [
      tracked('dead', {}),
      tracked('evicted', {}),
      tracked('buried', { block: blockAt(10) }),
      tracked('orphaned', { block: blockAt(11) }),
    ],
  })
  const vanished = vanishedFrom(contents).map(({ payment }) => payment.txid)
  expect(vanished).toEqual(['dead', 'evicted', 'orphaned'])
  expect(stateOf(reconcileMempool(contents, new Set(['dead', 'orphaned'])))).toEqual([
    'dead replaced',
    'orphaned reorged',
  ])
})

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

type WorldBlock = BlockPosition & { readonly txids: readonly string[] }

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

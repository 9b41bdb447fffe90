import { expect, test } from 'vitest'
import {
  blockAt,
  blocksReading,
  mempool,
  owned,
  READ_AT_MS,
  sighted,
  tracked,
} from '../../../test/support/chain-readings.ts'
import type { TransferFact } from '../invoice/types.ts'
import {
  disconnectedBy,
  reconcileBlocks,
  reconcileMempool,
  type TrackedTransfer,
  vanishedFrom,
} from './reconcile.ts'

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

test('blocks above a payment say nothing of it before they make it final, nor where they never do', () => {
  const reading = blocksReading({
    blocks: [{ block: blockAt(11), transfers: [] }],
    tracked: [
      tracked('final', { block: blockAt(9), finality: 3 }),
      tracked('early', { block: blockAt(9), finality: 4 }),
      tracked('tagged', { block: blockAt(1), finality: 'safe' }),
      tracked('settled', { block: blockAt(9), status: 'confirmed' }),
    ],
  })
  expect(stateOf(reconcileBlocks(reading, null))).toEqual(['final block'])
  expect(reconcileBlocks({ ...reading, isFinalityDeferred: true }, null)).toEqual([])
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

test('a transfer that moves to another block is reported in that block and nowhere else', () => {
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

test('one transaction that pays two invoices is reported to each', () => {
  const second = { ...owned('x', 1), invoiceId: 'inv_other' }
  const reading = blocksReading({ blocks: [{ block: blockAt(11), transfers: [owned('x'), second] }] })
  expect(reconcileBlocks(reading, null).map(({ invoiceId, facts }) => [invoiceId, facts.length])).toEqual([
    ['inv_x', 1],
    ['inv_other', 1],
  ])
})

test('a mempool that stays the same says nothing', () => {
  const contents = mempool({ transfers: [sighted('x')], tracked: [tracked('x', {})] })
  expect(reconcileMempool(contents, new Set())).toEqual([])
})

test('a sighting, an earlier sighting and a return are reported', () => {
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

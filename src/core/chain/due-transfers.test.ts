import { expect, test } from 'vitest'
import type { Payment } from '../invoice/types.ts'
import { blocksOf, dueAt, finalFacts, withoutFinality } from './due-transfers.ts'
import type { TrackedTransfer } from './reconcile.ts'

const TENANT = { merchantId: 'mer_1', livemode: false }
const blockAt = (height: number) => ({ height, hash: `block-${height}`, timeMs: height * 1_000 })

function tracked(txid: string, changes: Partial<Payment>): TrackedTransfer {
  const payment: Payment = {
    id: `pay_${txid}`,
    network: 'litecoin-test',
    txid,
    outputIndex: 0,
    asset: 'LTC',
    amount: 5n,
    isBlockSum: false,
    transfers: 1,
    parts: null,
    status: 'confirming',
    firstSeenMs: 1,
    detectedAtMs: 1,
    confirmedAtMs: null,
    block: blockAt(100),
    finality: 3,
    late: false,
    dust: false,
    reviewReason: null,
    resolution: null,
    announced: { confirming: true, review: false },
    bucket: 'pending',
    postings: 1,
    ...changes,
  }
  return { tenant: TENANT, invoiceId: `inv_${txid}`, payment }
}

test('a transfer is due at the tip that gives it its last confirmation, and not before', () => {
  const transfer = tracked('a', {})
  expect(dueAt(101, null, [transfer])).toEqual([])
  expect(dueAt(102, null, [transfer])).toMatchObject([{ invoiceId: 'inv_a', confirmations: 3 }])
  expect(dueAt(150, null, [transfer])).toMatchObject([{ confirmations: 51 }])
})

test('what is final, in no block, gone, or above the tip is not due', () => {
  const transfers = [
    tracked('a', { status: 'confirmed' }),
    tracked('b', { status: 'detected', block: null }),
    tracked('c', { status: 'reorged', block: null }),
    tracked('d', { block: blockAt(200) }),
  ]
  expect(dueAt(150, null, transfers)).toEqual([])
})

test('each block is asked about once, and only what lies in an agreed one becomes final', () => {
  const due = dueAt(150, null, [
    tracked('a', {}),
    tracked('b', {}),
    tracked('c', { block: blockAt(101), finality: 100, status: 'confirming' }),
    tracked('d', { block: blockAt(102) }),
  ])
  expect(blocksOf(due).map(({ height }) => height)).toEqual([100, 102])
  expect(blocksOf(due).map(({ reached }) => reached)).toEqual([102, 104])
  const facts = finalFacts(due, new Set(['block-100']))
  expect(facts.map(({ invoiceId }) => invoiceId)).toEqual(['inv_a', 'inv_b'])
  expect(facts[0]?.facts).toMatchObject([{ state: 'block', confirmations: 51, minimumConfirmations: 3 }])
  expect(finalFacts(due, new Set())).toEqual([])
})

test('without finality facts keep their blocks and lose their depth', () => {
  const due = dueAt(150, null, [tracked('a', {})])
  const [reported] = withoutFinality(finalFacts(due, new Set(['block-100'])))
  expect(reported?.facts).toMatchObject([{ state: 'block', block: blockAt(100), confirmations: 0 }])
})

test('a transfer that waits for a tag is due once its block has it, however deep it lies', () => {
  const [safe, finalized] = [tracked('a', { finality: 'safe' }), tracked('b', { finality: 'finalized' })]
  const due = (safeHeight: number, finalizedHeight: number) =>
    dueAt(900, { safe: safeHeight, finalized: finalizedHeight }, [safe, finalized]).map(
      ({ payment }) => payment.txid,
    )
  expect(dueAt(900, null, [safe, finalized])).toEqual([])
  expect(due(99, 99)).toEqual([])
  expect(due(100, 99)).toEqual(['a'])
  expect(due(100, 100)).toEqual(['a', 'b'])
  const reported = finalFacts(dueAt(900, { safe: 100, finalized: 99 }, [safe]), new Set(['block-100']))
  expect(reported[0]?.facts).toMatchObject([{ tag: 'safe', minimumConfirmations: 1 }])
  expect(withoutFinality(reported)[0]?.facts[0]).not.toHaveProperty('tag')
})

test('another provider must reach the depth of the deepest rule in a block; a tag is asked for by itself', () => {
  const due = dueAt(150, { safe: 200, finalized: 0 }, [
    tracked('a', { finality: 6 }),
    tracked('b', { finality: 2 }),
    tracked('c', { finality: 'safe', block: blockAt(110) }),
  ])
  expect(blocksOf(due).map(({ height, reached }) => [height, reached])).toEqual([
    [100, 105],
    [110, 110],
  ])
})

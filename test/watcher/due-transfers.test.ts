import { afterAll, beforeAll, expect, test } from 'vitest'
import { dueAt } from '../../src/core/chain/due-transfers.ts'
import { keyOfTracked, type TrackedTransfer } from '../../src/core/chain/reconcile.ts'
import {
  loadDueTransfers,
  loadTrackedTransfers,
  loadUnsettledTransfers,
} from '../../src/db/invoices/transfers.ts'
import type { Queryable } from '../../src/postgres/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seededRandom } from '../support/random.ts'
import { seedTransfers } from '../support/seed-transfers.ts'

const NETWORK = 'base-test'
const ROWS = 400
const LOOKS = 200
const HEIGHT_MAX = 60

let database: TestDatabase
const random = seededRandom(20_261_129)

/** Transfers in every state, whose invoices do not matter here. */
beforeAll(async () => {
  database = await createTestDatabase()
  const rows = Array.from({ length: ROWS }, (_, index) => {
    const status = random.pick([
      'detected',
      'confirming',
      'confirming',
      'confirmed',
      'replaced',
      'reorged',
    ] as const)
    const isInBlock = status === 'confirming' || status === 'confirmed'
    const mark = random.pick([null, null, 'safe', 'finalized'] as const)
    return {
      id: `pay_${index}`,
      status,
      height: isInBlock ? random.below(HEIGHT_MAX) : null,
      count: mark === null ? 1 + random.below(12) : null,
      mark,
      left: random.chance(0.1) ? 'another chain' : null,
    }
  })
  await seedTransfers(database, NETWORK, rows)
})
afterAll(() => database.drop())

const keysOf = (transfers: readonly TrackedTransfer[]) => transfers.map(keyOfTracked).sort()

test('what the database finds due at a height is what the rule finds among all that is not final', async () => {
  const unsettled = await loadUnsettledTransfers(database.owner, NETWORK)
  expect(unsettled.length).toBeGreaterThan(ROWS / 4)
  let most = 0
  for (let look = 0; look < LOOKS; look++) {
    const tip = random.below(HEIGHT_MAX)
    const safe = random.below(tip + 1)
    const tags = random.chance(0.3) ? null : { safe, finalized: random.below(safe + 1) }
    const due = await loadDueTransfers(database.owner, NETWORK, tip, tags)
    expect(keysOf(due)).toEqual(keysOf(dueAt(tip, tags, unsettled)))
    expect(due).toHaveLength(dueAt(tip, tags, due).length)
    most = Math.max(most, due.length)
  }
  expect(most).toBeGreaterThan(ROWS / 10)
})

test('beside what waits for a block and lies above a height, only the transactions asked for are loaded', async () => {
  const unsettled = await loadUnsettledTransfers(database.owner, NETWORK)
  for (let look = 0; look < LOOKS; look++) {
    const height = random.below(HEIGHT_MAX)
    const asked = unsettled.filter(() => random.chance(0.02))
    const transactions = asked.map(({ tenant, payment }) => ({
      merchantId: tenant.merchantId,
      txid: payment.txid,
    }))
    const tracked = await loadTrackedTransfers(database.owner, NETWORK, height, transactions)
    const expected = unsettled.filter((transfer) => {
      const { status, block } = transfer.payment
      return status === 'detected' || (block !== null && block.height > height) || asked.includes(transfer)
    })
    const notFinal = tracked.filter(({ payment }) => payment.status !== 'confirmed')
    expect(keysOf(notFinal)).toEqual(keysOf(expected))
    const final = tracked.filter(({ payment }) => payment.status === 'confirmed')
    expect(final.every(({ payment }) => (payment.block?.height ?? 0) > height)).toBe(true)
  }
})

const MANY = 5_000

type PlanNode = {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Rows of transfers that a statement looks at, whether it returns them or not. */
function rowsReadBy(node: PlanNode): number {
  const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  const own = node['Relation Name'] === 'transfer' ? rows * node['Actual Loops'] : 0
  return (node.Plans ?? []).reduce((sum, each) => sum + rowsReadBy(each), own)
}

test('a look at the tip reads none that wait, also where the statistics are older than their waiting', async () => {
  const one = await createTestDatabase()
  try {
    const transfers = Array.from({ length: MANY }, (_, index) => ({
      id: `pay_${index}`,
      status: 'confirmed' as const,
      height: index,
      count: null,
      mark: 'finalized' as const,
      left: null,
    }))
    await seedTransfers(one, NETWORK, transfers)
    await one.owner.query('alter table transfer set (autovacuum_enabled = false)')
    const { rows } = await one.owner.query<{ merchantId: string; txid: string }>(
      `update transfer set status = 'confirming' returning merchant_id as "merchantId", txid`,
    )
    let read = 0
    const explaining: Queryable = {
      query: async (text, values) => {
        const { rows: plans } = await one.owner.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
          `explain (analyze, format json) ${text}`,
          values,
        )
        for (const plan of plans) read += rowsReadBy(plan['QUERY PLAN'][0].Plan)
        return one.owner.query(text, values)
      },
    }
    for (const asked of [0, 20]) {
      read = 0
      const tracked = await loadTrackedTransfers(explaining, NETWORK, MANY, rows.slice(0, asked))
      expect(tracked).toHaveLength(asked)
      expect(read).toBe(asked)
    }
    read = 0
    expect(await loadDueTransfers(explaining, NETWORK, MANY, { safe: MANY, finalized: 9 })).toHaveLength(10)
    expect(read).toBe(10)
  } finally {
    await one.drop()
  }
})

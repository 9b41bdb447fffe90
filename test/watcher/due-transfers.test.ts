import { afterAll, beforeAll, expect, test } from 'vitest'
import { dueAt } from '../../src/core/chain/due-transfers.ts'
import { keyOfTracked, type TrackedTransfer } from '../../src/core/chain/reconcile.ts'
import {
  loadDueTransfers,
  loadTrackedTransfers,
  loadUnsettledTransfers,
} from '../../src/db/invoices/transfers.ts'
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

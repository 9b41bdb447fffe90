import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadDueTransfers, loadTrackedTransfers } from '../src/db/invoices/transfers.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { seedTransfers } from '../test/support/seed-transfers.ts'
import { median, printFigure, spread } from './support/figure.ts'

const NETWORK = 'base-test'
const FEW = 300
const MANY = 30_000
const ROUNDS = 15

const databases = new Map<number, TestDatabase>()
beforeAll(async () => {
  for (const waiting of [FEW, MANY]) {
    const database = await createTestDatabase()
    databases.set(waiting, database)
    const transfers = Array.from({ length: waiting }, (_, index) => ({
      id: `pay_${index}`,
      status: 'confirming' as const,
      height: 1 + Math.floor((index * 1_000) / waiting),
      count: null,
      mark: 'finalized' as const,
      left: null,
    }))
    await seedTransfers(database, NETWORK, transfers)
  }
})
afterAll(async () => {
  for (const database of databases.values()) await database.drop()
})

/** Milliseconds to load what a look at the tip needs: for a new block, for the mempool and for what is final. */
async function look(waiting: number): Promise<number> {
  const db = databases.get(waiting)?.owner
  if (db === undefined) throw new Error('there is no such database')
  const before = performance.now()
  const tracked = await loadTrackedTransfers(db, NETWORK, 1_000, [])
  await loadTrackedTransfers(db, NETWORK, 1_001, [])
  const due = await loadDueTransfers(db, NETWORK, 1_001, { safe: 900, finalized: 0 })
  const milliseconds = performance.now() - before
  expect([...tracked, ...due]).toEqual([])
  return milliseconds
}

test('a look at the tip costs the same, however many payments wait to become final', async () => {
  const times: { few: number; many: number }[] = []
  for (let round = 0; round < ROUNDS; round++) times.push({ few: await look(FEW), many: await look(MANY) })
  const ratios = times.map(({ few, many }) => many / few)
  printFigure({
    name: `Loading what a look at the tip needs, ${MANY} payments waiting to become final ÷ ${FEW}`,
    target: '≤1.5',
    measured: median(ratios).toFixed(2),
    detail: `${spread(ratios)}; ${median(times.map(({ many }) => many)).toFixed(1)} ms against ${median(times.map(({ few }) => few)).toFixed(1)} ms`,
  })
})

import { expect, test } from 'vitest'
import { claimDeliveries } from '../src/delivery/claim.ts'
import { recordOutcomes } from '../src/delivery/record-outcomes.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { createTenant, createVerifiedEndpoint, fillBacklog } from '../test/support/webhook-fixtures.ts'
import { median, printFigure, spread } from './support/figure.ts'

const ENDPOINTS = 16
const BATCH = 64
const ROUND_MS = 3_000
const ROUNDS = 5
const BACKLOG = 100_000

/** Claims and finishes, one after the other, so many at a time; deliveries per second. */
async function finishFor(database: TestDatabase, rowsMax: number): Promise<number> {
  const deps = { pool: database.pools.delivery, clock: () => new Date(), random: Math.random }
  const result = { code: 'ok', httpStatus: 200, retryAfterMs: null, durationMs: 1, error: null } as const
  const startedAt = performance.now()
  let cursor = ''
  let finished = 0
  while (performance.now() - startedAt < ROUND_MS) {
    const claimed = await claimDeliveries(deps, {
      cursor,
      rowsMax,
      rowsByDefault: rowsMax,
      roomByQueue: new Map(),
    })
    cursor = claimed.nextCursor
    const { leaseId } = claimed
    await recordOutcomes(
      deps,
      claimed.deliveries.map((delivery) => ({ delivery, leaseId, result })),
    )
    finished += claimed.deliveries.length
  }
  const { rows } = await database.owner.query<{ held: number }>(
    'select count(*)::int as held from delivery where lease_id is not null',
  )
  expect(rows[0]?.held).toBe(0)
  return (finished * 1_000) / (performance.now() - startedAt)
}

test('claiming and finishing in batches against one by one', async () => {
  const database = await createTestDatabase()
  try {
    const tenant = await createTenant(database)
    for (let index = 0; index < ENDPOINTS; index++) {
      const endpoint = await createVerifiedEndpoint(database, tenant, 'https://shop.example/hooks')
      await fillBacklog(database, endpoint, (2 * BACKLOG) / ENDPOINTS)
    }
    await database.owner.query('vacuum analyze')
    const single: number[] = []
    const batched: number[] = []
    await finishFor(database, 1)
    for (let round = 0; round < ROUNDS; round++) {
      single.push(await finishFor(database, 1))
      batched.push(await finishFor(database, BATCH))
    }
    const ratios = batched.map((rate, round) => rate / (single[round] ?? Number.NaN))
    printFigure({
      name: `claim and finish, ${BATCH} at a time ÷ one at a time`,
      target: '≥ 8',
      measured: median(ratios).toFixed(1),
      detail: `spread ${spread(ratios)}; ${median(batched).toFixed(0)}/s against ${median(single).toFixed(0)}/s`,
    })
  } finally {
    await database.drop()
  }
})

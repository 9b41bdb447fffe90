import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FinishedAttempt, finishDelivered } from '../../src/db/queries/attempts.ts'
import { claimFromLanes } from '../../src/db/queries/delivery-claims.ts'
import type { Tx } from '../../src/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  fillBacklog,
  type TestEndpoint,
} from '../support/webhook-fixtures.ts'

/** What a plan does for each row of its batch: look-ups, sorts, joins. Comparing each with each would be 256 more. */
const ROWS_LOOKED_AT_PER_ROW_MAX = 32
const ENDPOINTS = 8
const ROWS = 256

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

type PlanNode = { readonly [name: string]: unknown; readonly Plans?: readonly PlanNode[] }

function rowsLookedAt(node: PlanNode): number {
  const each = ['Actual Rows', 'Rows Removed by Filter', 'Rows Removed by Join Filter']
  const own = each.reduce((sum, name) => sum + Number(node[name] ?? 0), 0) * Number(node['Actual Loops'])
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsLookedAt(child), own)
}

const literal = (value: unknown): string =>
  `'${Array.isArray(value) ? `{${value.join(',')}}` : String(value)}'`

/** A transaction that keeps each text's plan of its first use, and counts what each use looks at. */
function counting(client: pg.PoolClient, looked: number[]): Tx {
  return {
    inTransaction: true,
    query: async (text: string, values: unknown[] = []) => {
      const name = text.includes('recursive lane') ? 'claim' : 'finish'
      await client.query('savepoint before')
      const answer = await client.query({ name, text, values })
      await client.query('rollback to before')
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) execute ${name}(${values.map(literal).join(',')})`,
      )
      looked.push(...rows.map((row) => rowsLookedAt(row['QUERY PLAN'][0].Plan)))
      return answer as never
    },
  }
}

test('claims and finishes that were planned while the queue was empty compare no delivery with every other', async () => {
  const tenant = await createTenant(database)
  const endpoints: TestEndpoint[] = []
  for (let index = 0; index < ENDPOINTS; index++) {
    endpoints.push(await createVerifiedEndpoint(database, tenant, 'https://shop.example/hooks'))
  }
  await database.owner.query('vacuum analyze')
  const client = await database.pools.delivery.connect()
  const looked: number[] = []
  const leaseId = randomUUID()
  const claimAndFinish = async (): Promise<number> => {
    await client.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off')
    const tx = counting(client, looked)
    const roomByLane = new Map(endpoints.map((endpoint) => [endpoint.id, ROWS]))
    const { deliveries } = await claimFromLanes(tx, {
      leaseId,
      cursor: '',
      rowsMax: ROWS,
      rowsByDefault: ROWS,
      roomByLane,
    })
    const finished = deliveries.map(
      (delivery, index): FinishedAttempt => ({
        merchantId: delivery.merchantId,
        deliveryId: delivery.id,
        leaseId,
        attemptId: `att_${index}`,
        httpStatus: 200,
        code: 'ok',
        durationMs: 1,
      }),
    )
    expect(await finishDelivered(tx, finished)).toBe(deliveries.length)
    await client.query('rollback')
    return deliveries.length
  }
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    expect(await claimAndFinish()).toBe(0)
    for (const endpoint of endpoints) await fillBacklog(database, endpoint, ROWS / ENDPOINTS)
    looked.length = 0
    expect(await claimAndFinish()).toBe(ROWS)
    expect(looked).toHaveLength(2)
    for (const rows of looked) {
      expect(rows).toBeGreaterThan(ROWS)
      expect(rows).toBeLessThan(ROWS * ROWS_LOOKED_AT_PER_ROW_MAX)
    }
  } finally {
    await client.query('rollback; reset plan_cache_mode')
    client.release()
  }
})

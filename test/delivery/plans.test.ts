import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FinishedAttempt, finishDelivered } from '../../src/db/delivery/attempts.ts'
import { claimFromQueues, claimThrottled } from '../../src/db/delivery/delivery-claims.ts'
import { pullForward, SWEEP_ROWS_MAX, sweepIneligible } from '../../src/db/delivery/delivery-upkeep.ts'
import { lockThrottledQueues } from '../../src/db/delivery/endpoint-queues.ts'
import type { QueueTx } from '../../src/postgres/transaction.ts'
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

const names = new Map<string, string>()

/** A transaction that keeps each text's plan of its first use, and counts what each use looks at. */
function counting(client: pg.PoolClient, looked: number[]): QueueTx {
  return {
    inTransaction: true,
    plansByIndexes: true,
    query: async (text: string, values: unknown[] = []) => {
      const name = names.get(text) ?? `statement_${names.size}`
      names.set(text, name)
      await client.query('savepoint before')
      const answer = await client.query({ name, text, values })
      await client.query('rollback to before')
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) execute ${name}${values.length === 0 ? '' : `(${values.map(literal).join(',')})`}`,
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
    endpoints.push(await createVerifiedEndpoint(database, tenant))
  }
  await database.owner.query('vacuum analyze')
  const client = await database.pools.delivery.connect()
  const looked: number[] = []
  const leaseId = randomUUID()
  const tx = counting(client, looked)
  const claimAndFinish = async (): Promise<number> => {
    await client.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off')
    const roomByQueue = new Map(endpoints.map((endpoint) => [endpoint.id, ROWS]))
    const { deliveries } = await claimFromQueues(tx, {
      leaseId,
      cursor: '',
      rowsMax: ROWS,
      rowsByDefault: ROWS,
      roomByQueue,
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

test('a turn of a throttled endpoint looks at a few rows, however many wait for it or for others', async () => {
  const tenant = await createTenant(database)
  const [dead, other] = [
    await createVerifiedEndpoint(database, tenant, 'https://dead.example/hooks'),
    await createVerifiedEndpoint(database, tenant),
  ]
  const client = await database.pools.delivery.connect()
  const looked: number[] = []
  const tx = counting(client, looked)
  const turn = async (): Promise<number> => {
    await client.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off')
    const turns = await lockThrottledQueues(tx, { held: new Map([[other.id, 1]]), queuesMax: 128 })
    const rowsByQueue = new Map([[dead.id, 8]])
    const { deliveries } = await claimThrottled(tx, { leaseId: randomUUID(), rowsByQueue })
    await pullForward(tx)
    await client.query('rollback')
    return turns.length + deliveries.length
  }
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    expect(await turn()).toBe(0)
    for (const endpoint of [dead, other]) await fillBacklog(database, endpoint, 5_000)
    await database.owner.query(
      `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, next_at) values ($1, $2, false, 99, now())`,
      [tenant.merchantId, dead.id],
    )
    looked.length = 0
    expect(await turn()).toBe(1 + 8)
    expect(looked).toHaveLength(3)
    expect(Math.max(...looked)).toBeLessThan(8 * ROWS_LOOKED_AT_PER_ROW_MAX)
  } finally {
    await client.query('rollback; reset plan_cache_mode')
    client.release()
  }
})

test('a sweep that was planned while the queue was empty looks at what it takes, however many wait', async () => {
  const [tenant, other] = [await createTenant(database), await createTenant(database)]
  const [disabled, enabled] = [
    await createVerifiedEndpoint(database, tenant),
    await createVerifiedEndpoint(database, other),
  ]
  await database.owner.query('truncate delivery, event_awaiting')
  await database.owner.query('vacuum analyze')
  await database.owner.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [disabled.id])
  const client = await database.pools.delivery.connect()
  const looked: number[] = []
  const tx = counting(client, looked)
  const sweep = async (): Promise<number> => {
    await client.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off')
    const swept = await sweepIneligible(tx)
    await client.query('rollback')
    return swept
  }
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    expect(await sweep()).toBe(0)
    for (const endpoint of [disabled, enabled]) await fillBacklog(database, endpoint, 5 * SWEEP_ROWS_MAX)
    looked.length = 0
    expect(await sweep()).toBe(SWEEP_ROWS_MAX)
    expect(Math.max(...looked)).toBeLessThan(SWEEP_ROWS_MAX * ROWS_LOOKED_AT_PER_ROW_MAX)
  } finally {
    await client.query('rollback; reset plan_cache_mode')
    client.release()
  }
})

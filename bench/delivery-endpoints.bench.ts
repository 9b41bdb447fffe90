import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { secretContext } from '../src/db/delivery/endpoint-secrets.ts'
import { newId } from '../src/runtime/new-id.ts'
import { newSigningSecret } from '../src/secrets/signing-secret.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { createTenant, type TestEndpoint, testKeyring } from '../test/support/webhook-fixtures.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'
import {
  fillEvents,
  measureRound,
  type Receiver,
  startReceiver,
  startSender,
  untilFinished,
  type WebhookLoad,
} from './support/webhook-load.ts'

const FEW = 16
const MANY = numberOf('ENDPOINTS', 100_000)
/** Of the many, each has one event in the queue at most: no claim can take several from one. */
const EVENTS = numberOf('EVENTS', 20_000)
const CONCURRENCY = 64
const ROUNDS = 3
const BATCH = 10_000

/** Endpoints of one merchant, written by a statement a batch, all of which lead to one receiver. */
async function createEndpoints(
  database: TestDatabase,
  receiver: Receiver,
  count: number,
): Promise<WebhookLoad> {
  const tenant = await createTenant(database)
  const endpoints: TestEndpoint[] = []
  for (let from = 0; from < count; from += BATCH) {
    const made = Array.from({ length: Math.min(BATCH, count - from) }, () => {
      const secret = newSigningSecret()
      const secretId = randomUUID()
      const sealed = testKeyring.seal(Buffer.from(secret), secretContext(tenant.merchantId, secretId))
      return { tenant, id: newId('webhookEndpoint', new Date()), secret, secretId, sealed }
    })
    const ids = made.map(({ id }) => id)
    await database.owner.query(
      `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, verified_at, created_at)
       select $1, id, false, $2 || '/' || id, '{*}', 'enabled', now(), now() from unnest($3::text[]) as id`,
      [tenant.merchantId, receiver.url, ids],
    )
    await database.owner.query(
      `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at)
       select $1, id, endpoint_id, false, sealed, now()
       from unnest($2::uuid[], $3::text[], $4::bytea[]) as made (id, endpoint_id, sealed)`,
      [tenant.merchantId, made.map(({ secretId }) => secretId), ids, made.map(({ sealed }) => sealed)],
    )
    endpoints.push(...made)
  }
  await database.owner.query('vacuum analyze')
  const secrets = Object.fromEntries(endpoints.map(({ id, secret }) => [id, secret]))
  return { database, receiver, endpoints, secrets }
}

/** When each event that came had come, as a share of the round. */
async function measureTurns(load: WebhookLoad, ofOne: ReadonlySet<string>): Promise<number[]> {
  const received = await load.receiver.report(load.secrets)
  const [first, last] = [received[0]?.atNs ?? 0n, received.at(-1)?.atNs ?? 0n]
  return received
    .filter(({ id }) => !ofOne.has(id))
    .map(({ atNs }) => Number(atNs - first) / Number(last - first))
}

test(`delivery to ${MANY} endpoints against ${FEW}, and whether one of them can hold the others up`, async () => {
  const [few, many] = [await createTestDatabase(), await createTestDatabase()]
  const receiver = await startReceiver()
  try {
    const loads = [
      await createEndpoints(few, receiver, FEW),
      await createEndpoints(many, receiver, MANY),
    ] as const
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, load] of loads.entries()) {
        const worker = await startSender('worker', { load, concurrency: CONCURRENCY })
        const rate = await measureRound(
          load,
          EVENTS,
          () => fillEvents(load, EVENTS),
          () => untilFinished(load),
        )
        await worker.stop()
        // The first round warms up.
        if (round > 0) rates[index]?.push(rate)
        await load.database.owner.query('vacuum analyze')
      }
    }
    const ratios = rates[1].map((rate, round) => rate / (rates[0][round] ?? Number.NaN))
    printFigure({
      name: `Deliveries a second to ${MANY} endpoints ÷ to ${FEW}, ${EVENTS} events, one worker`,
      target: '≥ 0.5',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${median(rates[1]).toFixed(0)}/s against ${median(rates[0]).toFixed(0)}/s`,
    })

    const [, load] = loads
    const [greedy] = load.endpoints
    if (greedy === undefined) throw new Error('no endpoints')
    const { reached } = await receiver.expect(2 * EVENTS)
    const ofOne = new Set(await fillEvents({ ...load, endpoints: [greedy] }, EVENTS))
    await fillEvents(load, EVENTS)
    const worker = await startSender('worker', { load, concurrency: CONCURRENCY })
    await reached
    const turns = await measureTurns(load, ofOne)
    await worker.stop()
    expect(turns).toHaveLength(EVENTS)
    printFigure({
      name: `One endpoint with ${EVENTS} events beside ${EVENTS} that have one each: when the others' had come`,
      target: 'median ≤ 0.5 of the time',
      measured: median(turns).toFixed(2),
      detail: `p99 ${percentile(turns, 0.99).toFixed(2)} of the time that all took`,
    })
  } finally {
    receiver.stop()
    await few.drop()
    await many.drop()
  }
})

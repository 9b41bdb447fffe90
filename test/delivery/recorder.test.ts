import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DeliveryWorker, startDeliveryWorker } from '../../src/delivery/worker.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  attemptsOf,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  eventually,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const GOOD = 20

let database: TestDatabase
let receiver: WebhookReceiver
let worker: DeliveryWorker | undefined
const lines: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  await database.owner.query(
    `create function refuse_recording() returns trigger language plpgsql as
       $$ begin raise exception 'broken row' using errcode = 'check_violation'; end $$`,
  )
})
afterAll(() => database.drop())
beforeEach(async () => {
  lines.length = 0
  receiver = await startReceiver()
})
afterEach(async () => {
  await worker?.stop()
  await receiver.close()
})

async function startWorker(): Promise<DeliveryWorker> {
  worker = await startDeliveryWorker({
    pool: database.pools.delivery,
    clock: () => new Date(),
    log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
    keyring: testKeyring,
    allowPrivateTest: true,
  })
  return worker
}

/** The delivery of this event can be recorded no more, as if the row were broken. */
const refuseRecording = (eventId: string) =>
  database.owner.query(
    `create trigger refuse_recording before insert on attempt for each row
     when (new.event_id = '${eventId}' and new.code = 'ok') execute function refuse_recording()`,
  )

async function letItBeRecorded(eventId: string): Promise<void> {
  await database.owner.query('drop trigger refuse_recording on attempt')
  await database.owner.query('update delivery set due_at = now()')
  await eventually(async () => (await countRows(database, 'delivery')) === 0, 'it is sent again')
  expect(await attemptsOf(database, eventId)).toMatchObject([{ code: 'unknown_outcome' }, { code: 'ok' }])
}

const isLogged = () => lines.some((line) => line.includes('are sent again'))

test.each([0, GOOD])(
  'an outcome that cannot be recorded is logged and sent again, and holds up none of %i others',
  async (others) => {
    const tenant = await createTenant(database)
    await createVerifiedEndpoint(database, tenant, receiver.url)
    const broken = await emitEvent(database, tenant)
    const good = await Promise.all(Array.from({ length: others }, () => emitEvent(database, tenant)))
    await refuseRecording(broken)
    const { report } = await startWorker()
    await eventually(async () => (await countRows(database, 'delivery')) === 1, 'all others are recorded')
    for (const id of good) expect(await attemptsOf(database, id)).toMatchObject([{ code: 'ok' }])
    await eventually(isLogged, 'the log names it')
    await eventually(() => report().unrecorded === 0, 'nothing is held')
    await letItBeRecorded(broken)
  },
)

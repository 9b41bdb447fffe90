import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DeliveryWorker, startDeliveryWorker } from '../../src/delivery/worker.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import {
  attemptsOf,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const GOOD = 20

let database: TestDatabase
let receiver: WebhookReceiver
let worker: DeliveryWorker | undefined
const lines: string[] = []
const unrecorded: string[] = []

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
  unrecorded.length = 0
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
    onUnrecorded: (end) => void unrecorded.push(end),
  })
  return worker
}

/** Attempts of this event can be recorded no more, of `code` or of any, as if the row were broken. */
const refuseRecording = (eventId: string, code: string | null = 'ok') =>
  database.owner.query(
    `create trigger refuse_recording before insert on attempt for each row
     when (new.event_id = '${eventId}' and new.code = ${code === null ? 'new.code' : `'${code}'`})
     execute function refuse_recording()`,
  )

const endRefusal = () => database.owner.query('drop trigger refuse_recording on attempt')

async function letItBeRecorded(eventId: string): Promise<void> {
  await endRefusal()
  await database.owner.query('update delivery set due_at = now()')
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'it is sent again' })
  const codes = (await attemptsOf(database, eventId)).map(({ code }) => code)
  expect(codes.at(-1)).toBe('ok')
  expect(new Set(codes.slice(0, -1))).toEqual(new Set(['unknown_outcome']))
}

const isLogged = (words = 'are sent again') => lines.some((line) => line.includes(words))

test.each([0, GOOD])(
  'an outcome that cannot be recorded is logged and sent again, and holds up none of %i others',
  async (others) => {
    const tenant = await createTenant(database)
    await createVerifiedEndpoint(database, tenant, receiver.url)
    const broken = await emitEvent(database, tenant)
    const good = await Promise.all(Array.from({ length: others }, () => emitEvent(database, tenant)))
    await refuseRecording(broken)
    const { report } = await startWorker()
    await until(async () => (await countRows(database, 'delivery')) === 1, {
      what: 'all others are recorded',
    })
    for (const id of good) expect(await attemptsOf(database, id)).toMatchObject([{ code: 'ok' }])
    await until(() => isLogged(), { what: 'the log names it' })
    await until(() => report().unrecorded === 0, { what: 'nothing is held' })
    await letItBeRecorded(broken)
  },
)

/** The next attempt is the tenth: the pause after it is some hours long. */
const setTenth = (changes = '') => database.owner.query(`update delivery set attempt = 9 ${changes}`)

test('an outcome that cannot be recorded is tried again with the pauses of a failed attempt', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const event = await emitEvent(database, tenant)
  await setTenth()
  await refuseRecording(event)
  await startWorker()
  const isPostponed = async () =>
    (await database.owner.query("select from delivery where due_at > now() + interval '4 hours'"))
      .rowCount === 1
  await until(isPostponed, { what: 'it is postponed' })
  await until(() => unrecorded.includes('postponed'), { what: 'it is counted' })
  expect(receiver.events).toHaveLength(1)
  // The merchant sees now that it was tried, and not with the next attempt.
  expect(await attemptsOf(database, event)).toMatchObject([{ number: 10, code: 'unknown_outcome' }])
  await letItBeRecorded(event)
})

test('what cannot be recorded until its retries are over awaits delivery', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const event = await emitEvent(database, tenant)
  await setTenth(", give_up_at = now() + interval '1 hour'")
  await refuseRecording(event, null)
  await startWorker()
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'it is ended' })
  await until(() => isLogged('await delivery'), { what: 'the log says so' })
  expect(unrecorded).toEqual(['exhausted'])
  const { rows } = await database.owner.query('select event_id, reason from event_awaiting')
  expect(rows).toEqual([{ event_id: event, reason: 'exhausted' }])
  await endRefusal()
})

test('what cannot even be ended is sent again at most as often as a failed attempt', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const event = await emitEvent(database, tenant)
  await setTenth(", give_up_at = now() + interval '1 hour'")
  await refuseRecording(event, null)
  await database.owner.query(
    'create trigger refuse_end before delete on delivery for each row execute function refuse_recording()',
  )
  await startWorker()
  await until(() => unrecorded.includes('postponed'), { what: 'it is postponed' })
  const { rows } = await database.owner.query(
    "select due_at > now() + interval '4 hours' as late from delivery",
  )
  expect(rows).toEqual([{ late: true }])
  await database.owner.query('drop trigger refuse_end on delivery')
  await letItBeRecorded(event)
})

test('an attempt of unknown outcome that cannot be recorded holds up no other delivery', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const [broken, lapsed] = [await emitEvent(database, tenant), await emitEvent(database, tenant)]
  await database.owner.query(
    'update delivery set attempt = 1, lease_id = gen_random_uuid(), due_at = now(), was_due_at = now()',
  )
  const good = await emitEvent(database, tenant)
  await refuseRecording(broken, 'unknown_outcome')
  await startWorker()
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'all are delivered' })
  expect(await attemptsOf(database, good)).toMatchObject([{ code: 'ok' }])
  expect(await attemptsOf(database, lapsed)).toMatchObject([{ code: 'unknown_outcome' }, { code: 'ok' }])
  expect(await attemptsOf(database, broken)).toMatchObject([{ code: 'ok' }])
  expect(isLogged('attempts of unknown outcome cannot')).toBe(true)
  await endRefusal()
})

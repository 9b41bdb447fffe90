import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import type { Tenant } from '../../src/postgres/transaction.ts'
import type { TestDatabase } from '../../test/support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  TEST_SECRET_KEY,
  type TestEndpoint,
} from '../../test/support/webhook-fixtures.ts'

/** Bytes of an invoice's event, about. */
const BODY_BYTES = 1_300
const POLL_MS = 10

export type Received = { readonly id: string; readonly verified: boolean; readonly atNs: bigint }

export type Receiver = {
  readonly pid: number
  readonly url: string
  /** Forgets what came; `reached` resolves when so many have come. */
  expect(count: number): Promise<{ reached: Promise<void> }>
  /** All that came since, each signature looked at. */
  report(secrets: { readonly [endpointId: string]: string }): Promise<Received[]>
  stop(): void
}

/** A receiver in a process of its own, see receiver-process.mjs. */
export async function startReceiver(): Promise<Receiver> {
  const child = fork(new URL('./receiver-process.mjs', import.meta.url))
  const { port } = await message<{ port: number }>(child, 'listening')
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}/hooks`,
    expect: async (wanted) => {
      const ready = message(child, 'ready')
      child.send({ kind: 'reset', wanted })
      await ready
      return { reached: message(child, 'reached').then(() => {}) }
    },
    report: async (secrets) => {
      const answer = message<{ events: { id: string; verified: boolean; atNs: string }[] }>(child, 'report')
      child.send({ kind: 'report', secrets })
      return (await answer).events.map((event) => ({ ...event, atNs: BigInt(event.atNs) }))
    },
    stop: () => child.disconnect(),
  }
}

function message<Message>(child: ChildProcess, kind: string): Promise<Message> {
  return new Promise((resolve) => {
    const onMessage = (received: unknown): void => {
      if ((received as { kind: string }).kind !== kind) return
      child.off('message', onMessage)
      resolve(received as Message)
    }
    child.on('message', onMessage)
  })
}

export type Job = { readonly id: string; readonly endpoint: string; readonly body: string }
export type Sender = { readonly pid: number; send(jobs: readonly Job[]): void; stop(): Promise<void> }

/** A sender in a process of its own, see sender-process.mjs. */
export async function startSender(
  kind: 'worker' | 'bare' | 'graphile' | 'graphile-batched' | 'pgboss' | 'pgboss-large',
  setup: { load: WebhookLoad; concurrency: number; databaseUrl?: string },
): Promise<Sender> {
  const { load } = setup
  const settings = {
    kind,
    concurrency: setup.concurrency,
    databaseUrl: setup.databaseUrl ?? load.database.urls.delivery,
    secretKey: TEST_SECRET_KEY.toString('hex'),
    receiverUrl: load.receiver.url,
    // The worker finds them in the database; an argument holds some hundreds.
    secrets: kind === 'worker' ? {} : load.secrets,
  }
  const child = fork(new URL('./sender-process.mjs', import.meta.url), [JSON.stringify(settings)])
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`the ${kind} sender ended`))),
  ])
  return {
    pid: child.pid ?? 0,
    send: (jobs) => child.send({ jobs }),
    stop: async () => {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

/** Endpoints of one merchant that all lead to one receiver. */
export type WebhookLoad = {
  readonly database: TestDatabase
  readonly receiver: Receiver
  readonly endpoints: readonly TestEndpoint[]
  readonly secrets: { readonly [endpointId: string]: string }
}

export async function createLoad(
  database: TestDatabase,
  receiver: Receiver,
  endpointCount: number,
  merchant?: Tenant,
): Promise<WebhookLoad> {
  const tenant = merchant ?? (await createTenant(database))
  const endpoints: TestEndpoint[] = []
  for (let index = 0; index < endpointCount; index++) {
    const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
    await database.owner.query(`update webhook_endpoint set url = url || '/' || id where id = $1`, [
      endpoint.id,
    ])
    endpoints.push(endpoint)
  }
  const secrets = Object.fromEntries(endpoints.map((endpoint) => [endpoint.id, endpoint.secret]))
  return { database, receiver, endpoints, secrets }
}

let fills = 0

/** What writing thousands of events leaves to do, the server does before they are due: writing is another figure. */
export const DUE_AFTER_SECONDS = 2
export const finishWriting = (load: WebhookLoad): Promise<unknown> => load.database.owner.query('checkpoint')

/** Of one statement: more take longer than the service lets any. */
const STATEMENT_ROWS = 100_000

/** Events for all endpoints in turn, as they would stand after their commit, all due in a moment. Returns their ids. */
export async function fillEvents(
  load: WebhookLoad,
  count: number,
  bodyBytes = BODY_BYTES,
): Promise<string[]> {
  const ids: string[][] = []
  for (let left = count; left > 0; left -= STATEMENT_ROWS)
    ids.push(await insertEvents(load, Math.min(left, STATEMENT_ROWS), bodyBytes))
  await finishWriting(load)
  return ids.flat()
}

async function insertEvents(load: WebhookLoad, count: number, bodyBytes: number): Promise<string[]> {
  const [first] = load.endpoints
  if (first === undefined) throw new Error('a load without endpoints')
  fills += 1
  const ids = load.endpoints.map((endpoint) => endpoint.id)
  const { rows } = await load.database.owner.query<{ id: string }>(
    `with made as (
       insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
       select $1, 'evt_' || lpad(to_hex($3::int), 4, '0') || lpad(to_hex(n), 8, '0') || substr(md5(n::text), 1, 14),
         false, 'invoice.paid', 'inv_' || $3::int, n, convert_to('{"n":' || n || ',"data":"' || repeat('x', $5) || '"}', 'UTF8'), now()
       from generate_series(1, $4::int) n returning id, sequence),
     queued as (
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
       select $1, 'dlv_' || substr(id, 5), false, ($2::text[])[1 + sequence % array_length($2::text[], 1)], id,
         now() + $6 * interval '1 second', now() + interval '5 days'
       from made)
     select id from made`,
    [first.tenant.merchantId, ids, fills, count, bodyBytes, DUE_AFTER_SECONDS],
  )
  return rows.map((row) => row.id)
}

/** The same events, in memory. */
export function makeJobs(load: WebhookLoad, count: number): Job[] {
  fills += 1
  return Array.from({ length: count }, (_, n) => ({
    id: `evt_${fills}_${n}`,
    endpoint: load.endpoints[n % load.endpoints.length]?.id ?? '',
    body: `{"n":${n},"data":"${'x'.repeat(BODY_BYTES)}"}`,
  }))
}

/**
 * Lets `start` set off the sending of events and waits until all have come. Checks that what came is what was
 * emitted, once each, and that every signature verifies. Returns events per second from the first's arrival to
 * the last's, or to the end of `settle`.
 */
export async function measureRound(
  load: WebhookLoad,
  count: number,
  start: () => Promise<readonly string[]>,
  settle: () => Promise<void> = async () => {},
): Promise<number> {
  const { reached } = await load.receiver.expect(count)
  const emitted = await start()
  await reached
  await settle()
  const endedAt = process.hrtime.bigint()
  const received = await load.receiver.report(load.secrets)
  expect(received.filter((event) => !event.verified)).toEqual([])
  expect(received.map((event) => event.id).sort()).toEqual([...emitted].sort())
  const first = received[0]?.atNs ?? 0n
  return (count * 1e9) / Number(endedAt - first)
}

/** Resolves when the query finds nothing any more. */
export async function untilEmpty(load: WebhookLoad, query: string): Promise<void> {
  while ((await load.database.owner.query(query)).rowCount !== 0) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Resolves when every delivery is finished and recorded. */
export const untilFinished = (load: WebhookLoad): Promise<void> =>
  untilEmpty(load, 'select from delivery limit 1')

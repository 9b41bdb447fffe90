import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { GIVE_UP_AFTER_MS } from '../../src/core/endpoint/backoff.ts'
import { eventBody } from '../../src/core/event/envelope.ts'
import { secretContext } from '../../src/db/delivery/endpoint-secrets.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { newSigningSecret } from '../../src/secrets/signing-secret.ts'
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

export const TEST_SECRET_KEY = Buffer.alloc(32, 7)
export const testKeyring = openKeyring(TEST_SECRET_KEY)
export const silentLog = pino({ level: 'silent' })

/** A merchant in test mode. */
export async function createTenant(database: TestDatabase, livemode = false): Promise<Tenant> {
  const merchantId = newId('merchant', new Date())
  await database.owner.query(`insert into merchant values ($1, 'Shop', 'shop@example.com', now())`, [
    merchantId,
  ])
  return { merchantId, livemode }
}

/** Leaves no event, no delivery and no attempt. */
export const clearDeliveries = (database: TestDatabase): Promise<unknown> =>
  database.owner.query('truncate delivery, delivery_lane, event_awaiting, attempt, event')

export type TestEndpoint = { readonly tenant: Tenant; readonly id: string; readonly secret: string }

/** An endpoint as it stands once verified, with one secret; at an address that nothing is sent to, unless given. */
export async function createVerifiedEndpoint(
  database: TestDatabase,
  tenant: Tenant,
  url = 'https://shop.example/hooks',
  subscribedEvents: readonly string[] = ['*'],
  format = 'paylink',
): Promise<TestEndpoint> {
  const id = newId('webhookEndpoint', new Date())
  const secret = newSigningSecret()
  await database.owner.query(
    `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, format, status, verified_at, created_at)
     values ($1, $2, $3, $4, $5, $6, 'enabled', now(), now())`,
    [tenant.merchantId, id, tenant.livemode, url, subscribedEvents, format],
  )
  const secretId = randomUUID()
  const sealed = testKeyring.seal(Buffer.from(secret), secretContext(tenant.merchantId, secretId))
  await database.owner.query(
    `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at)
     values ($1, $2, $3, $4, $5, now())`,
    [tenant.merchantId, secretId, id, tenant.livemode, sealed],
  )
  return { tenant, id, secret }
}

/** Writes one event the way the product does, deliveries included. Returns its id. */
export async function emitEvent(
  database: TestDatabase,
  tenant: Tenant,
  type = 'invoice.created',
): Promise<string> {
  const now = new Date()
  const id = newId('event', now)
  const resourceId = newId('invoice', now)
  const { merchantId, livemode } = tenant
  const data = { id: resourceId, status: 'awaiting_payment', note: 'Größe 1 €' }
  const envelope = { id, type, merchantId, resourceId, livemode, createdAtMs: now.getTime(), sequence: 1 }
  const body = eventBody({ ...envelope, requestId: null, data })
  await withTransaction(database.pools.watcher, tenant, (tx) =>
    insertEvent(tx, tenant, { id, type, resourceId, sequence: 1, body, requestId: null, createdAt: now }),
  )
  return id
}

/** One statement writes no more, so that a busy server ends it well within the time that a statement may take. */
const BACKLOG_ROWS_AT_ONCE = 10_000

/** Many events for one endpoint, already due. Returns nothing: they are told apart by their ids in the table. */
export async function fillBacklog(
  database: TestDatabase,
  endpoint: TestEndpoint,
  count: number,
): Promise<void> {
  const { merchantId, livemode } = endpoint.tenant
  for (let first = 1; first <= count; first += BACKLOG_ROWS_AT_ONCE) {
    const last = Math.min(first + BACKLOG_ROWS_AT_ONCE - 1, count)
    await database.owner.query(
      `with made as (
         insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
         select $1, 'evt_' || lpad(to_hex(n), 8, '0') || substr(md5($3 || n), 1, 18), $2, 'invoice.created',
           'inv_' || $3, n, convert_to('{"id":"evt"}', 'UTF8'), now()
         from generate_series($4::int, $5::int) n returning id)
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
       select $1, 'dlv_' || substr(id, 5), $2, $3, id, now(), now() + $6 * interval '1 millisecond' from made`,
      [merchantId, livemode, endpoint.id, first, last, GIVE_UP_AFTER_MS],
    )
  }
}

/** Waits until no delivery is left, for as long as they become fewer; `betweenLooks` may let leases lapse. */
export async function untilDelivered(
  database: TestDatabase,
  betweenLooks: () => Promise<unknown> = async () => {},
): Promise<void> {
  for (let left = await countRows(database, 'delivery'); left > 0; ) {
    const before = left
    await until(
      async () => {
        await betweenLooks()
        left = await countRows(database, 'delivery')
        return left < before
      },
      { what: `more is delivered while ${before} are left` },
    )
  }
}

export type AttemptRow = {
  event_id: string
  endpoint_id: string
  number: number
  code: string
  http_status: number | null
  duration_ms: number
}

export async function attemptsOf(database: TestDatabase, eventId: string): Promise<AttemptRow[]> {
  const { rows } = await database.owner.query<AttemptRow>(
    'select event_id, endpoint_id, number, code, http_status, duration_ms from attempt where event_id = $1 order by number, id',
    [eventId],
  )
  return rows
}

export async function countRows(
  database: TestDatabase,
  table: 'delivery' | 'event_awaiting' | 'attempt' | 'event',
): Promise<number> {
  const { rows } = await database.owner.query<{ count: number }>(
    `select count(*)::int as count from ${table}`,
  )
  return rows[0]?.count ?? 0
}

/**
 * What time does to deliveries that are due, or whose lease ends, more than so many seconds ahead: they are due now.
 * Rows that a worker holds at this moment are left alone.
 */
export async function letTimePass(database: TestDatabase, moreThanSeconds: number): Promise<void> {
  await database.owner.query(
    `update delivery d set due_at = now() where d.ctid = any (array(
       select ctid from delivery where due_at > now() + $1 * interval '1 second' for update skip locked))`,
    [moreThanSeconds],
  )
}

import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeNotices } from '../../src/mail/write-notices.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedMerchant } from '../support/seed.ts'
import { silentLog } from '../support/webhook-fixtures.ts'

const PLANTED = 300

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

test("managers that the API's login plants by the thousand keep no round of emails from its end", async () => {
  const { api, delivery } = database.pools
  const { merchantId } = await seedMerchant(database)
  const plant = async (ids: string, count: number) => {
    await api.query(
      `insert into person (id, name, email, email_verified, created_at, updated_at)
       select $2 || n, 'x', $2 || n || '@shop.example', true, now(), now() from generate_series(1, $1::int) n`,
      [count, ids],
    )
    await api.query(
      `insert into organization_member (id, organization_id, user_id, role, created_at)
       select $2 || n, $3, $2 || n, 'owner', now() from generate_series(1, $1::int) n`,
      [count, ids, merchantId],
    )
  }
  const addressees: string[] = []
  const mail = { send: async ({ to }: { to: string }) => void addressees.push(to) }
  const deps = { pool: delivery, mail, log: silentLog, baseUrl: 'https://pay.example.com' }
  await api.query(
    `insert into organization (id, name, slug, created_at) values ($1::text, 'x', $1::text, now())`,
    [merchantId],
  )
  await plant('z', 2)
  await writeNotices(deps, 0)
  await plant('a', PLANTED)
  const id = newId('event', new Date())
  const unknown = { usd_amount: null, external_reference: null, order_reference: null, status_reason: null }
  const data = { ...unknown, review_reason: null, id, status: 'paid', amount_confirmed: '1', asset: 'LTC' }
  await withTransaction(api, { merchantId, livemode: true }, (tx) =>
    tx.query(
      `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
       values ($1, $2, true, 'invoice.paid', 'inv', 1, $3, now() - interval '1 minute')`,
      [merchantId, id, Buffer.from(JSON.stringify({ event_type: 'invoice.paid', data }))],
    ),
  )
  await writeNotices(deps, 0)
  expect(addressees).toHaveLength(100)
  expect(addressees.slice(0, 2)).toEqual(['z1@shop.example', 'z2@shop.example'])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { findLinkOwner } from '../../src/db/checkout/payment-links.ts'
import { DATABASE_ROLES } from '../../src/postgres/roles.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { seedResources } from '../support/resources.ts'

let api: TestApi
let victim: TestMerchant
let thief: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
  victim = await api.addMerchant()
  thief = await api.addMerchant()
})
afterAll(() => api.drop())

const asApi = (tenant: Tenant, statement: string, values: readonly unknown[] = []) =>
  withTransaction(api.database.pools.api, tenant, (tx) => tx.query(statement, [...values]))

test('no login moves a row to another shop or mode, or gives it another id', async () => {
  const { rows } = await api.database.owner.query<{ right: string }>(
    `select role || ' ' || c.relname || '.' || a.attname as right
     from unnest($1::text[]) as role, pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attname in ('merchant_id', 'livemode', 'id')
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and exists (select from pg_attribute m where m.attrelid = c.oid and m.attname = 'merchant_id')
       and has_column_privilege('paylink_' || role, c.oid, a.attnum, 'update')
     order by 1`,
    [DATABASE_ROLES],
  )
  expect(rows.map(({ right }) => right)).toEqual([])
})

/** Tables that the sign-in library writes, whole rows at a time. What counts of them is sealed. */
const OF_SIGN_INS = /^(organization|person|sign_in_rate)/

test('no login changes what a row is found by, but of sign-ins', async () => {
  const { rows } = await api.database.owner.query<{ table: string; right: string }>(
    `select c.relname as table, role || ' ' || c.relname || '.' || a.attname as right
     from unnest($1::text[]) as role, pg_class c
     join pg_index i on i.indrelid = c.oid and i.indisprimary
     join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and has_column_privilege('paylink_' || role, c.oid, a.attnum, 'update')
     order by 2`,
    [DATABASE_ROLES],
  )
  expect(rows.filter(({ table }) => !OF_SIGN_INS.test(table)).map(({ right }) => right)).toEqual([])
})

test("with the API's login nobody takes the URL of a shop's payment link, or what its session promises", async () => {
  const tenant = { merchantId: victim.id, livemode: false }
  const { paymentLink: linkId } = await seedResources(api, tenant)
  const { rows } = await asApi(tenant, 'select slug from payment_link where id = $1', [linkId])
  const slug = rows[0]?.slug
  for (const statement of [
    `update payment_link set slug = 'pl_taken00000'`,
    `update payment_link set allow_dynamic_amount = true`,
    'delete from payment_link',
    `update checkout_session set return_url = 'https://thief.example'`,
    'update checkout_session set usd_cents = 1',
    `update webhook_endpoint set format = 'theirs'`,
    `update endpoint_secret set secret_sealed = ''`,
  ])
    await expect(asApi(tenant, statement), statement).rejects.toThrow('permission denied')
  await asApi(tenant, 'update payment_link set active = false')
  const insert = `insert into payment_link (merchant_id, id, livemode, slug, name, allow_dynamic_amount, active, created_at)
    values ($1, 'plink_theirs', false, $2, 'Coffee', true, true, now())`
  await expect(asApi({ merchantId: thief.id, livemode: false }, insert, [thief.id, slug])).rejects.toThrow(
    'payment_link_by_slug',
  )
  await asApi(tenant, 'update payment_link set active = true')
  expect(await findLinkOwner(api.database.pools.api, slug)).toMatchObject({ tenant })
})

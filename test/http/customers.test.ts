import { afterAll, beforeAll, expect, test } from 'vitest'
import { listCustomers } from '../../src/db/invoices/customers.ts'
import { planByIndexes } from '../../src/db/invoices/invoice-list.ts'
import { firstIdAt } from '../../src/db/list-page.ts'
import type { Tx } from '../../src/postgres/transaction.ts'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'

const ROWS = 30_000

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const customers = async (browser: TestBrowser, query = '', mode = 'test') => {
  const answer = await browser.ask('GET', `/api/v1/customers${query}`, undefined, { 'paylink-mode': mode })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

async function openShop(name: string) {
  const { browser, merchantId } = await people.signUp(name)
  const create = async (body: object, mode = 'test'): Promise<string> => {
    people.api.time.advance(1)
    const answer = await browser.ask('POST', '/api/v1/invoices', body, { 'paylink-mode': mode })
    expect(answer.status, answer.text).toBe(201)
    return answer.body.id
  }
  return { browser, merchantId, create }
}

test('customers are those of one shop and mode, by email, else by reference, the latest first', async () => {
  const [shop, other] = [await openShop('Cat'), await openShop('Dot')]
  const LTC = { asset: 'LTC', usd_amount: '10' }
  const first = await shop.create({ ...LTC, customer_email: 'ann@example.com', external_reference: 'a-1' })
  await shop.create({ ...LTC, external_reference: 'walk-in' })
  const last = await shop.create({ ...LTC, customer_email: 'ann@example.com', external_reference: 'a-2' })
  await shop.create(LTC)
  await shop.create({ ...LTC, customer_email: 'live@example.com' }, 'live')
  await other.create({ ...LTC, customer_email: 'other@example.com' })
  await people.api.database.owner.query(`update invoice set status = 'paid' where id = $1`, [first])

  const { data, has_more } = await customers(shop.browser)
  expect(data).toMatchObject([
    {
      id: 'ann@example.com',
      email: 'ann@example.com',
      reference: 'a-2',
      invoices: 2,
      paid: 1,
      paid_usd: '10.00',
      last_invoice_id: last,
      livemode: false,
    },
    { id: 'walk-in', email: null, reference: 'walk-in', invoices: 1, paid: 0, paid_usd: '0.00' },
  ])
  expect(has_more).toBe(false)
  const ids = async (query: string, mode?: string) =>
    (await customers(shop.browser, query, mode)).data.map(({ id }: { id: string }) => id)
  expect(await ids('?limit=1')).toEqual(['ann@example.com'])
  expect(await ids('?q=walk')).toEqual(['walk-in'])
  expect(await ids('?q=a-1')).toEqual(['ann@example.com'])
  expect(await ids('?q=other')).toEqual([])
  expect(await ids("?q=%25' or true --")).toEqual([])
  expect(await ids('', 'live')).toEqual(['live@example.com'])
})

test('a search among very many customers reads no more than its limit, by the indexes', async () => {
  const shop = await openShop('Eve')
  const { owner } = people.api.database
  await owner.query(
    `insert into invoice (merchant_id, id, livemode, status, asset, amount, usd_cents, amount_source, confirmations,
       allow_asset_selection, address, created_at, expires_at, announced, customer_email)
     select $1, $2 || lpad(i::text, 8, '0'), false, 'expired', 'LTC', 1000, 100, 'merchant', '{}', false, 'address',
       now(), now(), '{}', 'buyer' || i || '@example.com'
     from generate_series(1, $3::int) i`,
    [shop.merchantId, firstIdAt('invoice', Date.now(), 0)?.slice(0, -8), ROWS],
  )
  await owner.query('vacuum analyze invoice')
  const client = await owner.connect()
  const plans: string[] = []
  try {
    const explaining: Tx = {
      inTransaction: true,
      query: async (text: string, values: unknown[] = []) => {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (analyze) ${text}`, values)
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        return { rows: [] } as never
      },
    }
    await client.query('begin')
    await planByIndexes({ inTransaction: true, query: client.query.bind(client) } as never)
    const tenant = { merchantId: shop.merchantId, livemode: false }
    for (const search of [null, 'buyer']) await listCustomers(explaining, tenant, { search, limit: 10 })
  } finally {
    client.release(true)
  }
  for (const plan of plans) {
    expect(plan).not.toContain('Seq Scan')
    const read = [...plan.matchAll(/Index Scan.*actual time=\S+ rows=(\d+)/g)].map(([, rows]) => Number(rows))
    expect(Math.max(...read), plan).toBeLessThanOrEqual(10_000)
  }
  expect(plans[0]).toMatch(/invoice_(by_mode|pkey)/)
  expect(plans[1]).toContain('invoice_by_customer_email')
})

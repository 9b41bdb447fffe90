import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_SELLER } from '../../src/core/receipt/seller.ts'
import { requestReceipt } from '../../src/flows/request-receipt.ts'
import type { Email } from '../../src/mail/mail.ts'
import { writeReceipts } from '../../src/mail/write-receipts.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { receiptEmail } from '../../src/web/checkout/receipt-email.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { silentLog, testKeyring } from '../support/webhook-fixtures.ts'

/** What somebody does to receipts by email who asks for very many, or has the API's login. */

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const sent: Email[] = []
const place = { after: null }
const round = () =>
  writeReceipts(
    {
      pool: database.pools.delivery,
      mail: { send: async (message) => void sent.push(message) },
      log: silentLog,
      keyring: testKeyring,
      write: receiptEmail,
      sendsMail: true,
    },
    place,
  )

/** A paid invoice whose buyer asked for the receipt. */
async function paidInvoice(email: string) {
  const tenant = await seedMerchant(database, true)
  const { id } = await seedInvoice(database, tenant)
  const { api, owner } = { ...database.pools, owner: database.owner }
  const url = 'https://pay.example.com/'
  const shop = { merchantName: 'Shop', seller: NO_SELLER }
  const request = { email, language: 'en', ...shop, item: null, url }
  await requestReceipt({ pool: api, keyring: testKeyring }, { tenant, invoiceId: id, ...request })
  const data = {
    usd_amount: '10',
    amount_confirmed: '0.1',
    asset: 'LTC',
    external_reference: null,
    order_reference: null,
    paid_at: '2026-11-21T12:00:00.000Z',
  }
  await owner.query(
    `begin; set local session_replication_role = replica;
     insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
     values ('${tenant.merchantId}', 'evt_' || md5('${id}'), true, 'invoice.paid', '${id}', 1,
       convert_to('${JSON.stringify({ data })}', 'UTF8'), now());
     commit`,
  )
  return { tenant, id }
}

test('one mailbox gets twenty receipts a day, whatever follows a plus sign in its address', async () => {
  for (let index = 0; index < 22; index++) await paidInvoice(`victim+${index}@example.com`)
  await round()
  expect(sent).toHaveLength(20)
  sent.length = 0
})

test('a round looks at a bounded number of requests, however many wait, and the next goes on there', async () => {
  await database.owner.query(
    `begin; set local session_replication_role = replica;
     insert into receipt_request (merchant_id, invoice_id, livemode, recipient, sealed, asked_at)
     select 'mer_flood', 'inv_' || n, true, '\\x01', '\\x01', now() - interval '1 hour' from generate_series(1, 12000) n;
     commit`,
  )
  await paidInvoice('buyer@example.com')
  expect([await round(), await round(), await round()]).toEqual([0, 0, 1])
  // Around again: what was paid meanwhile.
  await paidInvoice('next@example.com')
  const next: number[] = []
  for (let turn = 0; turn < 3; turn++) next.push(await round())
  expect(next).toEqual([0, 0, 1])
  await database.owner.query(`delete from receipt_request where merchant_id = 'mer_flood'`)
})

test("with the API's login no request is kept that can neither be sent nor end", async () => {
  const { tenant, id } = await paidInvoice('open@example.com')
  const write = (sql: string) => withTransaction(database.pools.api, tenant, (tx) => tx.query(sql))
  await expect(write(`update receipt_request set sealed = null where invoice_id = '${id}'`)).rejects.toThrow(
    'receipt_request_open_is_sealed',
  )
})

test('an upgrade ends requests that were left so before', async () => {
  const { owner } = database
  const { id } = await paidInvoice('before@example.com')
  await owner.query('alter table receipt_request drop constraint receipt_request_open_is_sealed')
  await owner.query('update receipt_request set sealed = null where invoice_id = $1', [id])
  for (const name of ['0810_open_receipts_are_sealed', '0811_open_receipts_are_sealed_checked'])
    await owner.query(await readFile(new URL(`../../migrations/${name}.sql`, import.meta.url), 'utf8'))
  const { rows } = await owner.query('select outcome from receipt_request where invoice_id = $1', [id])
  expect(rows).toEqual([{ outcome: 'refused' }])
})

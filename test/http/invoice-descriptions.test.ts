import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { reopenInvoice } from '../../src/flows/reopen-invoice.ts'
import { createMarketReader } from '../../src/http/api/market.ts'
import { createReceiptPart, RECEIPT_KEYS_PATH } from '../../src/http/public/receipts.ts'
import { judgeReceipt, readPublicKeys } from '../../src/secrets/receipt-key.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock } from '../support/invoice.ts'

/** What the shop says that the buyer pays for. */
const ITEM = 'Two <b>cups</b> & a “pot”, 茶'
const ESCAPED = 'Two &lt;b&gt;cups&lt;/b&gt; &amp; a “pot”, 茶'

let api: TestApi
let merchant: TestMerchant
let site: Awaited<ReturnType<typeof startBuyersSite>>
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  site = await startBuyersSite(api)
})
afterAll(async () => {
  await site?.stop()
  await api?.drop()
})

const create = (fields: object, once?: string) =>
  api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { usd_amount: '84.37', asset: 'LTC', ...fields },
    ...(once === undefined ? {} : { headers: { 'idempotency-key': once } }),
  })
const read = (path: string) => api.call('GET', path, { key: merchant.testKey })
const tenant = () => ({ merchantId: merchant.id, livemode: false })
const pay = (invoiceId: string) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant: tenant(),
      invoiceId,
      facts: [
        inBlock(randomBytes(32).toString('hex'), 100_000_000n, 9, { firstSeenMs: api.time.now.getTime() }),
      ],
      tipHeight: 100,
    },
  )
const pageOf = async (checkoutUrl: string, query = '') =>
  (await fetch(`${site.url}${new URL(checkoutUrl).pathname}${query}`)).text()
const fetchPart = async (path: string) =>
  (await createReceiptPart(api.deps).fetch(new Request(`https://pay.example.com${path}`))).text()

test('a description is answered, listed and told by events, and null where there is none', async () => {
  const { status, body } = await create({ description: ITEM })
  expect([status, body.description]).toEqual([201, ITEM])
  expect((await read(`/invoices/${body.id}`)).body).toEqual(body)
  expect((await read('/invoices')).body.data[0].description).toBe(ITEM)
  const { rows } = await api.database.owner.query('select body from event where resource_id = $1', [body.id])
  expect(rows.map((row) => JSON.parse(row.body).data.description)).toEqual([ITEM])
  expect((await create({})).body.description).toBeNull()
})

test('a description has 1 to 500 characters of one line', async () => {
  for (const good of ['.', '茶'.repeat(500), '😀'.repeat(500)])
    expect((await create({ description: good })).body.description).toBe(good)
  for (const odd of [
    '',
    'x'.repeat(501),
    ' \u2003',
    'two\nlines',
    'a\tb',
    '\u007f',
    '\u0085',
    7,
    null,
    ['x'],
    {},
  ]) {
    const { status, body } = await create({ description: odd })
    expect([odd, status, body.error.code, body.error.param]).toEqual([
      odd,
      400,
      'parameter_invalid',
      'description',
    ])
  }
})

test('another description under the same Idempotency-Key is another request', async () => {
  const first = await create({ description: 'Tea' }, 'one')
  expect((await create({ description: 'Tea' }, 'one')).body).toEqual(first.body)
  for (const other of [{ description: 'Coffee' }, {}]) {
    const { status, body } = await create(other, 'one')
    expect([status, body.error.code]).toEqual([422, 'idempotency_key_reused'])
  }
})

test('the buyer reads it while it is to be paid, once it is paid, and on the receipt', async () => {
  const { id, checkout_url: url } = (await create({ description: ITEM })).body
  expect(await pageOf(url)).toContain(ESCAPED)
  await pay(id)
  for (const query of ['', '?receipt=1', '?lang=ar']) expect(await pageOf(url, query)).toContain(ESCAPED)
  expect(await pageOf(url)).not.toContain('<b>cups')
})

test('the signed receipt has it, and that of an invoice without one keeps every byte', async () => {
  const receiptOf = async (fields: object) => {
    const { id, checkout_url: url } = (await create(fields)).body
    await pay(id)
    return fetchPart(`${new URL(url).pathname}/receipt.json`)
  }
  const document = JSON.parse(await receiptOf({ description: ITEM }))
  expect(document.receipt.description).toBe(ITEM)
  const keys = readPublicKeys(JSON.parse(await fetchPart(RECEIPT_KEYS_PATH))) ?? []
  expect(judgeReceipt(document, keys).kind).toBe('genuine')
  const other = { ...document, receipt: { ...document.receipt, description: 'A car' } }
  expect(judgeReceipt(other, keys)).toEqual({ kind: 'changed' })
  expect(await receiptOf({})).not.toContain('"description"')
})

test('an invoice that is reopened at a new price keeps it', async () => {
  const { id } = (await create({ description: ITEM, external_reference: 'order-7' })).body
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [merchant.id, { reopen_expired: true }],
  )
  await api.database.owner.query(
    `update invoice set expired_at = expires_at, status = 'expired' where id = $1`,
    [id],
  )
  api.time.advance(61 * 60_000)
  const marketOf = createMarketReader(api.deps)
  const reopened = await reopenInvoice({ ...api.deps, marketOf }, { tenant: tenant(), invoiceId: id })
  if (reopened.kind !== 'invoice') throw new Error(reopened.kind)
  expect((await read(`/invoices/${reopened.invoiceId}`)).body).toMatchObject({
    description: ITEM,
    external_reference: 'order-7',
    reopened_from: id,
  })
})

test('no login changes a description, and the table holds none that the API would not take', async () => {
  const { id } = (await create({ description: ITEM })).body
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const)
    await expect(
      api.database.pools[role].query('update invoice set description = description where id = $1', [id]),
    ).rejects.toThrow('permission denied')
  for (const odd of ['', 'x'.repeat(501), 'two\nlines', '\u0001', '\u007f', '\u0085', '\u009f'])
    await expect(
      api.database.owner.query('update invoice set description = $2 where id = $1', [id, odd]),
      JSON.stringify(odd),
    ).rejects.toThrow('invoice_description_is_a_line')
  for (const good of [ITEM, '\u00a0', '😀'.repeat(500), 'x-1\\9'])
    await api.database.owner.query('update invoice set description = $2 where id = $1', [id, good])
})

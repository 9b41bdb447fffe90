import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock } from '../support/invoice.ts'

let api: TestApi
let merchant: TestMerchant

beforeAll(async () => {
  api = await createTestApi({}, { depositAddressesMax: 25 })
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const ask = (reference: unknown, key = merchant.testKey) =>
  api.call('POST', '/deposit-addresses', { key, body: { customer_reference: reference } })

test('one customer asked for twenty times at once has one set of addresses, and never another', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('customer-1')))
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201])
  const [first] = answers
  expect(first?.body.addresses.map(({ family }: { family: string }) => family)).toEqual([
    'bitcoin',
    'litecoin',
  ])
  for (const { body } of answers) expect(body).toEqual(first?.body)
  const { rows } = await api.database.owner.query(
    'select count(*)::int, count(distinct address)::int as distinct from deposit_address where merchant_id = $1',
    [merchant.id],
  )
  expect(rows).toEqual([{ count: 2, distinct: 2 }])
  expect(first?.body.addresses.at(1)).toMatchObject({ networks: ['litecoin-test'], assets: ['LTC'] })
  api.time.advance(400 * 86_400_000)
  expect((await ask('customer-1')).body).toEqual(first?.body)
})

test('another customer, mode or merchant has other addresses, and nobody sees those of another merchant', async () => {
  const own = (await ask('customer-2')).body
  const stranger = await api.addMerchant()
  const theirs = (await ask('customer-2', stranger.testKey)).body
  const addresses = (account: { addresses: { address: string }[] }) =>
    account.addresses.map(({ address }) => address)
  expect(new Set([...addresses(own), ...addresses(theirs)]).size).toBe(4)
  for (const key of [stranger.testKey, merchant.liveKey]) {
    expect((await api.call('GET', `/deposit-addresses/${own.id}`, { key })).status).toBe(404)
    const list = await api.call('GET', '/deposit-addresses?customer_reference=customer-2', { key })
    expect(list.body.data.map(({ id }: { id: string }) => id)).not.toContain(own.id)
  }
  const mine = await api.call('GET', '/deposit-addresses?customer_reference=customer-2', {
    key: merchant.testKey,
  })
  expect(mine.body.data).toEqual([own])
  expect((await api.call('GET', `/deposit-addresses/${own.id}`, { key: merchant.testKey })).body).toEqual(own)
})

test('a deposit is read with what it was worth, by its merchant alone, and stands in the statement', async () => {
  const account = (await ask('customer-3')).body
  const tenant = { merchantId: merchant.id, livemode: false }
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant, invoiceId: account.id, facts: [inBlock('t1', 150_000_000n, 60)], tipHeight: 160 },
  )
  const list = await api.call('GET', `/deposits?deposit_address_id=${account.id}`, { key: merchant.testKey })
  expect(list.body.data).toHaveLength(1)
  const [deposit] = list.body.data
  expect(deposit).toMatchObject({
    object: 'deposit',
    customer_reference: 'customer-3',
    address: account.addresses[1].address,
    network: 'litecoin-test',
    asset: 'LTC',
    amount: '1.5',
    status: 'confirmed',
    txid: 't1',
  })
  expect((await api.call('GET', `/deposits/${deposit.id}`, { key: merchant.testKey })).body).toEqual(deposit)
  const stranger = await api.addMerchant()
  expect((await api.call('GET', `/deposits/${deposit.id}`, { key: stranger.testKey })).status).toBe(404)
  expect((await api.call('GET', '/deposits', { key: stranger.testKey })).body.data).toEqual([])
  const entries = await api.call('GET', '/balances/entries', { key: merchant.testKey })
  expect(entries.body.data[0]).toMatchObject({ deposit_id: deposit.id, invoice_id: null, amount: '1.5' })
  const invoices = await api.call('GET', '/invoices?q=t1', { key: merchant.testKey })
  expect(invoices.body.data).toEqual([])
})

test('a reference is one line of words, and no more customers than the limit have addresses', async () => {
  for (const wrong of ['', ' ', 'two\nlines', 'x'.repeat(256), 7, null, 'nul\0'])
    expect([wrong, (await ask(wrong)).status]).toEqual([wrong, 400])
  expect((await ask('ü'.repeat(255))).status).toBe(201)
  for (let count = 0; count < 21; count++) expect((await ask(`more-${count}`)).status).toBe(201)
  const refused = await ask('one-too-many')
  expect([refused.status, refused.body.error.code]).toEqual([409, 'deposit_address_limit_reached'])
  expect((await ask('customer-1')).status).toBe(200)
})

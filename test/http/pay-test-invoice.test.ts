import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { SandboxControl, TestPayment } from '../../src/sandbox/sandbox-control.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

const NO_INVOICE = 'inv_00000000000000000000000000'

let api: TestApi
let merchant: TestMerchant
let invoiceId: string
const asked: Parameters<SandboxControl['payInvoice']>[0][] = []
const sent: Parameters<SandboxControl['sendCoins']>[0][] = []
let answer: TestPayment
beforeAll(async () => {
  api = await createTestApi({
    sandbox: {
      serves: (asset, livemode) => asset !== 'BTC' && !livemode,
      // The chain itself is tested in test/sandbox; here stands what the route makes of its answers.
      payInvoice: async (input) => {
        asked.push(input)
        return answer
      },
      sendCoins: async (coins) => {
        sent.push(coins)
        return coins.asset !== 'BTC'
      },
    },
  })
  merchant = await api.addMerchant()
  const made = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { usd_amount: '10', asset: 'LTC' },
  })
  invoiceId = made.body.id
})
afterAll(() => api.drop())
beforeEach(() => {
  asked.length = 0
  answer = { kind: 'sent', scenario: 'two_parts', txids: ['aa'.repeat(32), 'bb'.repeat(32)] }
})

const pay = (body: unknown, key = merchant.testKey, id = invoiceId) =>
  api.call('POST', `/test/invoices/${id}/pay`, { key, body })

test('a scenario is played and its transactions are named', async () => {
  const { status, body } = await pay({ scenario: 'two_parts' })
  expect(status).toBe(200)
  expect(body).toEqual({
    object: 'test_payment',
    invoice_id: invoiceId,
    scenario: 'two_parts',
    txids: ['aa'.repeat(32), 'bb'.repeat(32)],
  })
  const tenant = { merchantId: merchant.id, livemode: false }
  expect(asked).toEqual([{ tenant, invoiceId, scenario: 'two_parts', source: 'api' }])
})

test('an unknown, missing or wrong scenario is a 400 that names the field, and nothing is paid', async () => {
  for (const body of [{ scenario: 'everything' }, { scenario: 7 }, { scenario: null }, {}]) {
    const refused = await pay(body)
    expect(refused.status).toBe(400)
    expect(refused.body.error.param).toBe('scenario')
  }
  const unknown = await pay({ scenario: 'exact', amount: '1' })
  expect(unknown.body.error).toMatchObject({ code: 'parameter_unknown', param: 'amount' })
  expect(asked).toEqual([])
})

test('a live key may not, nor a key without invoices:write, nor nobody', async () => {
  expect((await pay({ scenario: 'exact' }, merchant.liveKey)).body.error.code).toBe('test_mode_only')
  const reader = await api.addKey(merchant.id, false, ['invoices:read'])
  expect((await pay({ scenario: 'exact' }, reader.key)).body.error.code).toBe('scope_missing')
  expect((await api.call('POST', `/test/invoices/${invoiceId}/pay`, { body: {} })).status).toBe(401)
  expect(asked).toEqual([])
})

test('an invoice that is not there is a 404, even where the scenario is wrong too', async () => {
  answer = { kind: 'not_found' }
  expect((await pay({ scenario: 'exact' }, merchant.testKey, NO_INVOICE)).body.error.code).toBe('not_found')
  expect((await pay({ scenario: 'nothing' }, merchant.testKey, NO_INVOICE)).body.error.code).toBe('not_found')
  const stranger = await api.addMerchant()
  expect((await pay({ scenario: 'nothing' }, stranger.testKey)).body.error.code).toBe('not_found')
})

test('an invoice on a network with a node of its own is a 409 that says what to do', async () => {
  answer = {
    kind: 'sandbox_not_available',
    reason: 'The network litecoin-test does not run on a sandbox chain.',
  }
  const refused = await pay({ scenario: 'exact' })
  expect(refused.status).toBe(409)
  expect(refused.body.error).toMatchObject({
    code: 'sandbox_not_available',
    message: 'The network litecoin-test does not run on a sandbox chain.',
  })
})

test('a server without a sandbox refuses what is there and does not know what is not', async () => {
  const bare = await createTestApi()
  try {
    const shop = await bare.addMerchant()
    const key = shop.testKey
    const made = await bare.call('POST', '/invoices', { key, body: { usd_amount: '10', asset: 'LTC' } })
    const body = { scenario: 'exact' }
    const refused = await bare.call('POST', `/test/invoices/${made.body.id}/pay`, { key, body })
    expect(refused.body.error.code).toBe('sandbox_not_available')
    const missing = await bare.call('POST', `/test/invoices/${NO_INVOICE}/pay`, { key, body })
    expect(missing.body.error.code).toBe('not_found')
  } finally {
    await bare.drop()
  }
})

test('an asset on a sandbox chain has an address that is allowed as a destination, and no other one has', async () => {
  const assetsOf = async (key: string) => (await api.call('GET', '/assets', { key })).body.data
  const assets: { asset: string; test_address: string | null }[] = await assetsOf(merchant.testKey)
  for (const { asset, test_address } of assets) {
    if (asset === 'BTC') expect(test_address).toBe(null)
    else {
      const body = { asset, address: test_address, name: 'Test' }
      const allowed = await api.call('POST', '/payout-destinations', { key: merchant.testKey, body })
      expect([asset, allowed.status, allowed.body.address]).toEqual([asset, 201, test_address])
    }
  }
  for (const { test_address } of await assetsOf(merchant.liveKey)) expect(test_address).toBe(null)
})

test('a customer’s address is paid in a coin that it takes, in test mode alone, and no other way', async () => {
  const body = { customer_reference: 'customer-1' }
  const account = (await api.call('POST', '/deposit-addresses', { key: merchant.testKey, body })).body
  const send = (sum: object, key = merchant.testKey, id = account.id) =>
    api.call('POST', `/test/deposit-addresses/${id}/pay`, { key, body: sum })
  const address = account.addresses.find(({ family }: { family: string }) => family === 'litecoin').address
  const paid = await send({ asset: 'LTC', amount: '0.5' })
  expect([paid.status, paid.body]).toEqual([
    200,
    { object: 'test_deposit', deposit_address_id: account.id, asset: 'LTC', amount: '0.5', address },
  ])
  expect(sent).toEqual([{ asset: 'LTC', address, amount: 50_000_000n, afterMs: 0 }])
  const refused = async (sum: object) => {
    const { status, body } = await send(sum)
    return [status, body.error.code, body.error.param]
  }
  for (const amount of ['0', '0.000000001', '1001', '-1', '1,5'])
    expect(await refused({ asset: 'LTC', amount }), amount).toEqual([400, 'parameter_invalid', 'amount'])
  expect(await refused({ asset: 'SOL', amount: '1' })).toEqual([400, 'parameter_invalid', 'asset'])
  expect(await refused({ asset: 'BTC', amount: '1' })).toEqual([409, 'sandbox_not_available', null])
  const stranger = await api.addMerchant()
  expect((await send({ asset: 'LTC', amount: '1' }, stranger.testKey)).status).toBe(404)
  expect((await send({ asset: 'LTC', amount: '1' }, merchant.liveKey)).status).toBe(403)
  expect(sent).toHaveLength(2)
})

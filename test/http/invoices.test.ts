import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { networkReason } from '../../src/http/views/network-reason.ts'
import { eventView } from '../../src/wire/event.ts'
import { invoiceList, invoiceView } from '../../src/wire/invoice.ts'
import { addAddresses, createTestApi, START, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock, inMempool } from '../support/invoice.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
})
beforeEach(async () => {
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

type Fields = { [field: string]: unknown }
const post = (path: string, body?: unknown, key = merchant.testKey) =>
  api.call('POST', path, { key, ...(body === undefined ? {} : { body }) })
const get = (path: string, key = merchant.testKey) => api.call('GET', path, { key })
async function make(fields: Fields = {}, key = merchant.testKey) {
  const answer = await post('/invoices', { usd_amount: '10', asset: 'LTC', ...fields }, key)
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body
}
const idsOf = async (search: string, key = merchant.testKey): Promise<string[]> => {
  const { status, body, text } = await get(`/invoices?${search}`, key)
  if (status !== 200) throw new Error(text)
  return invoiceList.parse(body).data.map((invoice) => invoice.id)
}
const pay = (invoiceId: string, facts: Parameters<typeof recordTransfers>[1]['facts'], livemode = false) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: { merchantId: merchant.id, livemode }, invoiceId, facts, tipHeight: 100 },
  )
const txid = () => randomBytes(32).toString('hex')

test('an invoice reads as it was answered', async () => {
  const made = await make({
    allow_asset_selection: true,
    customer_email: 'a@example.com',
    metadata: { a: null },
  })
  expect(made.allow_asset_selection).toBe(true)
  expect((await get(`/invoices/${made.id}`)).body).toEqual(made)
  invoiceView.parse(made)
})

test('creating writes invoice.created with the invoice as it stood, without the checkout link', async () => {
  const made = await make({ external_reference: 'order 7' })
  const { rows } = await api.database.owner.query<{ body: Buffer; sequence: number; request_id: string }>(
    'select body, sequence, request_id from event where merchant_id = $1 and resource_id = $2',
    [merchant.id, made.id],
  )
  expect(rows).toHaveLength(1)
  const event = eventView.parse(JSON.parse(rows[0]?.body.toString() ?? ''))
  const { checkout_url: url, payment_link_name: _, ...rest } = made
  expect(event.data).toEqual(rest)
  expect(JSON.stringify(rows)).not.toContain(url.split('/').at(-1))
  expect(event).toMatchObject({ event_type: 'invoice.created', sequence: 1, livemode: false })
  await pay(made.id, [inMempool(txid(), 1_000_000n)])
  const types = await api.database.owner.query<{ event_type: string; sequence: number }>(
    'select event_type, sequence from event where resource_id = $1 order by sequence',
    [made.id],
  )
  expect(types.rows.map((row) => `${row.sequence} ${row.event_type}`)).toEqual([
    '1 invoice.created',
    '2 invoice.payment_detected',
  ])
})

test('no asset means the default coin; none is priced in dollars where coins were asked for', async () => {
  expect((await make({ asset: undefined })).asset).toBe('BTC')
  const coins = await make({ usd_amount: undefined, amount: '1.5', asset: 'LTC' })
  expect(coins).toMatchObject({
    amount: '1.5',
    usd_amount: null,
    expected_usd_amount: null,
    amount_source: 'merchant',
  })
  expect(coins.rate.usd_per_unit).toBe('84.37')
})

test('a coin amount needs an asset and refuses what would change it', async () => {
  const refused = async (body: Fields) => {
    const { status, body: answer } = await post('/invoices', body)
    return [status, answer.error.code, answer.error.param]
  }
  expect(await refused({ amount: '1' })).toEqual([400, 'parameter_missing', 'asset'])
  expect(await refused({ amount: '1', asset: 'LTC', usd_amount: '10' })).toEqual([
    400,
    'parameter_invalid',
    'amount',
  ])
  expect(await refused({ amount: '1', asset: 'LTC', allow_asset_selection: true })).toEqual([
    400,
    'parameter_invalid',
    'allow_asset_selection',
  ])
  expect(await refused({ asset: 'LTC' })).toEqual([400, 'parameter_missing', 'usd_amount'])
  expect((await post('/invoices', { amount: '1', asset: 'LTC', allow_asset_selection: false })).status).toBe(
    201,
  )
})

test('a price that is missing is 503 for that asset in dollars, and for nothing else', async () => {
  api.unpriced.add('LTC')
  try {
    const answer = await post('/invoices', { usd_amount: '10', asset: 'LTC' })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'rate_unavailable'])
    expect((await make({ asset: 'BTC' })).asset).toBe('BTC')
    expect(await make({ usd_amount: undefined, amount: '0.5' })).toMatchObject({ rate: null, amount: '0.5' })
  } finally {
    api.unpriced.clear()
  }
})

test('a coin without a network here is 503 where it is accepted and 400 where it is not', async () => {
  const test = await post('/invoices', { usd_amount: '10', asset: 'SOL' })
  expect([test.status, test.body.error.code]).toEqual([503, 'asset_unavailable'])
  const live = await post('/invoices', { usd_amount: '10', asset: 'SOL' }, merchant.liveKey)
  expect([live.status, live.body.error.code, live.body.error.param]).toEqual([
    400,
    'asset_not_accepted',
    'asset',
  ])
})

test('a live coin is accepted as soon as its network is followed, and 503 until its node has answered', async () => {
  const { owner } = api.database
  const assetsOf = async () => (await get('/assets', merchant.liveKey)).body.data
  expect((await assetsOf()).map(({ asset }: { asset: string }) => asset)).toEqual(['BTC', 'LTC'])
  await owner.query(
    `insert into network_state (network, status, reason, updated_at)
     values ('ethereum-live', 'unavailable', 'invoice inv_of_another_shop cannot be recorded', now())`,
  )
  await owner.query(
    `insert into network_watch (network, keyspace, through, updated_at) values ('ethereum-live', 'evm-live', -1, now())`,
  )
  api.time.advance(1_000)
  try {
    expect((await assetsOf())[2]).toMatchObject({
      asset: 'ETH',
      available: false,
      unavailable_code: 'asset_unavailable',
      network_status: 'unavailable',
      network_reason: networkReason({ status: 'unavailable', reason: '' }),
    })
    const refused = await post('/invoices', { usd_amount: '10', asset: 'ETH' }, merchant.liveKey)
    expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  } finally {
    await owner.query(`delete from network_watch where network = 'ethereum-live'`)
    await owner.query(`delete from network_state where network = 'ethereum-live'`)
    api.time.advance(1_000)
  }
})

test('a node that is down stops no invoice while addresses are ready; a halted network, or ten minutes, do', async () => {
  const set = async (status: string) => {
    await api.database.owner.query(`update network_state set status = $1 where network = 'litecoin-test'`, [
      status,
    ])
    api.time.advance(1_000)
  }
  for (const status of ['unavailable', 'syncing', 'starting']) {
    await set(status)
    expect((await make()).status).toBe('awaiting_payment')
    const { data } = (await get('/assets')).body
    const litecoin = data.find((asset: { asset: string }) => asset.asset === 'LTC')
    expect(litecoin).toMatchObject({ available: true, network_status: status, network_reason: null })
  }
  const expectNotSold = async () => {
    const answer = await post('/invoices', { usd_amount: '10', asset: 'LTC' })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'asset_unavailable'])
    const { data } = (await get('/assets')).body
    const litecoin = data.find((asset: { asset: string }) => asset.asset === 'LTC')
    expect(litecoin).toMatchObject({ available: false, unavailable_code: 'asset_unavailable' })
  }
  await set('halted')
  await expectNotSold()
  // What nobody could read for ten minutes nobody can be told to pay.
  await api.database.owner.query(
    `update network_state set read_at = updated_at - interval '11 minutes' where network = 'litecoin-test'`,
  )
  await set('unavailable')
  await expectNotSold()
  await set('ok')
})

test('an empty pool is 503 for its asset, and nothing is written', async () => {
  const { owner } = api.database
  await owner.query(
    `update address set assigned_at = now() where keyspace = 'bitcoin-live' and assigned_at is null`,
  )
  const answer = await post('/invoices', { usd_amount: '10', asset: 'BTC' }, merchant.liveKey)
  expect([answer.status, answer.body.error.code]).toEqual([503, 'asset_unavailable'])
  const assets = await get('/assets', merchant.liveKey)
  const bitcoin = assets.body.data.find((asset: { asset: string }) => asset.asset === 'BTC')
  expect(bitcoin).toMatchObject({ available: false, unavailable_code: 'asset_unavailable' })
  expect(await idsOf('', merchant.liveKey)).toEqual([])
  await addAddresses(api.database, 'bitcoin-live', 'main', 5)
  const made = await make({ asset: 'BTC' }, merchant.liveKey)
  expect(made).toMatchObject({ livemode: true, asset: 'BTC' })
})

test('no address is given out twice, whoever asks at once', async () => {
  const made = await Promise.all(Array.from({ length: 60 }, () => make()))
  expect(new Set(made.map((invoice) => invoice.address)).size).toBe(60)
})

test('an unpaid invoice is cancelled once, and no event is sent', async () => {
  const made = await make()
  api.time.advance(5_000)
  const cancelled = await post(`/invoices/${made.id}/cancel`)
  expect(cancelled.status).toBe(200)
  expect(cancelled.body).toMatchObject({
    id: made.id,
    status: 'cancelled',
    cancelled_at: api.time.now.toISOString(),
  })
  expect((await get(`/invoices/${made.id}`)).body).toEqual(cancelled.body)
  const again = await post(`/invoices/${made.id}/cancel`, {})
  expect([again.status, again.body.error.code]).toEqual([409, 'invoice_not_cancellable'])
  const paid = await make()
  await pay(paid.id, [inMempool(txid(), 1_000n)])
  expect((await post(`/invoices/${paid.id}/cancel`)).status).toBe(409)
  const events = await api.database.owner.query('select from event where resource_id = $1', [made.id])
  expect(events.rowCount).toBe(1)
})

test('accepting what is confirmed leaves to the watcher what is under way; that is then reviewed', async () => {
  const made = await make()
  const [first, second] = [txid(), txid()]
  await pay(made.id, [inBlock(first, 5_000_000n, 2)])
  await pay(made.id, [inMempool(second, 1_000_000n)])
  await pay(made.id, [inBlock(txid(), 1_000_000n, 2, { firstSeenMs: START.getTime() + 86_400_000 })])
  const accepted = await post(`/invoices/${made.id}/resolve`, { resolution: 'accept' })
  expect(accepted.status, api.logged.join('')).toBe(200)
  expect(accepted.body).toMatchObject({ status: 'paid', status_reason: 'accepted', amount_confirmed: '0.06' })
  await pay(made.id, [inBlock(second, 1_000_000n, 2)])
  const { body } = await get(`/invoices/${made.id}`)
  const reasons = body.payments.map((payment: Fields) => payment.review_reason)
  expect(reasons.toSorted()).toEqual(['after_settlement', 'late', null])
  expect(body.status).toBe('paid')
})

test('accepting what is confirmed pays the invoice and says so; nothing is left to resolve', async () => {
  const made = await make()
  const short = 5_000_000n
  await pay(made.id, [inBlock(txid(), short, 1)])
  expect((await get(`/invoices/${made.id}`)).body).toMatchObject({
    status: 'partially_paid',
    amount_confirmed: '0.05',
  })
  const accepted = await post(`/invoices/${made.id}/resolve`, { resolution: 'accept', note: 'rest in cash' })
  expect(accepted.status, api.logged.join('')).toBe(200)
  expect(accepted.body).toMatchObject({ status: 'paid', status_reason: 'accepted', amount_confirmed: '0.05' })
  const { rows } = await api.database.owner.query(
    `select event_type from event where resource_id = $1 order by sequence desc limit 1`,
    [made.id],
  )
  expect(rows).toEqual([{ event_type: 'invoice.paid' }])
  const kept = await api.database.owner.query(
    'select resolution, note from invoice_resolution where invoice_id = $1',
    [made.id],
  )
  expect(kept.rows).toEqual([{ resolution: 'accept', note: 'rest in cash' }])
  const again = await post(`/invoices/${made.id}/resolve`, { resolution: 'dismiss' })
  expect([again.status, again.body.error.code]).toEqual([409, 'invoice_not_resolvable'])
})

test('a dismissal that names payments closes those alone: what came since somebody looked stays open', async () => {
  const made = await make()
  const other = { asset: 'BTC', network: 'bitcoin-test' } as const
  await pay(made.id, [inMempool(txid(), 10_000n, other)])
  const [looked] = (await get(`/invoices/${made.id}`)).body.payments
  await pay(made.id, [inMempool(txid(), 20_000n, other)])
  const dismiss = (fields: object) =>
    post(`/invoices/${made.id}/resolve`, { resolution: 'dismiss', ...fields })
  expect((await dismiss({ payment_ids: [looked.id] })).status).toBe(200)
  expect((await get(`/invoices/${made.id}`)).body.review_reason).toBe('wrong_asset')
  expect(await idsOf('attention=open')).toContain(made.id)
  expect((await dismiss({ payment_ids: [looked.id] })).body.error.code).toBe('invoice_not_resolvable')
  const accepted = await post(`/invoices/${made.id}/resolve`, {
    resolution: 'accept',
    payment_ids: [looked.id],
  })
  expect([accepted.status, accepted.body.error.param]).toEqual([400, 'payment_ids'])
  expect((await dismiss({ payment_ids: [] })).status).toBe(400)
  expect((await dismiss({})).body.review_reason).toBeNull()
  expect(await idsOf('attention=open')).not.toContain(made.id)
})

test('in live mode a key may not resolve', async () => {
  const made = await make({}, merchant.liveKey)
  const answer = await post(`/invoices/${made.id}/resolve`, { resolution: 'accept' }, merchant.liveKey)
  expect([answer.status, answer.body.error.code]).toEqual([403, 'dashboard_session_required'])
})

test('a list is walked in both directions without a gap or a repeat', async () => {
  const made: string[] = []
  for (let index = 0; index < 7; index++) {
    made.unshift((await make()).id)
    api.time.advance(1)
  }
  const first = await get('/invoices?limit=3')
  expect(first.body).toMatchObject({ object: 'list', url: '/api/v1/invoices', has_more: true })
  expect(first.body.data.map((invoice: { id: string }) => invoice.id)).toEqual(made.slice(0, 3))
  expect(await idsOf(`limit=3&starting_after=${made[2]}`)).toEqual(made.slice(3, 6))
  const last = await get(`/invoices?limit=3&starting_after=${made[5]}`)
  expect([last.body.has_more, last.body.data.length]).toEqual([false, 1])
  const back = await get(`/invoices?limit=3&ending_before=${made[5]}`)
  expect([back.body.has_more, back.body.data.map((invoice: { id: string }) => invoice.id)]).toEqual([
    true,
    made.slice(2, 5),
  ])
  expect(await idsOf(`ending_before=${made[2]}`)).toEqual(made.slice(0, 2))
  expect(await idsOf('')).toEqual(made)
  expect(await idsOf('limit=100')).toEqual(made)
  const both = await get(`/invoices?starting_after=${made[1]}&ending_before=${made[5]}`)
  expect([both.status, both.body.error.param]).toEqual([400, 'ending_before'])
})

test('filters narrow a list, alone and together', async () => {
  const at: string[] = []
  const mark = () => {
    at.push(api.time.now.toISOString())
    api.time.advance(1_000)
  }
  const one = await make({ external_reference: 'order 1', customer_email: 'ann@example.com' })
  mark()
  const two = await make({ asset: 'BTC', external_reference: 'order 1' })
  mark()
  const three = await make({ external_reference: 'order 10', customer_email: 'bob@example.com' })
  mark()
  await post(`/invoices/${three.id}/cancel`)
  const paidBy = txid()
  await pay(one.id, [inMempool(paidBy, 1_000n)])
  const expectFound = async (search: string, ...invoices: { id: string }[]) =>
    expect(await idsOf(search), search).toEqual(invoices.map((invoice) => invoice.id))
  await expectFound('status=cancelled', three)
  await expectFound('status=payment_detected', one)
  await expectFound('asset=LTC', three, one)
  await expectFound('external_reference=order+1', two, one)
  await expectFound('external_reference=order%201&asset=BTC', two)
  await expectFound('order_reference=order+1')
  await expectFound(`created_after=${at[0]}`, three, two)
  await expectFound(`created_before=${at[2]}`, two, one)
  await expectFound(`created_after=${at[0]}&created_before=${at[2]}`, two)
  await expectFound(
    'created_after=0001-01-01T00:00:00Z&created_before=9999-12-31T23:59:59.999Z',
    three,
    two,
    one,
  )
  await expectFound('q=order+1', three, two, one)
  await expectFound('q=order+10', three)
  await expectFound('q=bob%40', three)
  await expectFound(`q=${one.id}`, one)
  await expectFound(
    `q=${one.id.slice(0, 29)}`,
    ...(await idsOf('')).filter((id) => id.startsWith(one.id.slice(0, 29))).map((id) => ({ id })),
  )
  await expectFound(`q=${paidBy}`, one)
  await expectFound('q=%25')
  await expectFound('q=_rder')
  await expectFound('q=order+1&status=cancelled', three)
  expect(START.getTime()).toBeLessThan(Date.parse(at[0] ?? ''))
})

test('a time that no calendar has is refused, and not taken for the day after', async () => {
  for (const day of ['2026-02-29', '2026-02-30', '2026-04-31', '2026-13-01', '2026-01-00']) {
    const answer = await get(`/invoices?created_after=${day}T00:00:00Z`)
    expect([answer.status, answer.body.error?.param], day).toEqual([400, 'created_after'])
  }
  expect((await get('/invoices?created_after=2026-01-01T24:00:00Z')).status).toBe(400)
  expect((await get('/invoices?created_after=2028-02-29T23:59:59.5Z')).status).toBe(200)
})

test('an invoice is found by its deposit address', async () => {
  // The witness program of BIP173's first example, as a regtest Litecoin address.
  const addressBytes = Buffer.from('751e76e8199196d454941c45d1b3a323f1433bd6', 'hex')
  const made = await make()
  await api.database.owner.query('update deposit_address set program = $2 where invoice_id = $1', [
    made.id,
    addressBytes,
  ])
  expect(await idsOf('q=rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k5rn2vy')).toEqual([])
  expect(await idsOf('q=ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9')).toEqual([made.id])
})

test('assets and rates say what can be used now, and why not', async () => {
  api.unpriced.add('LTC')
  try {
    const { body } = await get('/assets')
    const of = (asset: string) => body.data.find((entry: { asset: string }) => entry.asset === asset)
    expect(body.data.map((entry: { asset: string }) => entry.asset)).toEqual([
      'BTC',
      'LTC',
      'ETH',
      'ETH_BASE',
      'USDC_BASE',
      'SOL',
    ])
    expect(of('BTC')).toMatchObject({
      available: true,
      is_default: true,
      minimum: '0.0000033',
      payment_window_minutes: 60,
      unavailable_code: null,
    })
    expect(of('LTC')).toMatchObject({ available: false, unavailable_code: 'rate_unavailable' })
    expect(of('USDC_BASE')).toMatchObject({
      available: false,
      is_default: false,
      unavailable_code: 'asset_unavailable',
    })
    const rates = await get('/rates')
    const litecoin = rates.body.data.find((entry: { asset: string }) => entry.asset === 'LTC')
    expect(litecoin).toMatchObject({ available: false, usd_per_unit: null, sources: [] })
    // Off until a shop turns it on; one that turned it off again still holds what came.
    expect(of('USDT_ETHEREUM')).toBeUndefined()
    const turnedOff = rates.body.data.find((entry: { asset: string }) => entry.asset === 'USDT_ETHEREUM')
    expect(turnedOff).toMatchObject({ available: true, usd_per_unit: '1' })
    expect(rates.body.data[0]).toMatchObject({ asset: 'BTC', available: true, usd_per_unit: '97123.45' })
  } finally {
    api.unpriced.clear()
  }
})

test('balances follow the ledger, in each mode apart', async () => {
  const made = await make()
  const amount = BigInt(Math.round(Number(made.amount) * 1e8))
  await pay(made.id, [inBlock(txid(), amount, 1)])
  const other = await make()
  await pay(other.id, [inBlock(txid(), 1_000_000n, 0)])
  const { body } = await get('/balances')
  const litecoin = body.data.find((entry: { asset: string }) => entry.asset === 'LTC')
  expect(litecoin).toMatchObject({
    available: made.amount,
    pending: '0.01',
    suspense: '0',
    reserved: '0',
    livemode: false,
  })
  const live = await get('/balances', merchant.liveKey)
  for (const balance of live.body.data)
    expect(balance).toMatchObject({ available: '0', pending: '0', livemode: true })
})

test('the queue holds what needs a decision until it is decided, and again once more money comes', async () => {
  const [quiet, short] = [await make(), await make()]
  // Ids sort by time, to the millisecond.
  api.time.advance(1)
  const strange = await make()
  await pay(short.id, [inBlock(txid(), 1_000_000n, 6, { firstSeenMs: api.time.now.getTime() })])
  const otherCoin = { asset: 'BTC', network: 'bitcoin-test', firstSeenMs: api.time.now.getTime() } as const
  await pay(strange.id, [inMempool(txid(), 10_000n, otherCoin)])
  expect((await get(`/invoices/${short.id}`)).body.status).toBe('partially_paid')
  // Until the deadline the buyer can still send the rest.
  expect(await idsOf('attention=open')).toEqual([strange.id])
  api.time.advance(Date.parse(short.expires_at) - api.time.now.getTime())
  expect(await idsOf('attention=open')).toEqual([strange.id, short.id])
  expect(await idsOf('attention=open', merchant.liveKey)).toEqual([])
  for (const { id } of [short, strange]) await post(`/invoices/${id}/resolve`, { resolution: 'dismiss' })
  expect(await idsOf('attention=open')).toEqual([])
  api.time.advance(60_000)
  await pay(short.id, [inBlock(txid(), 1_000_000n, 6, { firstSeenMs: api.time.now.getTime() })])
  expect(await idsOf('attention=open')).toEqual([short.id])
  expect(await idsOf('attention=open&status=expired')).toEqual([])
  expect(await idsOf('')).toContain(quiet.id)
})

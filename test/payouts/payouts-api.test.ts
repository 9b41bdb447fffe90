import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { DESTINATIONS_MAX } from '../../src/core/payout/judge-destination.ts'
import { keepPricesOnce } from '../../src/rates/keep-prices.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { payoutView } from '../../src/wire/payout.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { creditLitecoin } from '../support/payout-money.ts'
import { randomLitecoinAddress } from '../support/resources.ts'

const LTC = 100_000_000n
/** The same four letters at both ends as the published address beside which it stands in the tests, made by trying. */
const POISONED = encodeEvmAddress(Buffer.from('5aaeb60000000000000000000000000000fbeaed', 'hex'))
let api: TestApi
let shop: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
})
afterAll(() => api.drop())

const post = (path: string, body?: object, headers = {}) =>
  api.call('POST', path, { key: shop.testKey, headers, ...(body === undefined ? {} : { body }) })
const get = (path: string) => api.call('GET', path, { key: shop.testKey })

const credit = (units: bigint, livemode = false): Promise<void> =>
  creditLitecoin(api.database.owner, { merchantId: shop.id, livemode }, { units, now: api.time.now })

/** A shop with so much money and a destination. */
async function openShop(units: bigint): Promise<string> {
  shop = await api.addMerchant()
  await credit(units)
  const added = await post('/payout-destinations', {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name: 'Treasury',
  })
  expect(added.status, added.text).toBe(201)
  return added.body.id
}

async function balance(): Promise<{ available: string; reserved: string }> {
  const { body } = await get('/balances')
  const { available, reserved } = body.data.find((one: { asset: string }) => one.asset === 'LTC')
  return { available, reserved }
}

const eventsOf = async (id: string) => {
  const { body } = await get(`/events?resource_id=${id}&limit=100`)
  // Ids sort by time, to the millisecond; the sequence tells what came first within one.
  return body.data.sort(
    (one: { sequence: number }, other: { sequence: number }) => one.sequence - other.sequence,
  )
}

test('a payout is found by its destination’s name or address, past the newest hundred', async () => {
  const destination_id = await openShop(10n * LTC)
  const wanted = (await post('/payouts', { destination_id, amount: '1' })).body
  const address = randomLitecoinAddress('regtest')
  const other = (await post('/payout-destinations', { asset: 'LTC', address, name: 'Other' })).body
  await api.database.owner.query(
    `insert into payout (merchant_id, id, livemode, status, source, asset, network, amount, network_fee, network_fee_max,
       destination_id, destination, requested_by, created_at)
     select merchant_id, 'po_7zz' || lpad(n::text, 23, '0'), livemode, status, source, asset, network, amount, network_fee,
       network_fee_max, $2, 'elsewhere', requested_by, created_at
     from payout, generate_series(1, 120) n where id = $1`,
    [wanted.id, other.id],
  )
  const search = async (q: string) =>
    (await get(`/payouts?q=${encodeURIComponent(q)}`)).body.data.map(({ id }: { id: string }) => id)
  for (const q of ['treas', wanted.destination.slice(4, 20), wanted.id])
    expect(await search(q), q).toEqual([wanted.id])
  expect(await search('nowhere')).toEqual([])
  expect((await get('/payouts?q=elsewhere&status=confirmed')).body.data).toEqual([])
})

test('of thirty payouts at once for a balance that covers one, one is made and its money is set aside', async () => {
  const destination_id = await openShop(LTC)
  const asked = await Promise.all(
    Array.from({ length: 30 }, () => post('/payouts', { destination_id, amount: '1' })),
  )
  const made = asked.filter(({ status }) => status === 201)
  expect(made).toHaveLength(1)
  for (const { status, body } of asked.filter((one) => one.status !== 201)) {
    expect([status, body.error.code]).toEqual([409, 'balance_insufficient'])
  }
  expect(await balance()).toEqual({ available: '0', reserved: '1' })
  expect((await get('/payouts')).body.data).toHaveLength(1)
})

test('thirty requests with one Idempotency-Key make one payout and one event', async () => {
  const destination_id = await openShop(10n * LTC)
  const headers = { 'idempotency-key': 'payout of today' }
  const asked = await Promise.all(
    Array.from({ length: 30 }, () => post('/payouts', { destination_id, amount: '1' }, headers)),
  )
  const again = await post('/payouts', { destination_id, amount: '1' }, headers)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  const ids = new Set([...asked, again].filter((one) => one.status === 201).map(({ body }) => body.id))
  expect([...ids]).toEqual([again.body.id])
  expect(await eventsOf(again.body.id)).toHaveLength(1)
  expect(await balance()).toEqual({ available: '9', reserved: '1' })
})

test('a payout has the promised fields, and its events carry exactly what the API showed', async () => {
  const destination_id = await openShop(LTC)
  const made = await post('/payouts', { destination_id, amount: '0.4' })
  expect(Object.keys(made.body)).toEqual(Object.keys(payoutView.shape))
  expect(made.body).toMatchObject({ status: 'requested', amount: '0.4', destination_id, txid: null })
  expect(Number(made.body.network_fee)).toBeGreaterThan(0)
  expect(Number(made.body.net_amount) + Number(made.body.network_fee)).toBeCloseTo(0.4, 8)
  const approved = await post(`/payouts/${made.body.id}/approve`)
  expect(approved.body.status).toBe('approved')
  const [first, second] = await eventsOf(made.body.id)
  expect([first.event_type, first.sequence, first.data]).toEqual(['payout.requested', 1, made.body])
  expect([second.event_type, second.sequence, second.data]).toEqual(['payout.approved', 2, approved.body])
  expect((await get(`/payouts/${made.body.id}`)).body).toEqual(approved.body)
})

test('a rejected payout gives its money back, once, and nothing is decided twice', async () => {
  const destination_id = await openShop(LTC)
  const { body } = await post('/payouts', { destination_id, amount: '0.4' })
  const path = `/payouts/${body.id}`
  const decided = await Promise.all(
    Array.from({ length: 12 }, (_, index) => post(`${path}/${index % 2 === 0 ? 'reject' : 'approve'}`)),
  )
  expect(decided.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const one of decided.filter(({ status }) => status !== 200)) {
    expect(one.body.error.code).toBe('payout_not_open')
  }
  expect(await eventsOf(body.id)).toHaveLength(2)
  const rejected = await post('/payouts', { destination_id, amount: '0.1' })
  const before = await balance()
  expect((await post(`/payouts/${rejected.body.id}/reject`)).body.status).toBe('rejected')
  expect(Number((await balance()).available)).toBeCloseTo(Number(before.available) + 0.1, 8)
})

test('an address of another network, mistyped or in another spelling is refused with the reason', async () => {
  shop = await api.addMerchant()
  const good = randomLitecoinAddress('regtest')
  const wrong = [
    ['LTC', randomLitecoinAddress('main')],
    ['LTC', `${good.slice(0, -1)}${good.endsWith('q') ? 'p' : 'q'}`],
    ['LTC', `${good[0]?.toUpperCase()}${good.slice(1)}`],
    ['BTC', good],
    ['BTC', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'],
    ['ETH', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed'],
    ['ETH', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
    ['USDC_BASE', '0x0000000000000000000000000000000000000000'],
    ['SOL', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['SOL', '11111111111111111111111111111111'],
    ['SOL', 'SysvarC1ock11111111111111111111111111111111'],
    ['SOL', '1nc1nerator11111111111111111111111111111111'],
  ]
  for (const [asset, address] of wrong) {
    const answer = await post('/payout-destinations', { asset, address, name: 'x' })
    expect([answer.status, answer.body.error?.code, answer.body.error?.param], `${asset} ${address}`).toEqual(
      [400, 'destination_address_invalid', 'address'],
    )
  }
  const right = [
    ['LTC', good],
    ['LTC', randomLitecoinAddress('regtest').toUpperCase()],
    ['BTC', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn'],
    ['ETH', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['SOL', '7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV'],
  ]
  for (const [asset, address] of right) {
    const answer = await post('/payout-destinations', { asset, address, name: 'x' })
    expect(answer.status, `${asset} ${address} ${answer.text}`).toBe(201)
    expect(answer.body.digest).toMatch(/^[0-9a-f]{64}$/)
  }
  const twice = await post('/payout-destinations', { asset: 'LTC', address: good.toUpperCase(), name: 'x' })
  expect(twice.body.error.code).toBe('destination_exists')
})

test('an account that payouts leave from is no destination: its payout would stay where it is', async () => {
  const { owner } = api.database
  const { body: payout } = await post('/payouts', { destination_id: await openShop(LTC), amount: '0.5' })
  const change = randomBytes(20)
  await owner.query(
    `insert into payout_change (merchant_id, network, txid, output_index, livemode, payout_id, amount, change_index, program)
     values ($1, 'litecoin-test', 'aa', 1, false, $2, 1, 0, $3)`,
    [shop.id, payout.id, change],
  )
  // Another merchant's change is as little a wallet of their own.
  shop = await api.addMerchant()
  const hot = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  await owner.query(
    `insert into hot_wallet (network, address, chain_id, height, nonce, balance, base_fee, tip, l1_fee, updated_at)
     values ('base-test', decode($1, 'hex'), 84532, 1, 0, 0, 1, 1, 0, now())`,
    [hot.slice(2)],
  )
  const [feePayer, vault, nonceAccount] = [
    '7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV',
    'GThUX1Atko4tqhN2NaiTazWSeFWMuiUvfFnyJyUghFMJ',
    '3emsAVdmGKERbHjmGfQ6oZ1e35dkf5iYcS6U4CPKFVaa',
  ]
  await owner.query(
    `insert into solana_house (network, fee_payer, vault, nonce_accounts) values ('solana-test', $1, $2, $3)`,
    [feePayer, vault, [nonceAccount]],
  )
  const own = [
    ['LTC', encodeAddress('rltc', change)],
    ['USDC_BASE', hot],
    ['ETH', hot],
    ['SOL', feePayer],
    ['SOL', vault],
    ['SOL', nonceAccount],
  ]
  for (const [asset, address] of own) {
    const answer = await post('/payout-destinations', { asset, address, name: 'x' })
    expect([answer.status, answer.body.error?.code], `${asset} ${address}`).toEqual([
      400,
      'destination_address_invalid',
    ])
    expect(answer.body.error.message).toContain('Payouts leave from this address')
  }
  await owner.query('delete from hot_wallet')
  await owner.query('delete from solana_house')
})

test('an address that imitates a used one is refused with that one named, even if it was removed', async () => {
  shop = await api.addMerchant()
  const used = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const { body } = await post('/payout-destinations', { asset: 'ETH', address: used, name: 'Treasury' })
  expect((await api.call('DELETE', `/payout-destinations/${body.id}`, { key: shop.testKey })).status).toBe(
    204,
  )
  const answer = await post('/payout-destinations', {
    asset: 'USDC_BASE',
    address: POISONED,
    name: 'Treasury',
  })
  expect([answer.status, answer.body.error.code]).toEqual([400, 'destination_lookalike'])
  expect(answer.body.error.message).toContain(used)
})

test('of twelve addresses at once for the last place on the list one is added, and of two lookalikes one', async () => {
  shop = await api.addMerchant()
  await api.database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     select $1, 'dst_' || n, false, 'LTC', 'listed-' || n || '-' || md5(n::text), 'x', 'somebody', $2, $2
     from generate_series(1, ${DESTINATIONS_MAX - 1}) as n`,
    [shop.id, api.time.now],
  )
  const add = (asset: string, address: string) => post('/payout-destinations', { asset, address, name: 'x' })
  const added = await Promise.all(
    Array.from({ length: 12 }, () => add('LTC', randomLitecoinAddress('regtest'))),
  )
  expect(added.filter(({ status }) => status === 201)).toHaveLength(1)
  shop = await api.addMerchant()
  const alike = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', POISONED]
  const both = await Promise.all(alike.map((address) => add('ETH', address)))
  expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
})

test('a removed destination takes no request and no approval', async () => {
  const destination_id = await openShop(LTC)
  const { body } = await post('/payouts', { destination_id, amount: '0.1' })
  await api.call('DELETE', `/payout-destinations/${destination_id}`, { key: shop.testKey })
  expect((await post('/payouts', { destination_id, amount: '0.1' })).body.error.code).toBe('not_found')
  expect((await post(`/payouts/${body.id}/approve`)).body.error.code).toBe('destination_not_usable')
  expect((await post(`/payouts/${body.id}/reject`)).status).toBe(200)
})

test('in live mode a new destination is usable after a day, and not a moment before', async () => {
  shop = await api.addMerchant()
  await credit(LTC, true)
  const id = newId('payoutDestination', api.time.now)
  const usableAt = new Date(api.time.now.getTime() + 24 * 3_600_000)
  await api.database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, true, 'LTC', $3, 'Treasury', 'somebody', $4, $5)`,
    [shop.id, id, randomLitecoinAddress('main'), api.time.now, usableAt],
  )
  const ask = () =>
    api.call('POST', '/payouts', { key: shop.liveKey, body: { destination_id: id, amount: '0.1' } })
  api.time.advance(24 * 3_600_000 - 1)
  await credit(1n, true)
  expect((await ask()).body.error.code).toBe('destination_not_usable')
  api.time.advance(1)
  expect((await ask()).status).toBe(201)
})

test('what is too small, leaves too little, has a decimal too many or names another asset is refused', async () => {
  const destination_id = await openShop(LTC)
  const refused = async (body: object) => {
    const answer = await post('/payouts', { destination_id, ...body })
    return [answer.status, answer.body.error.code, answer.body.error.param]
  }
  expect(await refused({ amount: '0.00000001' })).toEqual([400, 'payout_too_small', 'amount'])
  expect(await refused({ amount: '0.99999999' })).toEqual([400, 'payout_too_small', 'amount'])
  expect(await refused({ amount: '0' })).toEqual([400, 'parameter_invalid', 'amount'])
  expect(await refused({ amount: '0.000000001' })).toEqual([400, 'parameter_invalid', 'amount'])
  expect(await refused({ amount: '0.1', asset: 'BTC' })).toEqual([400, 'parameter_invalid', 'asset'])
  expect(await balance()).toEqual({ available: '1', reserved: '0' })
})

test('no day exceeds the merchant’s limit, however many request at once; rejected payouts do not count', async () => {
  const destination_id = await openShop(10n * LTC)
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [shop.id, JSON.stringify({ payout_daily_limits: { LTC: (2n * LTC).toString() } })],
  )
  const asked = await Promise.all(
    Array.from({ length: 10 }, () => post('/payouts', { destination_id, amount: '1' })),
  )
  const made = asked.filter(({ status }) => status === 201)
  expect(made).toHaveLength(2)
  expect(asked.find(({ status }) => status !== 201)?.body.error.code).toBe('payout_limit_exceeded')
  expect(await balance()).toEqual({ available: '8', reserved: '2' })
  await post(`/payouts/${made[0]?.body.id}/reject`)
  expect((await post('/payouts', { destination_id, amount: '1' })).status).toBe(201)
  api.time.advance(24 * 3_600_000)
  await credit(1_000_000n)
  expect((await post('/payouts', { destination_id, amount: '2' })).status).toBe(201)
})

test('what was requested over many days stops at the daily limit at approval, and goes on a day later', async () => {
  const destination_id = await openShop(20n * LTC)
  const limitTo = (units: bigint) =>
    api.database.owner.query(
      `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())
       on conflict (merchant_id, livemode) do update set rules = excluded.rules`,
      [shop.id, JSON.stringify({ payout_daily_limits: { LTC: units.toString() } })],
    )
  await limitTo(2n * LTC)
  const open: string[] = []
  for (let day = 0; day < 4; day++) {
    for (let count = 0; count < 2; count++) {
      const made = await post('/payouts', { destination_id, amount: '1' })
      expect(made.status, made.text).toBe(201)
      open.push(made.body.id)
    }
    api.time.advance(25 * 3_600_000)
    await credit(1_000_000n)
  }
  const approveAll = async (ids: readonly string[]) => {
    const answers = await Promise.all(ids.map((id) => post(`/payouts/${id}/approve`)))
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect([status, body.error.code]).toEqual([409, 'payout_limit_exceeded'])
    }
    return ids.filter((_id, at) => answers[at]?.status === 200)
  }
  const first = await approveAll(open)
  expect(first).toHaveLength(2)
  const rest = open.filter((id) => !first.includes(id))
  expect(await approveAll(rest)).toEqual([])
  api.time.advance(25 * 3_600_000)
  // What failed took nothing out.
  expect(await approveAll(rest)).toHaveLength(2)
  await api.database.owner.query(
    `update payout set status = 'failed', failure_code = 'x', failed_at = now()
     where merchant_id = $1 and status = 'approved' and approved_at > $2`,
    [shop.id, new Date(api.time.now.getTime() - 1_000)],
  )
  const left = (await get('/payouts?status=requested&limit=100')).body.data.map(
    (one: { id: string }) => one.id,
  )
  expect(await approveAll(left)).toHaveLength(2)
  // A limit that was lowered meanwhile holds for what was asked for before.
  api.time.advance(25 * 3_600_000)
  await limitTo(LTC / 2n)
  const last = (await get('/payouts?status=requested&limit=100')).body.data
  expect(await approveAll(last.map((one: { id: string }) => one.id))).toEqual([])
})

test('who asked does not approve where somebody else could, nor through a key that they made', async () => {
  const destination_id = await openShop(LTC)
  const { owner } = api.database
  for (const role of ['owner', 'admin']) {
    const id = `${role}-${shop.id}`
    await api.writeSealed(
      `insert into person (id, name, email, email_verified, created_at, updated_at) values ($1, $1, $1 || '@example.com', true, now(), now())`,
      [id],
    )
    await api.writeSealed(
      `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $1, $3, now())`,
      [id, shop.id, role],
    )
  }
  const { body } = await post('/payouts', { destination_id, amount: '0.1' })
  const own = await post(`/payouts/${body.id}/approve`)
  expect([own.status, own.body.error.code]).toEqual([403, 'approver_is_requester'])
  const other = await api.addKey(shop.id, false, ['payouts:write'])
  await owner.query('update api_key set created_by = $2 where id = $1', [body.requested_by, other.id])
  const sameHand = await api.call('POST', `/payouts/${body.id}/approve`, { key: other.key })
  expect(sameHand.body.error.code).toBe('approver_is_requester')
  const third = await api.addKey(shop.id, false, ['payouts:write'])
  const approved = await api.call('POST', `/payouts/${body.id}/approve`, { key: third.key })
  expect([approved.status, approved.body.approved_by]).toEqual([200, third.id])
})

test('the statement shows what was reserved and what returned, with its payout and its worth then', async () => {
  await keepPricesOnce(api.deps)
  const destination_id = await openShop(LTC)
  const { body } = await post('/payouts', { destination_id, amount: '0.4' })
  const { rowCount } = await api.database.owner.query(
    `update asset_price set price = price * 2 where asset = 'LTC' and not livemode`,
  )
  expect(rowCount).toBe(1)
  await post(`/payouts/${body.id}/reject`)
  const { data } = (await get('/balances/entries')).body
  const told = data.map((one: { [field: string]: string }) => [
    one.type,
    one.account,
    one.amount,
    one.balance_after,
    one.usd_value,
    one.payout_id,
  ])
  expect(told).toEqual([
    ['payout_return', 'available', '0.4', '1', '67.49', body.id],
    ['payout_return', 'reserved', '-0.4', '0', '-67.49', body.id],
    ['payout', 'reserved', '0.4', '0.4', '33.74', body.id],
    ['payout', 'available', '-0.4', '0.6', '-33.74', body.id],
    ['deposit', 'available', '1', '1', null, null],
  ])
})

describe('a quote', () => {
  const quote = (id: string, search = '') => get(`/payout-destinations/${id}/quote${search}`)

  test('returns the fee and net amount of the payout that is then requested, and reserves nothing', async () => {
    const destination_id = await openShop(LTC)
    const told = await quote(destination_id, '?amount=0.4')
    expect([told.status, told.body.destination_id]).toEqual([200, destination_id])
    expect(await balance()).toEqual({ available: '1', reserved: '0' })
    expect((await get('/payouts')).body.data).toEqual([])
    expect((await get('/events?event_type=payout.requested')).body.data).toEqual([])
    const made = await post('/payouts', { destination_id, amount: '0.4' })
    for (const field of ['asset', 'amount', 'network_fee', 'net_amount', 'destination', 'destination_id']) {
      expect([field, told.body[field]]).toEqual([field, made.body[field]])
    }
    const [fee, max] = [Number(told.body.network_fee), Number(told.body.network_fee_max)]
    expect(max / fee).toBeCloseTo(3, 6)
  })

  test('without an amount is of everything that is available, and of nothing where nothing is', async () => {
    const destination_id = await openShop(LTC)
    await post('/payouts', { destination_id, amount: '0.25' })
    expect((await quote(destination_id)).body).toMatchObject({ amount: '0.75' })
    await post('/payouts', { destination_id, amount: '0.75' })
    const none = await quote(destination_id)
    expect([none.status, none.body.error.code]).toEqual([409, 'balance_insufficient'])
  })

  test('refuses what asking would refuse, with the same code', async () => {
    const destination_id = await openShop(LTC)
    for (const amount of ['2', '0.00000001', '0.99999999', '0', '0.123456789']) {
      const [told, asked] = [
        await quote(destination_id, `?amount=${amount}`),
        await post('/payouts', { destination_id, amount }),
      ]
      expect(told.status).toBeGreaterThanOrEqual(400)
      expect([amount, told.status, told.body.error.code]).toEqual([
        amount,
        asked.status,
        asked.body.error.code,
      ])
    }
    expect((await get('/payouts')).body.data).toEqual([])
  })
})

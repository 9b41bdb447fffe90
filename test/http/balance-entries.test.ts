import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { gone, inBlock } from '../support/invoice.ts'
import { seededRandom } from '../support/random.ts'

type Entry = {
  id: string
  asset: string
  account: string
  amount: string
  balance_after: string
  usd_value: string | null
  type: string
  invoice_id: string
  payment_id: string
}

const SEED = 20261121
const STEPS = 40

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
})
afterAll(() => api.drop())
beforeEach(async () => {
  merchant = await api.addMerchant()
})

const route = ROUTES.find(({ operationId }) => operationId === 'listBalanceEntries')
const get = async (path: string, key = merchant.testKey) => (await api.call('GET', path, { key })).body
const entries = async (search = '', key = merchant.testKey): Promise<Entry[]> => {
  const body = await get(`/balances/entries${search}`, key)
  route?.success.schema?.parse(body)
  return body.data
}
const txid = () => randomBytes(32).toString('hex')

async function makeInvoice(changes: object = {}) {
  const body = { usd_amount: '10.00', asset: 'LTC', ...changes }
  const answer = await api.call('POST', '/invoices', { key: merchant.testKey, body })
  expect(answer.status).toBe(201)
  return answer.body as { id: string; amount: string }
}

const tell = (invoiceId: string, facts: Parameters<typeof recordTransfers>[1]['facts']) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: { merchantId: merchant.id, livemode: false }, invoiceId, facts, tipHeight: 1 },
  )

const units = (coins: string): bigint => {
  const [whole = '0', fraction = ''] = coins.replace('-', '').split('.')
  const size = BigInt(whole) * 10n ** 8n + BigInt(fraction.padEnd(8, '0'))
  return coins.startsWith('-') ? -size : size
}

test('a payment goes through the statement from pending to available, with what it was worth', async () => {
  const invoice = await makeInvoice({ external_reference: 'wc-1001' })
  const id = txid()
  const amount = units(invoice.amount)
  await tell(invoice.id, [inBlock(id, amount, 0)])
  await tell(invoice.id, [inBlock(id, amount, 1)])
  const [available, outOfPending, pending, ...more] = await entries()
  expect(more).toEqual([])
  const shared = {
    object: 'balance_entry',
    livemode: false,
    asset: 'LTC',
    type: 'deposit',
    invoice_id: invoice.id,
    payment_id: expect.stringMatching(/^pay_/),
    reference: 'wc-1001',
  }
  const usd = '10.00'
  expect(pending).toMatchObject({
    ...shared,
    account: 'pending',
    amount: invoice.amount,
    balance_after: invoice.amount,
    usd_value: usd,
  })
  expect(outOfPending).toMatchObject({
    ...shared,
    account: 'pending',
    amount: `-${invoice.amount}`,
    balance_after: '0',
    usd_value: `-${usd}`,
  })
  expect(available).toMatchObject({
    ...shared,
    account: 'available',
    amount: invoice.amount,
    balance_after: invoice.amount,
  })
  const shown = await get(`/invoices/${invoice.id}`)
  expect(pending?.payment_id).toBe(shown.payments[0].id)
})

test('the other mode and another merchant see nothing of it', async () => {
  const invoice = await makeInvoice()
  await tell(invoice.id, [inBlock(txid(), units(invoice.amount), 1)])
  expect(await entries()).not.toEqual([])
  expect(await entries('', merchant.liveKey)).toEqual([])
  const other = await api.addMerchant()
  expect(await entries('', other.testKey)).toEqual([])
})

test('what the chain took back is another entry, and the statement ends at the balances', async () => {
  const random = seededRandom(SEED)
  const assets = ['LTC', 'BTC'] as const
  for (let step = 0; step < STEPS; step++) {
    const asset = random.pick(assets)
    const invoice = await makeInvoice({ asset })
    const id = txid()
    const amount = BigInt(random.below(1_000_000) + 10_000)
    await tell(invoice.id, [{ ...inBlock(id, amount, random.below(2)), ...chainOf(asset) }])
    if (random.chance(0.3)) await tell(invoice.id, [{ ...gone('reorged', id, amount), ...chainOf(asset) }])
  }
  const all: Entry[] = []
  for (let after = ''; ; ) {
    const page = await get(`/balances/entries?limit=7${after}`)
    all.push(...page.data)
    if (!page.has_more) break
    after = `&starting_after=${page.data.at(-1).id}`
  }
  expect(all.map(({ type }) => type)).toContain('deposit_void')
  const backwards: Entry[] = []
  for (let before = `?limit=9&ending_before=${all.at(-1)?.id}`; ; ) {
    const page = await get(`/balances/entries${before}`)
    backwards.unshift(...page.data)
    if (!page.has_more) break
    before = `?limit=9&ending_before=${page.data[0].id}`
  }
  expect(backwards).toEqual(all.slice(0, -1))

  const standing = new Map<string, bigint>()
  for (const entry of [...all].reverse()) {
    const key = `${entry.asset}/${entry.account}`
    const next = (standing.get(key) ?? 0n) + units(entry.amount)
    standing.set(key, next)
    expect(units(entry.balance_after)).toBe(next)
  }
  for (const balance of (await get('/balances')).data) {
    for (const account of ['available', 'pending', 'suspense', 'reserved', 'shortfall']) {
      expect(units(balance[account])).toBe(standing.get(`${balance.asset}/${account}`) ?? 0n)
    }
  }
  const bitcoin = await entries('?asset=BTC&limit=100')
  expect(bitcoin).toEqual(all.filter(({ asset }) => asset === 'BTC').slice(0, 100))
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
  expect(
    [...all]
      .map(({ id }) => id)
      .sort()
      .reverse(),
  ).toEqual(all.map(({ id }) => id))
})

test('the entries of a time lead from the balances at its beginning to those at its end', async () => {
  const times = [api.time.now.toISOString()]
  for (let month = 0; month < 3; month++) {
    for (const share of [0, 1]) {
      const invoice = await makeInvoice({ asset: month === 1 ? 'BTC' : 'LTC' })
      const fact = inBlock(txid(), 10_000n + BigInt(month), share)
      await tell(invoice.id, [{ ...fact, ...chainOf(month === 1 ? 'BTC' : 'LTC') }])
    }
    api.time.advance(30 * 86_400_000)
    times.push(api.time.now.toISOString())
  }
  for (const [at, from] of times.slice(0, -1).entries()) {
    const to = times[at + 1]
    const [before, after] = [await get(`/balances?at=${from}`), await get(`/balances?at=${to}`)]
    const between = await entries(`?limit=100&created_after=${from}&created_before=${to}`)
    expect(between.length).toBeGreaterThan(0)
    for (const [row, balance] of after.data.entries()) {
      for (const account of ['available', 'pending', 'suspense', 'reserved', 'shortfall']) {
        const moved = between
          .filter((entry) => entry.asset === balance.asset && entry.account === account)
          .reduce((sum, { amount }) => sum + units(amount), 0n)
        expect(units(before.data[row][account]) + moved, `${balance.asset} ${account}`).toBe(
          units(balance[account]),
        )
      }
    }
  }
  expect((await get(`/balances?at=${times.at(-1)}`)).data).toEqual((await get('/balances')).data)
  const available = await entries(`?limit=100&account=available`)
  expect(available).toEqual((await entries('?limit=100')).filter(({ account }) => account === 'available'))
})

test('the balances of any moment are those after the last entry before it', async () => {
  const random = seededRandom(SEED)
  const tenant = { merchantId: merchant.id, livemode: false }
  let timeMs = api.time.now.getTime()
  for (let made = 0; made < 60; made++) {
    const [from, to] = random.pick([
      ['chain', 'pending'],
      ['chain', 'available'],
    ] as const)
    const transfer = { invoiceId: null, paymentId: null, asset: 'LTC', usdCents: null, from, to } as const
    const createdAt = new Date(timeMs)
    await withTransaction(api.database.pools.watcher, tenant, (tx) =>
      insertLedgerTransfers(tx, tenant, [
        {
          ...transfer,
          id: `at:${made}`,
          kind: 'deposit',
          amount: 1n,
          createdAt,
        },
      ]),
    )
    // Some at one moment, some a day apart, and some a moment before the one that they stand behind.
    timeMs += random.pick([-2_000, 0, 1, 1_000, 86_400_000])
  }
  const { rows } = await api.database.owner.query<{
    account: string
    balance_after: bigint
    created_at: Date
  }>(
    `select account, balance_after, created_at from ledger_entry
     where merchant_id = $1 and position is not null order by position`,
    [merchant.id],
  )
  for (const at of rows.map(({ created_at: time }) => time)) {
    for (const ms of [at.getTime(), at.getTime() + 1]) {
      const last = rows.findLastIndex(({ created_at: time }) => time.getTime() < ms)
      const before = rows.slice(0, last + 1)
      const [, litecoin] = (await get(`/balances?at=${new Date(ms).toISOString()}`)).data
      for (const account of ['available', 'pending']) {
        const expected = before.findLast((row) => row.account === account)?.balance_after ?? 0n
        expect(units(litecoin[account]), `${account} at ${ms}`).toBe(BigInt(expected))
      }
    }
  }
})

test.each([
  ['/balances?at=2026-13-01T00:00:00Z', 'at', 'Must be a time that exists'],
  ['/balances?at=', 'at', 'Must be a time such as'],
  ['/balances?when=2026-11-01T00:00:00Z', 'when', 'There is no such parameter'],
  ['/balances/entries?account=fees', 'account', 'Must be one of available, pending'],
  ['/balances/entries?created_after=yesterday', 'created_after', 'Must be a time such as'],
])('%s is refused with its fault', async (path, param, message) => {
  const { status, body } = await api.call('GET', path, { key: merchant.testKey })
  expect(status).toBe(400)
  expect(body.error).toMatchObject({ param, message: expect.stringContaining(message) })
})

const chainOf = (asset: 'LTC' | 'BTC') =>
  ({ asset, network: asset === 'LTC' ? 'litecoin-test' : 'bitcoin-test' }) as const

test('merchants whose payments come at the same time have statements without a gap', async () => {
  const invoices = await Promise.all(Array.from({ length: 20 }, () => makeInvoice()))
  await Promise.all(invoices.map((made) => tell(made.id, [inBlock(txid(), units(made.amount), 1)])))
  const { rows } = await api.database.owner.query<{ position: number }>(
    'select position from ledger_entry where merchant_id = $1 and position is not null order by position',
    [merchant.id],
  )
  expect(rows.map(({ position }) => position)).toEqual(rows.map((_row, index) => index + 1))
  expect(rows.length).toBeGreaterThanOrEqual(20)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import { LEDGER_CHECKS } from '../../src/audit/ledger-checks.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { formatCoinAmount, formatUsd, parseCoinAmount } from '../../src/core/money.ts'
import { countInvoicesByDay, medianTimesToPay } from '../../src/db/invoices/statistics.ts'
import { findDisagreements } from '../../src/db/ledger/audit.ts'
import { firstIdAt } from '../../src/db/list-page.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { Tx } from '../../src/postgres/transaction.ts'
import { statisticsView } from '../../src/wire/dashboard.ts'
import { gone, inBlock, inMempool } from '../support/invoice.ts'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'
import { seededRandom } from '../support/random.ts'

const DAY_MS = 24 * 3_600_000
const DOLLAR = 10n ** 12n
const LTC = 100_000_000n
const INVOICES = 25
const ROWS = 40_000

type Statistics = z.output<typeof statisticsView>

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

/** Noon in UTC so many days ago, so that no test runs over a midnight of its own. */
const TODAY = Math.floor(Date.now() / DAY_MS)
const noon = (daysAgo: number): Date => new Date((TODAY - daysAgo) * DAY_MS + DAY_MS / 2)
const dayOf = (daysAgo: number): string => noon(daysAgo).toISOString().slice(0, 10)

async function openShop(name: string) {
  const { browser, merchantId } = await people.signUp(name)
  const tenant = { merchantId, livemode: false }
  const pool = people.api.database.pools.watcher
  return {
    browser,
    merchantId,
    create: async (body: object): Promise<{ id: string; amount: string; expires_at: string }> =>
      (await browser.ask('POST', '/api/v1/invoices', body)).body,
    /** The chain as it was read so many days ago. */
    read: (daysAgo: number, invoiceId: string, ...facts: TransferFact[]) =>
      recordTransfers({ pool, clock: () => noon(daysAgo) }, { tenant, invoiceId, facts, tipHeight: 200 }),
    resolve: async (id: string, resolution: 'accept' | 'dismiss') => {
      const answer = await browser.ask('POST', `/api/v1/invoices/${id}/resolve`, { resolution })
      expect(answer.status, answer.text).toBe(200)
    },
    figures: async (): Promise<Statistics> =>
      statisticsView.parse((await browser.ask('GET', '/api/v1/statistics')).body),
  }
}

const setPrice = (asset: 'LTC' | 'BTC', dollars: number) =>
  people.api.database.owner.query(
    `insert into asset_price (asset, livemode, price, updated_at) values ($1, false, $2, now())
     on conflict (asset, livemode) do update set price = excluded.price`,
    [asset, BigInt(dollars) * DOLLAR],
  )
const receivedOn = (figures: Statistics, daysAgo: number) =>
  figures.days.find(({ day }) => day === dayOf(daysAgo))?.received_usd

test('a day shows what became final on it, at its value then, whatever was asked for and decided', async () => {
  const shop = await openShop('Dan')
  const dollars = { usd_amount: '100', asset: 'LTC' }
  const [over, short, coins] = [
    await shop.create(dollars),
    await shop.create(dollars),
    await shop.create({ amount: '1', asset: 'LTC' }),
  ]
  await shop.create(dollars)
  const asked = parseCoinAmount(over.amount, 8) ?? 0n
  const [much, little] = [(asked * 125n) / 100n + 1n, (asked * 40n) / 100n + 1n]
  await shop.read(5, over.id, inBlock('over', much, 9))
  await shop.read(4, short.id, inBlock('short', little, 9))
  await shop.read(3, coins.id, inMempool('coins', LTC))
  await shop.read(2, coins.id, inBlock('coins', LTC, 9))
  await shop.resolve(short.id, 'accept')
  const figures = await shop.figures()
  expect(figures).toMatchObject({ received_usd: '249.37', created: 4, paid: 3, needs_review: 1 })
  expect([5, 4, 3, 2].map((day) => receivedOn(figures, day))).toEqual(['125.00', '40.00', undefined, '84.37'])
  expect(figures.days.at(-1)).toMatchObject({ day: dayOf(0), received_usd: '0.00', created: 4, paid: 3 })
  const received = formatCoinAmount(much + little + LTC, 8)
  expect(figures.assets).toMatchObject([{ asset: 'LTC', received, received_usd: '249.37' }])
})

test('what the chain takes back goes out on that day at the value that it came in with', async () => {
  const shop = await openShop('Eve')
  const { id, expires_at } = await shop.create({ amount: '1', asset: 'LTC' })
  const late = { firstSeenMs: Date.parse(expires_at) + DAY_MS }
  await setPrice('LTC', 80)
  await shop.read(5, id, inBlock('back', LTC, 9, late))
  await setPrice('LTC', 100)
  await shop.read(4, id, gone('reorged', 'back', LTC))
  await shop.read(3, id, inBlock('back', LTC, 9, { ...late, hash: 'cc'.repeat(32) }))
  const figures = await shop.figures()
  expect([5, 4, 3].map((day) => receivedOn(figures, day))).toEqual(['80.00', '-80.00', '80.00'])
  expect(figures.received_usd).toBe('80.00')
})

test('money that comes long after the deadline has the value of its own day', async () => {
  const shop = await openShop('Fay')
  await setPrice('LTC', 50)
  const { id, expires_at } = await shop.create({ usd_amount: '100', asset: 'LTC' })
  const firstSeenMs = Date.parse(expires_at) + DAY_MS
  await shop.read(2, id, inBlock('late', LTC, 9, { firstSeenMs }))
  expect(receivedOn(await shop.figures(), 2)).toBe('50.00')
  await shop.resolve(id, 'accept')
  expect(receivedOn(await shop.figures(), 2)).toBe('50.00')
})

/** Cents as an amount of dollars has them: at least a digit before the two last. */
const written = (cents: bigint): string => formatUsd(cents).replace('.', '')

/** What the statement, which is the ledger, says that every day brought, in cents. */
async function statementOf(browser: TestBrowser): Promise<Map<string, string>> {
  const days = new Map<string, bigint>()
  for (let after = ''; ; ) {
    const { body } = await browser.ask('GET', `/api/v1/balances/entries?limit=100${after}`)
    for (const { type, account, created_at, usd_value } of body.data) {
      if (!type.startsWith('deposit') || !['available', 'suspense'].includes(account)) continue
      const cents = BigInt(String(usd_value).replace('.', ''))
      const day = created_at.slice(0, 10)
      days.set(day, (days.get(day) ?? 0n) + cents)
    }
    if (!body.has_more) return new Map([...days].map(([day, cents]) => [day, written(cents)]))
    after = `&starting_after=${body.data.at(-1).id}`
  }
}

test('every day is the sum of the ledger over random lives of invoices, and the audit agrees', async () => {
  const { pick, chance, below } = seededRandom(7)
  const shop = await openShop('Gus')
  await setPrice('BTC', 97_000)
  for (let number = 0; number < INVOICES; number++) {
    const terms = pick<object>([{ usd_amount: '100' }, { amount: '1' }, { usd_amount: '33.33' }])
    const { id, expires_at } = await shop.create({ ...terms, asset: 'LTC' })
    const known: TransferFact[] = []
    for (let daysAgo = 6; daysAgo >= 0; daysAgo--) {
      await setPrice('LTC', 40 + below(90))
      if (known.length === 0 || chance(0.3)) {
        const late = { firstSeenMs: Date.parse(expires_at) + DAY_MS }
        const wrong = { asset: 'BTC', network: 'bitcoin-test' } as const
        const change = pick<object>([{}, {}, late, wrong])
        known.push(inBlock(`r${number}.${daysAgo}`, pick([LTC / 3n, LTC, 2n * LTC]), 1, change))
      }
      const { txid, amount, asset, network, firstSeenMs } = pick(known)
      const change = { asset, network, firstSeenMs }
      const elsewhere = { ...change, hash: `${'ab'.repeat(31)}0${daysAgo}` }
      const depth = pick([0, 9])
      const facts = [
        inBlock(txid, amount, depth, change),
        inBlock(txid, amount, depth, elsewhere),
        { ...gone('reorged', txid, amount), ...change },
      ]
      await shop.read(daysAgo, id, pick(facts))
    }
    // What has nothing to decide answers 409, which is as good.
    if (chance(0.5))
      await shop.browser.ask('POST', `/api/v1/invoices/${id}/resolve`, {
        resolution: pick(['accept', 'dismiss']),
      })
  }
  const { days } = await shop.figures()
  const shown = new Map(days.map(({ day, received_usd }) => [day, received_usd.replace('.', '')]))
  const statement = await statementOf(shop.browser)
  expect(statement.size).toBe(7)
  for (const [day, cents] of statement) expect(shown.get(day), day).toBe(cents)
  for (const { name, sql } of LEDGER_CHECKS)
    expect(await findDisagreements(people.api.database.owner, sql, 10), name).toEqual([])
})

test('the figures of very many invoices are counted on indexes, and read few of their rows', async () => {
  const shop = await openShop('Ida')
  const { owner } = people.api.database
  await owner.query(
    `insert into invoice (merchant_id, id, livemode, status, asset, amount, usd_cents, amount_source, confirmations,
       allow_asset_selection, address, created_at, expires_at, paid_at, announced)
     select $1, $2 || lpad(i::text, 8, '0'), false, case when i % 2 = 0 then 'paid' else 'expired' end, 'LTC', 1000, 100,
       'merchant', '{}', false, 'address', $3, $3, $3::timestamptz + interval '90 seconds', '{}'
     from generate_series(1, $4::int) i`,
    [shop.merchantId, firstIdAt('invoice', noon(2).getTime(), 0)?.slice(0, -8), noon(2), ROWS],
  )
  await owner.query('vacuum analyze invoice')
  expect(await shop.figures()).toMatchObject({
    created: ROWS,
    paid: ROWS / 2,
    days: [{ day: dayOf(2), created: ROWS, paid: ROWS / 2, received_usd: '0.00' }],
    assets: [{ asset: 'LTC', received: '0', median_seconds_to_pay: 90 }],
  })
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
    const tenant = { merchantId: shop.merchantId, livemode: false }
    const [firstId, nextId] = [noon(30), noon(1)].map((at) => firstIdAt('invoice', at.getTime(), 0) ?? '')
    await client.query('set enable_seqscan = off')
    await countInvoicesByDay(explaining, tenant, [{ day: dayOf(2), firstId, nextId } as never])
    await medianTimesToPay(explaining, tenant, firstId ?? '')
  } finally {
    client.release(true)
  }
  const [counts, medians] = plans
  expect(counts?.match(/Index Only Scan using invoice_by_(mode|status)/g)).toHaveLength(3)
  expect(counts).not.toContain('Seq Scan')
  expect(medians).toMatch(/Limit .*rows=10000/)
})

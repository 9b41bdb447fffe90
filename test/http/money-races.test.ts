import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_CHECKS } from '../../src/audit/ledger-checks.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { serviceFeeOf } from '../../src/core/ledger/deposit.ts'
import { findDisagreements } from '../../src/db/ledger/audit.ts'
import { loadBalances } from '../../src/db/ledger/ledger.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { inBlock, inMempool } from '../support/invoice.ts'

const FEE_BPS = 150
const LTC = 100_000_000n
const ROUNDS = 12
const DAY_MS = 86_400_000

let api: TestApi
let shop: TestMerchant
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: FEE_BPS })
  shop = await api.addMerchant()
})
afterAll(() => api.drop())

const tenant = () => ({ merchantId: shop.id, livemode: false })
const post = (path: string, body?: object) => api.call('POST', path, { key: shop.testKey, body })
const record = (invoiceId: string, ...facts: TransferFact[]) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: tenant(), invoiceId, facts, tipHeight: 130 },
  )
const expire = () =>
  expireInvoices(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      network: 'litecoin-test',
      readAtMs: api.deps.clock().getTime() + DAY_MS,
      tipHeight: 130,
      tipHash: 'hash',
      providers: [],
    },
  )

async function makeInvoice(): Promise<string> {
  const made = await post('/invoices', { amount: '1', asset: 'LTC' })
  expect(made.status, made.text).toBe(201)
  return made.body.id
}

/** What the merchant and the operator have, whatever still waits for whom. */
async function held(): Promise<{ all: bigint; fees: bigint; suspense: bigint }> {
  const rows = await withTransaction(api.database.owner, tenant(), (tx) => loadBalances(tx, tenant()))
  const of = (account: string) => rows.find((row) => row.account === account)?.balance ?? 0n
  const all = of('pending') + of('suspense') + of('available') + of('fees') + of('shortfall')
  return { all, fees: of('fees'), suspense: of('suspense') }
}

async function disagreements(): Promise<string[]> {
  const found: string[] = []
  for (const { name, sql } of LEDGER_CHECKS)
    if ((await findDisagreements(api.database.owner, sql, 10)).length > 0) found.push(name)
  return found
}

const eventsOf = async (invoiceId: string): Promise<string[]> =>
  (
    await api.database.owner.query<{ event_type: string }>(
      'select event_type from event where resource_id = $1 order by sequence',
      [invoiceId],
    )
  ).rows.map(({ event_type }) => event_type)

const times = <Result>(count: number, work: () => Promise<Result>): Promise<Result>[] =>
  Array.from({ length: count }, work)

test('accepting, dismissing and payments that come at once book each payment and its fee once', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const before = await held()
    const id = await makeInvoice()
    const [short, more] = [inBlock(`short ${round}`, LTC / 3n, 30), inBlock(`more ${round}`, LTC / 5n, 30)]
    await record(id, short)
    const answers = await Promise.all([
      ...times(4, () => post(`/invoices/${id}/resolve`, { resolution: 'accept' })),
      ...times(4, () => post(`/invoices/${id}/resolve`, { resolution: 'dismiss' })),
      ...times(3, async () => ({ status: 200, ...(await record(id, short, more)) })),
    ])
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true)
    const events = await eventsOf(id)
    expect(events.filter((type) => type === 'invoice.paid')).toHaveLength(1)
    await post(`/invoices/${id}/resolve`, { resolution: 'dismiss' })
    const after = await held()
    expect(after.all - before.all).toBe(LTC / 3n + LTC / 5n)
    expect(after.suspense).toBe(before.suspense)
    expect(after.fees - before.fees).toBe(serviceFeeOf(LTC / 3n, FEE_BPS) + serviceFeeOf(LTC / 5n, FEE_BPS))
  }
  expect(await disagreements()).toEqual([])
})

test('a payment, a cancellation and the deadline at once leave one state, and all of the money', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const before = await held()
    const id = await makeInvoice()
    const paid = inBlock(`paid ${round}`, LTC, 30)
    const work = [
      () => record(id, inMempool(`paid ${round}`, LTC)).then(() => record(id, paid)),
      () => post(`/invoices/${id}/cancel`),
      () => expire(),
      () => post(`/invoices/${id}/cancel`),
    ]
    const turned = [...work.slice(round % 4), ...work.slice(0, round % 4)]
    await Promise.all(turned.map((each) => each()))
    await record(id, paid)
    const { body } = await api.call('GET', `/invoices/${id}`, { key: shop.testKey })
    expect((await held()).all - before.all).toBe(LTC)
    const events = await eventsOf(id)
    expect(new Set(events).size).toBe(events.length)
    if (body.status === 'paid') expect(body.cancelled_at).toBeNull()
    else expect([body.status, body.review_reason]).toEqual(['manual_review', 'cancelled'])
  }
  expect(await disagreements()).toEqual([])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_CHECKS } from '../../src/audit/ledger-checks.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { serviceFeeOf } from '../../src/core/ledger/deposit.ts'
import { findDisagreements } from '../../src/db/ledger/audit.ts'
import { loadBalances } from '../../src/db/ledger/ledger.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { gone, inBlock, inMempool } from '../support/invoice.ts'
import { seededRandom } from '../support/random.ts'

const FEE_BPS = 150
const STEPS = 60
let api: TestApi
let shop: TestMerchant
let tenant: Tenant
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: FEE_BPS })
  shop = await api.addMerchant()
  tenant = { merchantId: shop.id, livemode: false }
})
afterAll(() => api.drop())

const makeInvoice = async (): Promise<string> => {
  const body = { amount: '1', asset: 'LTC' }
  const answer = await api.call('POST', '/invoices', { key: shop.testKey, body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body.id
}
const record = (invoiceId: string, fact: TransferFact) =>
  recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant, invoiceId, facts: [fact], tipHeight: 101 },
  )
async function balances(): Promise<Record<string, bigint>> {
  const rows = await withTransaction(api.database.owner, tenant, (tx) => loadBalances(tx, tenant))
  return Object.fromEntries(rows.map((row) => [row.account, row.balance]))
}
async function disagreements(): Promise<string[]> {
  const found: string[] = []
  for (const { name, sql } of LEDGER_CHECKS) {
    if ((await findDisagreements(api.database.owner, sql, 10)).length > 0) found.push(name)
  }
  return found
}

test('the fee is its own line in the statement, worth its share; what the chain takes back returns it', async () => {
  const invoiceId = await makeInvoice()
  await record(invoiceId, inBlock('f1', 99_999_999n, 1))
  const { body } = await api.call('GET', '/balances/entries', { key: shop.testKey })
  const lines = body.data.map((one: { [field: string]: string }) => [
    one.type,
    one.account,
    one.amount,
    one.balance_after,
    one.usd_value,
  ])
  // 1.5 % of 99,999,999 is 1,499,999.985: the merchant has the advantage of what is cut off.
  expect(lines).toEqual([
    ['service_fee', 'available', '-0.01499999', '0.985', '-1.26'],
    ['deposit', 'available', '0.99999999', '0.99999999', '84.36'],
  ])
  expect(await balances()).toEqual({ chain: -99_999_999n, available: 98_500_000n, fees: 1_499_999n })
  await record(invoiceId, gone('reorged', 'f1', 99_999_999n))
  expect(await balances()).toEqual({ chain: 0n, available: 0n, fees: 0n })
  expect(await disagreements()).toEqual([])
})

test('an invoice keeps the fee of its making, whatever is set later', async () => {
  const later = await createTestApi({ serviceFeeBps: 0, pool: api.database.pools.api })
  try {
    const other = await later.call('POST', '/invoices', {
      key: shop.testKey,
      body: { amount: '1', asset: 'LTC' },
    })
    expect(other.status, other.text).toBe(201)
    const before = await balances()
    await record(other.body.id, inBlock('g1', 100_000n, 1))
    const after = await balances()
    expect([after.fees, after.available]).toEqual([before.fees, (before.available ?? 0n) + 100_000n])
    expect(await disagreements()).toEqual([])
  } finally {
    await later.drop()
  }
})

test(`through ${STEPS} random moves the operator has the fee of what is available and of nothing else`, async () => {
  const random = seededRandom(20261121)
  const shopBefore = await balances()
  const invoiceId = await makeInvoice()
  const amounts = new Map<string, bigint>()
  const available = new Map<string, bigint>()
  for (let step = 0; step < STEPS; step++) {
    const txid = `h${random.below(5)}`
    const amount = amounts.get(txid) ?? BigInt(1_000 + random.below(10_000_000))
    amounts.set(txid, amount)
    const hash = `${random.below(3)}c`.repeat(32)
    const told = random.pick([
      inMempool(txid, amount),
      gone('reorged', txid, amount),
      inBlock(txid, amount, 1, { hash }),
      inBlock(txid, amount, 1, { hash }),
    ])
    await record(invoiceId, told)
    const { rows } = await api.database.owner.query<{ txid: string }>(
      `select txid from transfer where invoice_id = $1 and ledger_bucket = 'available'`,
      [invoiceId],
    )
    available.clear()
    for (const row of rows) available.set(row.txid, amounts.get(row.txid) ?? 0n)
    const expected = [...available.values()].reduce((sum, one) => sum + serviceFeeOf(one, FEE_BPS), 0n)
    expect((await balances()).fees).toBe((shopBefore.fees ?? 0n) + expected)
  }
  expect(await disagreements()).toEqual([])
})

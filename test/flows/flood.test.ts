import { afterEach, beforeEach, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { PAYMENTS_MAX } from '../../src/core/invoice/block-sums.ts'
import { deriveStatus } from '../../src/core/invoice/status.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { listUncheckedClaims, saveChecked } from '../../src/db/chain/checked-credits.ts'
import { listCreditsBetween } from '../../src/db/chain/second-reading.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { loadBalances } from '../../src/db/ledger/ledger.ts'
import { resolveInvoice } from '../../src/flows/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { listSpendableCoins } from '../../src/payouts/store/payout-coins.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { anyAddress } from '../support/any-address.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { gone, inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

const WHOLE = 100_000_000n
const SMALL = 3_000n
let database: TestDatabase
let tenant: Tenant
const clock = () => new Date(makeInvoice().createdAtMs + 60_000)

// Each test has the same transactions, and one coin pays one invoice.
beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(() => database.drop())

async function freshInvoice() {
  tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  await database.owner.query(
    'update account_key set next_index = (select max(idx) + 1 from address a where a.keyspace = account_key.keyspace)',
  )
  return invoice
}

const record = (invoiceId: string, ...facts: TransferFact[]) =>
  recordTransfers({ pool: database.pools.watcher, clock }, { tenant, invoiceId, facts, tipHeight: 101 })

const hashOf = (number: number) => number.toString(16).padStart(64, '0')
const many = (prefix: string, count: number, changes: { hash?: string } = {}, amount = SMALL) =>
  Array.from({ length: count }, (_, index) => inBlock(`${prefix}${index}`, amount, 2, changes))

async function balances(): Promise<Record<string, bigint>> {
  const rows = await withTransaction(database.owner, tenant, (tx) => loadBalances(tx, tenant))
  return Object.fromEntries(rows.map((row) => [row.account, row.balance]))
}

async function countOf(what: string): Promise<number> {
  const { rows } = await database.owner.query<{ count: number }>(
    `select count(*)::int as count from ${what} where merchant_id = $1`,
    [tenant.merchantId],
  )
  return rows[0]?.count ?? 0
}

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the invoice is gone')
  return value
}

const answer = (invoiceId: string, resolution: 'accept' | 'dismiss') =>
  resolveInvoice(
    { pool: database.pools.api, clock, issuedAddresses: anyAddress },
    {
      tenant,
      invoiceId,
      resolution,
      note: null,
      actor: 'key_1',
      networkFacts: { tipHeightOf: () => 101 },
      requestId: 'req_1',
    },
  )

const load = (id: string) =>
  withTransaction(database.owner, tenant, async (tx) => (await loadInvoice(tx, tenant, id))?.invoice)

async function expectSoundBooks(): Promise<void> {
  const found = (await runAudit(database.owner, [])).filter(({ findings }) => findings.length > 0)
  expect(found).toEqual([])
}

test('a block of 3,000 payments to one invoice is a sum beside the largest, and not a unit of it is lost', async () => {
  const { id } = await freshInvoice()
  await record(id, inBlock('whole', WHOLE, 2), ...many('a', 3_000))
  expect(await balances()).toEqual({
    chain: -(WHOLE + 3_000n * SMALL),
    suspense: (3_001n - BigInt(PAYMENTS_MAX)) * SMALL,
    available: WHOLE + (BigInt(PAYMENTS_MAX) - 1n) * SMALL,
  })
  expect([await countOf('transfer'), await countOf('event')]).toEqual([PAYMENTS_MAX + 1, 4])
  const { rows } = await database.owner.query<{ size: number }>(
    'select max(length(body)) as size from event where merchant_id = $1',
    [tenant.merchantId],
  )
  expect(rows[0]?.size).toBeLessThan(16 * 1024)
  expect((await record(id, inBlock('whole', WHOLE, 2), ...many('a', 3_000))).changed).toBe(false)
  await expectSoundBooks()
  await answer(id, 'accept')
  const coins = await listSpendableCoins(database.pools.signer, tenant, 'litecoin-test')
  expect(coins).toHaveLength(3_001)
  expect(coins.reduce((sum, { amount }) => sum + amount, 0n)).toBe(WHOLE + 3_000n * SMALL)
  await expectSoundBooks()
})

test('the outputs of one transaction are one payment, and a coin each', async () => {
  const { id } = await freshInvoice()
  const parts = Array.from({ length: 3_000 }, (_, outputIndex) => ({
    txid: 'many',
    outputIndex,
    amount: SMALL,
  }))
  await record(id, { ...inBlock('many', 3_000n * SMALL, 2), parts })
  expect([await countOf('transfer'), await countOf('ledger_transfer')]).toEqual([1, 1])
  expect(await listSpendableCoins(database.pools.signer, tenant, 'litecoin-test')).toHaveLength(3_000)
  await expectSoundBooks()
})

test('small payments spread over 300 blocks cost each block the same, and end in one review', async () => {
  const { id } = await freshInvoice()
  const rowsRead: number[] = []
  for (let block = 1; block <= 300; block++) {
    const hash = hashOf(block)
    await record(id, inBlock(`a${block}`, SMALL, 1, { hash }))
    await record(id, inBlock(`a${block}`, SMALL, 2, { hash }))
    const invoice = await load(id)
    rowsRead.push((invoice?.payments.length ?? 0) + (invoice?.blockSums.length ?? 0))
  }
  expect(Math.max(...rowsRead)).toBe(PAYMENTS_MAX + 1)
  expect(await balances()).toMatchObject({ suspense: 250n * SMALL, available: 50n * SMALL })
  const { rows } = await database.owner.query<{ event_type: string; count: number }>(
    `select event_type, count(*)::int as count from event where merchant_id = $1 group by 1 order by 1`,
    [tenant.merchantId],
  )
  expect(rows).toEqual([
    { event_type: 'invoice.confirming', count: 50 },
    { event_type: 'invoice.manual_review', count: 1 },
    { event_type: 'invoice.partially_paid', count: 50 },
    { event_type: 'invoice.payment_detected', count: 1 },
  ])
  await expectSoundBooks()
  await answer(id, 'dismiss')
  expect(await balances()).toMatchObject({ suspense: 0n, available: 300n * SMALL })
  const rest = await load(id)
  expect(rest?.blockSums).toMatchObject([{ payments: 250, resolution: 'dismissed', amount: 250n * SMALL }])
  await expectSoundBooks()
})

test('a payment that covers the invoice pays it after a flood, and every reading of its block says so', async () => {
  const { id } = await freshInvoice()
  const flood = many('a', PAYMENTS_MAX + 10)
  await record(id, ...flood)
  await record(id, inMempool('whole', WHOLE))
  const [first, second] = [hashOf(21), hashOf(22)]
  await record(id, inBlock('whole', WHOLE, 2, { hash: first }), ...many('b', 5, { hash: first }))
  expect(deriveStatus(must(await load(id)))).toBe('overpaid')
  expect(await balances()).toMatchObject({
    suspense: 15n * SMALL,
    available: WHOLE + BigInt(PAYMENTS_MAX) * SMALL,
  })
  expect((await record(id, inBlock('whole', WHOLE, 2, { hash: first }), ...flood)).changed).toBe(false)
  await expectSoundBooks()
  await record(id, { ...gone('reorged', 'whole', WHOLE), knownIn: first })
  await expectSoundBooks()
  await record(id, inBlock('whole', WHOLE, 2, { hash: second }))
  expect(await balances()).toMatchObject({ available: WHOLE + BigInt(PAYMENTS_MAX) * SMALL })
  await expectSoundBooks()
})

test('a reorganisation takes back a block’s sum, and what is in another block comes back with that', async () => {
  const { id } = await freshInvoice()
  await record(id, ...many('own', PAYMENTS_MAX))
  const [first, second] = [hashOf(1), hashOf(2)]
  await record(id, ...many('a', 10, { hash: first }))
  const sum = (
    await database.owner.query(
      'select txid, output_index, asset, amount from transfer where is_block_sum and merchant_id = $1',
      [tenant.merchantId],
    )
  ).rows[0]
  const left = {
    ...gone('reorged', sum.txid, BigInt(sum.amount)),
    knownIn: first,
    outputIndex: sum.output_index,
  }
  await record(id, left, ...many('a', 7, { hash: second }), inMempool('a8', SMALL))
  expect(await balances()).toMatchObject({ suspense: 7n * SMALL })
  await expectSoundBooks()
  const range = { from: 99, to: 100 }
  const booked = await listCreditsBetween(database.pools.watcher, 'litecoin-test', ['LTC'], range)
  expect(
    booked.filter((each) => each.invoiceId === id && [first, second].includes(each.blockHash)).length,
  ).toBe(7)
  // What a second reading finds beside it comes to the sum; what it proves to be none leaves it.
  await record(id, inBlock('a8', SMALL, 1, { hash: second }))
  expect(await balances()).toMatchObject({ suspense: 8n * SMALL })
  await record(id, { ...gone('reorged', 'a3', SMALL), knownIn: second })
  expect(await balances()).toMatchObject({ suspense: 7n * SMALL })
  await expectSoundBooks()
})

test('a sum with the output of a coinbase in it is final when that is', async () => {
  const { id } = await freshInvoice()
  await record(id, ...many('own', PAYMENTS_MAX))
  const hash = hashOf(1)
  const mined = inBlock('mined', SMALL, 2, { hash, minimumConfirmations: 100 })
  await record(id, inBlock('plain', SMALL, 2, { hash }), mined)
  await answer(id, 'dismiss')
  expect(await balances()).toMatchObject({ pending: 2n * SMALL, available: 50n * SMALL })
})

test('a credit that is named by its own block joins its sum, however often the block is read', async () => {
  const { id } = await freshInvoice()
  const hash = hashOf(1)
  // What a contract paid, or a validator withdrew, has the block's hash in place of a transaction's.
  const unnamed = inBlock(hash, 1_000n, 1, { hash, asset: 'ETH', network: 'ethereum-test', knownIn: null })
  await record(id, unnamed)
  expect((await record(id, unnamed)).changed).toBe(false)
  expect((await load(id))?.blockSums).toMatchObject([{ asset: 'ETH', amount: 1_000n, transfers: 1 }])
  await expectSoundBooks()
})

test('a sum that grew after its block was checked is checked again, and by its amount', async () => {
  const { id } = await freshInvoice()
  const [hash, changes] = [hashOf(7), { hash: hashOf(7) }]
  const unchecked = async () => {
    const from = {
      network: 'litecoin-test',
      keyspace: 'litecoin-test',
      assets: ['LTC'],
      height: 100,
    } as const
    const claims = await listUncheckedClaims(database.pools.watcher, from)
    return claims.filter(({ invoiceId, block }) => invoiceId === id && block.hash === hash)
  }
  await record(id, ...many('own', PAYMENTS_MAX), inBlock('a', SMALL, 1, changes))
  const first = await unchecked()
  await saveChecked(database.pools.watcher, first)
  expect(await unchecked()).toEqual([])
  await record(id, inBlock('b', SMALL, 1, changes))
  expect(await unchecked()).toMatchObject([{ amount: 2n * SMALL }])
  await saveChecked(database.pools.watcher, first)
  expect(await unchecked()).toMatchObject([{ amount: 2n * SMALL }])
})

test('the audit finds a sum that is not what it sums', async () => {
  const { id } = await freshInvoice()
  await record(id, ...many('a', PAYMENTS_MAX + 10))
  await database.owner.query(
    'update transfer set transfers = transfers + 1 where is_block_sum and merchant_id = $1',
    [tenant.merchantId],
  )
  const found = (await runAudit(database.owner, [])).filter(({ findings }) => findings.length > 0)
  expect(found.map(({ name }) => name)).toEqual(['transfer_is_its_parts'])
})

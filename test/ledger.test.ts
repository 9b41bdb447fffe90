import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertLedgerTransfer, type LedgerTransfer, loadBalances } from '../src/db/queries/ledger.ts'
import { type Tenant, withTransaction } from '../src/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seedMerchant } from './support/seed.ts'

let database: TestDatabase
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
})
afterAll(() => database.drop())

let count = 0
const deposit = (changes: Partial<LedgerTransfer> = {}): LedgerTransfer => ({
  id: `dep:litecoin-test:tx${count++}:0:1`,
  kind: 'deposit',
  invoiceId: null,
  paymentId: null,
  asset: 'LTC',
  from: 'chain',
  to: 'available',
  amount: 10n,
  usdCents: null,
  createdAt: new Date(),
  ...changes,
})

const post = (transfer: LedgerTransfer) =>
  withTransaction(database.pools.watcher, tenant, (tx) => insertLedgerTransfer(tx, tenant, transfer))

const sql = (text: string, values: unknown[] = []) =>
  withTransaction(database.pools.watcher, tenant, (tx) => tx.query(text, values))

const ENTRY = `insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at)`

test('balances are the sum of the entries', async () => {
  await post(deposit({ amount: 7n }))
  await post(deposit({ from: 'available', to: 'suspense', amount: 3n }))
  const rows = await withTransaction(database.pools.api, tenant, (tx) => loadBalances(tx, tenant))
  const sums = Object.fromEntries(rows.map((row) => [row.account, row.balance]))
  expect(sums).toEqual({ chain: -7n, available: 4n, suspense: 3n })
})

test('a ledger transfer cannot be posted twice', async () => {
  const transfer = deposit()
  await post(transfer)
  await expect(post(transfer)).rejects.toThrow(/duplicate key value/)
})

test('transfers that are posted at once in different orders wait for one another and all commit', async () => {
  await post(deposit({ to: 'pending', amount: 100n }))
  const storm = Array.from({ length: 20 }, (_, index) =>
    withTransaction(database.pools.watcher, tenant, async (tx) => {
      const coming = deposit({ to: 'pending', amount: 1n })
      const settling = deposit({ from: 'pending', to: 'available', amount: 1n })
      for (const transfer of index % 2 === 0 ? [coming, settling] : [settling, coming]) {
        await insertLedgerTransfer(tx, tenant, transfer)
      }
    }),
  )
  const outcomes = await Promise.allSettled(storm)
  expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toEqual([])
})

test('entries that do not sum to zero do not commit', async () => {
  const id = 'dep:unbalanced'
  const unbalanced = withTransaction(database.pools.watcher, tenant, async (tx) => {
    await tx.query(
      `insert into ledger_transfer (merchant_id, id, livemode, kind, created_at) values ($1, $2, false, 'deposit', now())`,
      [tenant.merchantId, id],
    )
    await tx.query(`${ENTRY} values ($1, $2, 'available', 'LTC', false, 5, now())`, [tenant.merchantId, id])
  })
  await expect(unbalanced).rejects.toThrow(/do not sum to zero/)
})

test('a ledger transfer without entries does not commit', async () => {
  const empty = sql(
    `insert into ledger_transfer (merchant_id, id, livemode, kind, created_at) values ($1, 'dep:empty', false, 'deposit', now())`,
    [tenant.merchantId],
  )
  await expect(empty).rejects.toThrow(/has no entries/)
})

test('entries cannot be added to a committed transfer, even when they sum to zero', async () => {
  const transfer = deposit()
  await post(transfer)
  const added = sql(
    `${ENTRY} values ($1, $2, 'pending', 'BTC', false, 5, now()), ($1, $2, 'chain', 'BTC', false, -5, now())`,
    [tenant.merchantId, transfer.id],
  )
  await expect(added).rejects.toThrow(/was changed after it was committed/)
})

test('not a number is no amount, and no account but the outside goes below zero', async () => {
  const nan = withTransaction(database.pools.watcher, tenant, async (tx) => {
    await tx.query(
      `insert into ledger_transfer (merchant_id, id, livemode, kind, created_at) values ($1, 'dep:nan', false, 'deposit', now())`,
      [tenant.merchantId],
    )
    await tx.query(`${ENTRY} values ($1, 'dep:nan', 'available', 'LTC', false, 'NaN', now())`, [
      tenant.merchantId,
    ])
  })
  await expect(nan).rejects.toThrow(/ledger_(entry_amount|balance_balance)_check/)
  await expect(post(deposit({ from: 'reserved', to: 'available' }))).rejects.toThrow(/ledger_balance/)
})

test('no running role can change or remove what is in the ledger', async () => {
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    for (const table of ['ledger_transfer', 'ledger_entry', 'ledger_balance']) {
      for (const statement of [
        `delete from ${table}`,
        `truncate ${table}`,

        `update ${table} set livemode = true`,
      ]) {
        await expect(database.pools[role].query(statement)).rejects.toThrow(
          /permission denied|does not exist/,
        )
      }
    }
    await expect(
      database.pools[role].query(
        `insert into ledger_balance values ('${tenant.merchantId}', false, 'BTC', 'available', 1)`,
      ),
    ).rejects.toThrow(/permission denied/)
  }
})

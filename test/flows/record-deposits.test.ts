import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { listOpenAddresses } from '../../src/db/chain/watched-addresses.ts'
import { loadDepositAccount } from '../../src/db/deposits/deposit-accounts.ts'
import { loadDeposit, loadKnownDeposits, loadUnsettledSums } from '../../src/db/deposits/deposits.ts'
import { saveAssetPrices } from '../../src/db/invoices/asset-prices.ts'
import { loadBalances } from '../../src/db/ledger/ledger.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { gone, inBlock, inMempool } from '../support/invoice.ts'
import { seedDepositAccount, seedMerchant } from '../support/seed.ts'

const COIN = 100_000_000n
const NOW = new Date('2026-11-21T12:05:00.000Z')
const OTHER_BLOCK = { hash: 'bb'.repeat(32) }
const EVIDENCE = {
  usdPerUnit: '100',
  quotedAt: NOW.toISOString(),
  sources: [{ name: 'kraken', usdPerUnit: '100', at: NOW.toISOString() }],
}

let database: TestDatabase
let tenant: Tenant
let accountId: string
/** Each look is a little later than the one before, so that events sort in their order. */
let looks = 0
const clock = () => new Date(NOW.getTime() + looks++)

beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
  const price = { asset: 'LTC', livemode: false, price: 100n * 10n ** 12n, evidence: EVIDENCE } as const
  await saveAssetPrices(database.owner, [price, { ...price, asset: 'WSOL' }], NOW)
})
afterAll(() => database.drop())

const record = (...facts: TransferFact[]) =>
  recordTransfers(
    { pool: database.pools.watcher, clock },
    { tenant, invoiceId: accountId, facts, tipHeight: 101 },
  )

async function told(): Promise<string[]> {
  const { rows } = await database.owner.query<{ line: string }>(
    `select concat(e.event_type, ' ', e.sequence, ' ', convert_from(e.body, 'UTF8')::json -> 'data' ->> 'amount', ' ',
       convert_from(e.body, 'UTF8')::json -> 'data' ->> 'status') as line
     from event e join deposit d on d.merchant_id = e.merchant_id and d.id = e.resource_id
     where d.account_id = $1 order by e.id`,
    [accountId],
  )
  return rows.map(({ line }) => line)
}

async function fresh(serviceFeeBps = 0): Promise<void> {
  tenant = await seedMerchant(database)
  accountId = await seedDepositAccount(database, tenant, { serviceFeeBps })
}

async function balances(asset = 'LTC'): Promise<Record<string, bigint>> {
  const rows = await withTransaction(database.owner, tenant, (tx) => loadBalances(tx, tenant))
  return Object.fromEntries(
    rows.filter((row) => row.asset === asset && row.balance !== 0n).map((row) => [row.account, row.balance]),
  )
}

async function discrepancies(): Promise<unknown[]> {
  return (await runAudit(database.owner, [])).flatMap(({ name, findings }) =>
    findings.map((finding) => ({ name, ...finding })),
  )
}

test('each payment is a deposit of its own: seen, final, in the ledger at its value, announced once each', async () => {
  await fresh(100)
  await record(inMempool('a1', COIN))
  await record(inBlock('a1', COIN, 1), inMempool('a2', 2n * COIN))
  expect(await balances()).toEqual({ chain: -COIN, pending: COIN })
  await record(inBlock('a1', COIN, 6), inBlock('a2', 2n * COIN, 6))
  await record(inBlock('a1', COIN, 7), inBlock('a2', 2n * COIN, 7))
  expect(await told()).toEqual([
    'deposit.detected 1 1 detected',
    'deposit.detected 1 2 detected',
    'deposit.confirmed 2 1 confirmed',
    'deposit.confirmed 2 2 confirmed',
  ])
  expect(await balances()).toEqual({
    chain: -3n * COIN,
    available: (3n * COIN * 99n) / 100n,
    fees: (3n * COIN) / 100n,
  })
  const { rows } = await database.owner.query(
    `select l.usd_cents, l.invoice_id from ledger_transfer l where l.merchant_id = $1 and l.kind = 'deposit' order by l.id`,
    [tenant.merchantId],
  )
  expect(rows).toEqual(
    [10_000n, 10_000n, 20_000n].map((cents) => ({ usd_cents: cents, invoice_id: accountId })),
  )
  expect(await discrepancies()).toEqual([])
})

test('what leaves the chain is reversed, and told of again once it is final in another block', async () => {
  await fresh()
  await record(inBlock('b1', COIN, 6), inMempool('b2', COIN))
  await record({ ...gone('reorged', 'b1', COIN) }, { ...gone('replaced', 'b2', COIN), knownIn: null })
  expect(await balances()).toEqual({})
  await record(inBlock('b1', COIN, 1, { ...OTHER_BLOCK, knownIn: null }))
  await record(inBlock('b1', COIN, 6, { ...OTHER_BLOCK, knownIn: OTHER_BLOCK.hash }))
  expect(await told()).toEqual([
    'deposit.detected 1 1 confirming',
    'deposit.confirmed 2 1 confirmed',
    'deposit.detected 1 1 detected',
    'deposit.reversed 3 1 reorged',
    'deposit.reversed 2 1 replaced',
    'deposit.confirmed 4 1 confirmed',
  ])
  expect(await balances()).toEqual({ chain: -COIN, available: COIN })
  expect(await discrepancies()).toEqual([])
})

test('a contract that pays another amount in another block: the amount that was told is reversed', async () => {
  await fresh()
  const ETHER = 10n ** 18n
  const at = { network: 'ethereum-test', asset: 'ETH' } as const
  await record({ ...inBlock('c1', ETHER, 6, at), tag: 'finalized' } as TransferFact)
  await record({
    ...inBlock('c1', 3n * ETHER, 6, { ...at, ...OTHER_BLOCK }),
    tag: 'finalized',
  } as TransferFact)
  expect((await told()).map((line) => line.split(' ').slice(0, 2))).toEqual([
    ['deposit.detected', '1'],
    ['deposit.confirmed', '2'],
    ['deposit.reversed', '3'],
    ['deposit.confirmed', '4'],
  ])
  expect((await told())[2]).toContain('1 reorged')
  expect(await balances('ETH')).toEqual({ chain: -3n * ETHER, available: 3n * ETHER })
  expect(await discrepancies()).toEqual([])
})

test('dust is recorded and is no deposit; a coin that no invoice asks for waits in suspense, unannounced', async () => {
  await fresh()
  const [d1, d2] = [inBlock('d1', 100n, 6), inBlock('d2', 200n, 6)]
  await record(d1, inBlock('d0', COIN, 1), d2)
  await record(inBlock('d3', COIN, 6, { network: 'solana-test', asset: 'WSOL' }))
  await record({
    ...inBlock('d3', COIN, 6, { network: 'solana-test', asset: 'WSOL' }),
    tag: 'finalized',
  } as TransferFact)
  expect(await told()).toEqual(['deposit.detected 1 1 confirming'])
  expect(await balances('WSOL')).toEqual({ chain: -COIN, suspense: COIN })
  const { rows } = await database.owner.query(
    'select amount, dust, transfers, is_block_sum from transfer where merchant_id = $1 and dust',
    [tenant.merchantId],
  )
  expect(rows).toEqual([{ amount: 300n, dust: true, transfers: 2, is_block_sum: true }])
  expect(await discrepancies()).toEqual([])
})

test('many small payments at a time wait as long as one that is worth as much as all of them', async () => {
  await fresh()
  const facts = Array.from({ length: 120 }, (_, index) => inBlock(`e${index}`, COIN, 1))
  await record(...facts)
  const { rows } = await database.owner.query(
    `select confirmations_required as required, count(*)::int from transfer where merchant_id = $1 group by 1 order by 1`,
    [tenant.merchantId],
  )
  expect(rows).toEqual([
    { required: 6, count: 9 },
    { required: 12, count: 90 },
    { required: 24, count: 21 },
  ])
})

test('of what is in no block fifty are recorded in an hour, and whatever a block holds', async () => {
  await fresh()
  for (let count = 0; count < 60; count++) await record(inMempool(`h${count}`, COIN))
  expect(await told()).toHaveLength(50)
  await record(inBlock('h59', COIN, 1))
  expect(await told()).toHaveLength(51)
})

test('a deposit costs as much after ten thousand others as after none, and two at a time are one', async () => {
  await fresh()
  await record(inBlock('f0', COIN, 6))
  await database.owner.query(
    `insert into transfer select (jsonb_populate_record(t, jsonb_build_object('id', 'pay_' || n, 'txid', 'old' || n))).*
     from transfer t, generate_series(1, 10000) n where t.merchant_id = $1`,
    [tenant.merchantId],
  )
  await database.owner.query('analyze transfer')
  expect(await rowsReadFor('f0')).toBeLessThan(10)
  await Promise.all([record(inMempool('f1', COIN)), record(inMempool('f1', COIN))])
  expect((await told()).filter((line) => line.startsWith('deposit.detected'))).toHaveLength(2)
  await database.owner.query(`delete from transfer where txid like 'old%'`)
})

/** Rows of transfers that are read of an account before a fact about one of them is judged. */
async function rowsReadFor(txid: string): Promise<number> {
  return withTransaction(database.pools.watcher, tenant, async (tx) => {
    const account = await loadDepositAccount(tx, tenant, accountId)
    if (account === null) throw new Error('no account')
    const readSoFar = async () => {
      const { rows } = await tx.query<{ read: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables where relname = 'transfer'`,
      )
      return rows[0]?.read ?? 0
    }
    const before = await readSoFar()
    const known = await loadKnownDeposits(tx, account, { network: 'litecoin-test', txids: [txid] })
    expect(known.payments).toHaveLength(1)
    await loadUnsettledSums(tx, account, 'litecoin-test')
    return (await readSoFar()) - before
  })
}

test('a permanent address is among those that somebody may pay now, as long as it is there', async () => {
  await fresh()
  const open = await listOpenAddresses(database.pools.watcher, {
    network: 'solana-test',
    keyspace: 'solana-test',
    now: new Date('2036-01-01T00:00:00Z'),
  })
  const { rows } = await database.owner.query<{ program: Buffer }>(
    `select program from deposit_address where invoice_id = $1 and keyspace = 'solana-test'`,
    [accountId],
  )
  expect(open).toContainEqual(rows[0]?.program)
})

test('a deposit is read with its rate and where that came from', async () => {
  await fresh()
  await record(inBlock('g1', COIN / 2n, 6))
  const { rows } = await database.owner.query<{ id: string }>(
    'select id from deposit where merchant_id = $1',
    [tenant.merchantId],
  )
  const deposit = await withTransaction(database.pools.api, tenant, (tx) =>
    loadDeposit(tx, tenant, rows[0]?.id ?? ''),
  )
  expect(deposit).toMatchObject({ announced: 'confirmed', rate: EVIDENCE, account: { id: accountId } })
})

test('the audit names a deposit that was announced otherwise, taken away, or of nobody', async () => {
  await fresh()
  await record(inBlock('i1', COIN, 6))
  const named = async () => {
    const found = (await discrepancies()) as { name: string; merchantId: string }[]
    return [...new Set(found.flatMap((each) => (each.merchantId === tenant.merchantId ? [each.name] : [])))]
  }
  const changed = async (statement: string) => {
    await database.owner.query(statement, [tenant.merchantId])
    return named()
  }
  expect(await named()).toEqual([])
  const otherwise = await changed(`update deposit set announced = 'reversed' where merchant_id = $1`)
  expect(otherwise).toEqual(
    expect.arrayContaining(['deposit_follows_its_facts', 'deposit_event_matches_its_deposit']),
  )
  await changed(`update deposit set announced = 'confirmed' where merchant_id = $1`)
  expect(await changed('update deposit set event_count = 3 where merchant_id = $1')).toEqual([
    'events_are_counted',
  ])
  const gone = await changed('delete from deposit where merchant_id = $1')
  expect(gone).toEqual(
    expect.arrayContaining(['deposit_is_its_payment', 'deposit_event_matches_its_deposit']),
  )
  expect(await changed('delete from deposit_account where merchant_id = $1')).toContain(
    'address_has_its_receiver',
  )
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import { countShortfalls, loadBalances } from '../../src/db/ledger/ledger.ts'
import { recordTogether, recordTransfers } from '../../src/flows/record-transfers.ts'
import { decidePayout, recordPayout } from '../../src/payouts/advance-payout.ts'
import { type PayoutRequested, requestPayoutAlone } from '../../src/payouts/request-payout.ts'
import { saveNetworkFee } from '../../src/payouts/store/payout-coins.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { askForFees } from '../support/fee-payouts.ts'
import { gone, inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { seededRandom } from '../support/random.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { quietSeals } from '../support/sealed.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

/** A chain that takes back what was paid out already. */

const WHOLE = 100_000_000n
const SEEDS = process.env.LONG === '1' ? 300 : 5
const STEPS = 30
const NETWORK = 'litecoin-test'
const keyring = openKeyring(Buffer.alloc(32, 9))
const seals = quietSeals(keyring)
let database: TestDatabase
let tenant: Tenant
let now: Date
const clock = () => now

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function openShop(): Promise<void> {
  now = new Date(makeInvoice().createdAtMs + 60_000)
  tenant = await seedMerchant(database)
  await saveNetworkFee(database.owner, NETWORK, { rate: 2_000n, now })
  await database.owner.query(
    `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
     values ($1, $2, false, 'LTC', $3, 'x', 'x', $4, $4)`,
    [tenant.merchantId, `dst_${tenant.merchantId}`, randomLitecoinAddress('regtest'), now],
  )
}

/** As by a reading that knows where the payments stand by now. */
async function record(invoiceId: string, ...told: TransferFact[]) {
  const { rows } = await database.owner.query<{ txid: string; block_hash: string | null }>(
    'select txid, block_hash from transfer where invoice_id = $1',
    [invoiceId],
  )
  const blocks = new Map(rows.map(({ txid, block_hash }) => [txid, block_hash]))
  const facts = told.map((fact) => ({ ...fact, knownIn: blocks.get(fact.txid) ?? null }))
  const deps = { pool: database.pools.watcher, clock }
  return recordTransfers(deps, { tenant, invoiceId, facts, tipHeight: 101 })
}

const ask = (amount: string) =>
  requestPayoutAlone(database.pools.api, {
    tenant,
    source: 'available',
    destinationId: `dst_${tenant.merchantId}`,
    amount,
    asset: null,
    by: 'key_a',
    dailyLimits: {},
    requestId: 'req_test',
    now,
  })

async function request(amount: string): Promise<string> {
  const requested = await ask(amount)
  if (requested.kind !== 'requested') throw new Error(requested.kind)
  return requested.payout.id
}

const decide = (payoutId: string, decision: 'approve' | 'reject') =>
  decidePayout(
    { pool: database.pools.api, clock, keyring, seals },
    { tenant, source: 'available', payoutId, decision, by: 'key_b', requestId: 'req_test' },
  )

/** Asks, approves, and has it confirmed by the chain. */
async function payOut(amount: string): Promise<void> {
  const payoutId = await request(amount)
  await decide(payoutId, 'approve')
  await confirm(payoutId)
}

async function confirm(payoutId: string): Promise<void> {
  const transaction = { txid: `tx of ${payoutId}`, networkFee: 100n }
  await recordPayout(
    { pool: database.pools.watcher, clock },
    { tenant, payoutId, fact: { kind: 'final', transaction } },
  )
}

/** Everything that the operator has kept is asked for, and, where it can be, approved and confirmed by the chain. */
async function takeFees(): Promise<'confirmed' | PayoutRequested['kind']> {
  const address = randomLitecoinAddress('regtest')
  const asked = await askForFees(database, tenant, { asset: 'LTC', address, now })
  if (asked.kind !== 'requested') return asked.kind
  const decided = await decidePayout(
    { pool: database.owner, clock, keyring, seals },
    {
      tenant,
      source: 'fees',
      payoutId: asked.payout.id,
      decision: 'approve',
      by: 'opr_b',
      requestId: 'req_test',
    },
  )
  if (decided.kind !== 'decided') throw new Error(decided.kind)
  await confirm(asked.payout.id)
  return 'confirmed'
}

async function balances(): Promise<Record<string, bigint>> {
  const rows = await withTransaction(database.owner, tenant, (tx) => loadBalances(tx, tenant))
  return Object.fromEntries(rows.map((row) => [row.account, row.balance]))
}

/** What the auditor says of the ledger and the payouts' postings; signing is none of this test's. */
async function disagreements(): Promise<string[]> {
  const results = await runAudit(database.owner, [])
  return results
    .filter(({ name }) =>
      /^(ledger|balance|shortfall|fees|service_fee|transfer_(has|stands)|posting|reserved|payout_(has|of|goes))/.test(
        name,
      ),
    )
    .filter(({ findings }) => findings.length > 0)
    .map(({ name, findings }) => `${name}: ${findings.map(({ detail }) => detail).join(', ')}`)
}

test('a deposit that the chain takes back after it was paid out is recorded, and what is missing is booked', async () => {
  await openShop()
  const [first, second] = [await seedInvoice(database, tenant), await seedInvoice(database, tenant)]
  await record(first.id, inBlock('a1', WHOLE, 2))
  await record(second.id, inBlock('a2', WHOLE / 4n, 2))
  await payOut('1.2')
  const told = await record(first.id, gone('reorged', 'a1', WHOLE))
  expect(told).toMatchObject({ changed: true, shortfalls: [{ asset: 'LTC', amount: 95_000_000n }] })
  expect(await balances()).toMatchObject({ available: 0n, shortfall: -95_000_000n, reserved: 0n })
  expect(await countShortfalls(database.pools.watcher)).toEqual({
    merchants: { live: 0, test: 1 },
    fees: { live: 0, test: 0 },
  })
  expect((await record(first.id, gone('reorged', 'a1', WHOLE))).changed).toBe(false)
  expect((await ask('0.1')).kind).toBe('not_covered')
  expect(await disagreements()).toEqual([])
})

test('what comes next makes up for what is missing, and only the rest can be paid out', async () => {
  await openShop()
  const [first, second] = [await seedInvoice(database, tenant), await seedInvoice(database, tenant)]
  await record(first.id, inBlock('b1', WHOLE, 2))
  await payOut('1')
  await record(first.id, gone('reorged', 'b1', WHOLE))
  await record(second.id, inBlock('b2', (WHOLE * 3n) / 4n, 2))
  expect(await balances()).toMatchObject({ available: 0n, shortfall: -WHOLE / 4n })
  await record(second.id, inBlock('b3', WHOLE / 2n, 2))
  expect(await balances()).toMatchObject({ available: WHOLE / 4n, shortfall: 0n })
  expect((await ask('0.3')).kind).toBe('not_covered')
  await payOut('0.25')
  expect(await disagreements()).toEqual([])
})

test('deposits of one block repay what is missing as they would one after the other', async () => {
  const standing: unknown[] = []
  for (const isTogether of [false, true]) {
    await openShop()
    const lost = await seedInvoice(database, tenant, { serviceFeeBps: 200 })
    await record(lost.id, inBlock('g0', WHOLE, 2))
    await payOut('0.98')
    await record(lost.id, gone('reorged', 'g0', WHOLE))
    const next = []
    // Of the first nothing is left after its fee.
    for (const serviceFeeBps of [10_000, 0, 200, 400, 600])
      next.push(await seedInvoice(database, tenant, { serviceFeeBps }))
    const invoices = next.map(({ id }, at) => ({
      invoiceId: id,
      facts: [inBlock(`g${at + 1}`, (WHOLE * 2n) / 5n, 2)],
    }))
    const deps = { pool: database.pools.watcher, clock }
    if (isTogether) {
      const recorded = await recordTogether(deps, { tenant, invoices, tipHeight: 101 })
      expect(recorded.changed.toSorted()).toEqual(next.map(({ id }) => id).toSorted())
    } else for (const { invoiceId, facts } of invoices) await record(invoiceId, ...facts)
    const { rows } = await database.owner.query(
      `select t.id, t.kind, e.account, e.amount, t.usd_cents from ledger_transfer t
       join ledger_entry e on e.merchant_id = t.merchant_id and e.transfer_id = t.id
       where t.merchant_id = $1 and t.id like 'dep:%:g_:%' order by t.id, e.account`,
      [tenant.merchantId],
    )
    standing.push({ balances: await balances(), rows })
  }
  expect(standing[1]).toEqual(standing[0])
  expect(standing[1]).toMatchObject({ balances: { shortfall: 0n, available: 57_200_000n } })
  expect(await disagreements()).toEqual([])
})

test('a deposit that goes and comes again leaves the balances as they were, however often', async () => {
  await openShop()
  const invoice = await seedInvoice(database, tenant)
  await record(invoice.id, inBlock('c1', WHOLE, 2))
  await payOut('0.6')
  const before = await balances()
  for (const hash of ['bb', 'cc', 'dd']) {
    await record(invoice.id, inMempool('c1', WHOLE))
    expect(await balances()).toMatchObject({ available: 0n, shortfall: -60_000_000n })
    await record(invoice.id, inBlock('c1', WHOLE, 1, { hash: hash.repeat(32) }))
    await record(invoice.id, inBlock('c1', WHOLE, 2, { hash: hash.repeat(32) }))
    expect(await balances()).toMatchObject({ ...before, shortfall: 0n })
  }
  expect(await disagreements()).toEqual([])
})

test('a deposit with a fee, taken back after it was paid out, gives the fee back; the rest is missing', async () => {
  await openShop()
  const invoice = await seedInvoice(database, tenant, { serviceFeeBps: 200 })
  await record(invoice.id, inBlock('e1', WHOLE, 2))
  await payOut('0.98')
  expect(await balances()).toMatchObject({ available: 0n, fees: 2_000_000n })
  await record(invoice.id, gone('reorged', 'e1', WHOLE))
  expect(await balances()).toMatchObject({ available: 0n, fees: 0n, shortfall: -98_000_000n })
  await record(invoice.id, inBlock('e1', WHOLE, 2, { hash: 'bb'.repeat(32) }))
  expect(await balances()).toMatchObject({ available: 0n, fees: 2_000_000n, shortfall: 0n })
  expect(await disagreements()).toEqual([])
})

test('fees already paid out when the chain takes the payment back go below zero until new ones cover them', async () => {
  await openShop()
  const invoice = await seedInvoice(database, tenant, { serviceFeeBps: 1_000 })
  const plain = await seedInvoice(database, tenant)
  const before = (await countShortfalls(database.pools.watcher)).fees
  await record(invoice.id, inBlock('f1', WHOLE, 2))
  await record(plain.id, inBlock('f2', WHOLE, 2))
  expect(await takeFees()).toBe('confirmed')
  expect(await balances()).toMatchObject({ fees: 0n, fees_reserved: 0n, available: (WHOLE * 19n) / 10n })
  await record(invoice.id, gone('reorged', 'f1', WHOLE))
  expect(await balances()).toMatchObject({ fees: -WHOLE / 10n, available: WHOLE })
  expect((await countShortfalls(database.pools.watcher)).fees).toEqual({ live: 0, test: before.test + 1 })
  expect(await takeFees()).toBe('not_covered')
  // The coins are worth a tenth less than what is available: more than they are worth is not promised.
  expect((await ask('1')).kind).toBe('unavailable')
  expect(await balances()).toMatchObject({ available: WHOLE })
  await payOut('0.9')
  expect(await disagreements()).toEqual([])
  await record(invoice.id, inBlock('f3', 2n * WHOLE, 2))
  expect(await balances()).toMatchObject({ fees: WHOLE / 10n, available: (WHOLE * 19n) / 10n })
  expect((await countShortfalls(database.pools.watcher)).fees).toEqual(before)
  expect(await takeFees()).toBe('confirmed')
  await payOut('1.9')
  expect(await balances()).toMatchObject({ fees: 0n, available: 0n })
  expect(await disagreements()).toEqual([])
})

test('money that comes back from a rejected payout makes up for what is missing first', async () => {
  await openShop()
  const invoice = await seedInvoice(database, tenant)
  await record(invoice.id, inBlock('d1', WHOLE, 2))
  await payOut('0.5')
  const open = await request('0.4')
  await record(invoice.id, gone('reorged', 'd1', WHOLE))
  expect(await balances()).toMatchObject({ available: 0n, reserved: 40_000_000n, shortfall: -90_000_000n })
  await decide(open, 'reject')
  expect(await balances()).toMatchObject({ available: 0n, reserved: 0n, shortfall: -50_000_000n })
  expect(await disagreements()).toEqual([])
})

test(`in ${SEEDS} random histories facts are recorded, a shortfall leaves nothing available, books agree`, async () => {
  let short = 0
  let owed = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed)
    await openShop()
    const invoices = [
      await seedInvoice(database, tenant),
      await seedInvoice(database, tenant, { serviceFeeBps: 125 }),
    ]
    const places = new Map<string, { invoiceId: string; amount: bigint }>()
    for (let step = 0; step < STEPS; step++) {
      const known = [...places.keys()]
      const txid = known.length < 4 || random.chance(0.2) ? `tx${seed}-${step}` : random.pick(known)
      const amount = places.get(txid)?.amount ?? BigInt(1 + random.below(100)) * 1_000_000n
      const invoiceId = places.get(txid)?.invoiceId ?? random.pick(invoices).id
      places.set(txid, { invoiceId, amount })
      const hash = `${random.below(2)}a`.repeat(32)
      if (random.chance(0.3)) await record(invoiceId, gone('reorged', txid, amount))
      else await record(invoiceId, inBlock(txid, amount, random.below(2) + 1, { hash }))
      if (random.chance(0.15)) await takeFees()
      const { available = 0n, shortfall = 0n, fees = 0n } = await balances()
      expect(
        [available === 0n || shortfall === 0n, available >= 0n, shortfall <= 0n],
        `seed ${seed}`,
      ).toEqual([true, true, true])
      if (shortfall < 0n) short += 1
      if (fees < 0n) owed += 1
      if (available >= 1_000_000n && random.chance(0.4)) {
        const amountText = random.chance(0.5) ? available : (available / 1_000_000n) * 500_000n
        const asked = await ask(formatCoinAmount(amountText, 8))
        if (asked.kind !== 'requested') {
          expect([asked.kind, fees < 0n], `seed ${seed}`).toEqual(['unavailable', true])
        } else if (random.chance(0.7)) {
          await decide(asked.payout.id, 'approve')
          await confirm(asked.payout.id)
        } else await decide(asked.payout.id, 'reject')
      }
    }
  }
  expect(short).toBeGreaterThan(SEEDS)
  expect(owed).toBeGreaterThan(SEEDS)
  expect(await disagreements()).toEqual([])
})

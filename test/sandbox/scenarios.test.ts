import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import type { AssetId } from '../../src/core/assets.ts'
import { deriveStatus, statusReasonOf } from '../../src/core/invoice/status.ts'
import type { Invoice, InvoiceStatus } from '../../src/core/invoice/types.ts'
import { loadNetworkState } from '../../src/db/chain/network-state.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { testInvoices } from '../../src/roles/sandbox.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createSandboxControl, type SandboxControl } from '../../src/sandbox/sandbox-control.ts'
import { type SandboxChain, startUtxoChain, utxoControls } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import type { TEST_SCENARIOS } from '../../src/wire/test-payment.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/sandbox-state.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { watchNetwork } from '../support/watched-network.ts'

const BLOCK_INTERVAL_MS = 200
const SCENARIO_MS = 40_000
const AMOUNT = 100_000_000n
const HRPS = { LTC: 'rltc', BTC: 'bcrt' }

let database: TestDatabase
let tenant: Tenant
let control: SandboxControl
let folder: Awaited<ReturnType<typeof temporaryFolder>>
const chains: SandboxChain[] = []
const watchers: { stop(): Promise<void> }[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
  folder = await temporaryFolder()
  for (const chain of ['litecoin', 'bitcoin'] as const) {
    const sandbox = await startUtxoChain({
      chain,
      dataDir: folder.path,
      clock: systemClock,
      log: createLogger('silent'),
      blockIntervalMs: BLOCK_INTERVAL_MS,
    })
    chains.push(sandbox)
  }
  control = createControl()
})
afterAll(async () => {
  await control.stop()
  await Promise.all(watchers.map((watcher) => watcher.stop()))
  await Promise.all(chains.map((chain) => chain.stop()))
  await folder.remove()
  await database.drop()
})

function createControl(): SandboxControl {
  return createSandboxControl({
    invoices: testInvoices(database.pools.api, systemClock),
    log: createLogger('silent'),
    chains: new Map(chains.map((chain) => [`${chain.chain}-test` as const, utxoControls(chain.client)])),
  })
}

/**
 * An open invoice with an address of the sandbox chain, and a watcher that knows it. Addresses are known to a
 * watcher before an invoice has them; here the watcher starts after the invoice.
 */
async function openInvoice(asset: 'LTC' | 'BTC' = 'LTC', changes: Partial<Invoice> = {}): Promise<Invoice> {
  const addressBytes = randomBytes(20)
  const now = Date.now()
  const invoice = await seedInvoice(
    database,
    tenant,
    {
      asset,
      amount: AMOUNT,
      address: encodeAddress(HRPS[asset], addressBytes),
      confirmations: { LTC: 1, BTC: 1 },
      createdAtMs: now,
      expiresAtMs: now + 3_600_000,
      ...changes,
    },
    addressBytes,
  )
  await Promise.all(watchers.splice(0).map((watcher) => watcher.stop()))
  for (const chain of chains) {
    const watcher = watchNetwork(database, { chain: chain.chain, rpcUrl: chain.rpcUrl })
    watcher.adapter.watched.add([addressBytes])
    watchers.push(watcher)
    await until(async () => (await loadNetworkState(database.owner, `${chain.chain}-test`))?.readAt != null, {
      what: 'the watcher stands at the tip',
    })
  }
  return invoice
}

async function read(id: string): Promise<Invoice> {
  const stored = await withTransaction(database.pools.api, tenant, (tx) => loadInvoice(tx, tenant, id))
  if (stored === null) throw new Error('the invoice is gone')
  return stored.invoice
}

async function pay(invoice: Invoice, scenario: (typeof TEST_SCENARIOS)[number]): Promise<readonly string[]> {
  const answer = await control.payInvoice({ tenant, invoiceId: invoice.id, scenario })
  if (answer.kind !== 'sent') throw new Error(answer.kind)
  return answer.txids
}

async function eventsOf(id: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ event_type: string }>(
    'select event_type from event where resource_id = $1 order by sequence',
    [id],
  )
  return rows.map((row) => row.event_type.replace('invoice.', ''))
}

/** The reasons that the events of a review tell. */
async function reviewReasonsOf(id: string): Promise<unknown[]> {
  const { rows } = await database.owner.query<{ body: Buffer }>(
    `select body from event where resource_id = $1 and event_type = 'invoice.manual_review' order by sequence`,
    [id],
  )
  return rows.map((row) => JSON.parse(row.body.toString()).data.review_reason)
}

async function reaches(id: string, status: InvoiceStatus): Promise<Invoice> {
  await until(async () => deriveStatus(await read(id)) === status, {
    what: `the invoice is ${status}`,
    timeoutMs: SCENARIO_MS,
  })
  return read(id)
}

test.each<['LTC' | 'BTC', 'exact' | 'over', InvoiceStatus, bigint, string[]]>([
  ['LTC', 'exact', 'paid', AMOUNT, ['payment_detected', 'confirming', 'paid']],
  ['BTC', 'exact', 'paid', AMOUNT, ['payment_detected', 'confirming', 'paid']],
  ['LTC', 'over', 'overpaid', (AMOUNT * 160n) / 100n, ['payment_detected', 'confirming', 'overpaid']],
])('%s, %s: the invoice is %s', async (asset, scenario, status, amount, events) => {
  const invoice = await openInvoice(asset)
  const [txid] = await pay(invoice, scenario)
  const paid = await reaches(invoice.id, status)
  expect(paid.payments).toMatchObject([{ txid, amount, status: 'confirmed' }])
  expect(await eventsOf(invoice.id)).toEqual(events)
})

test('under, then exact: forty percent leave the invoice partially paid, and what remains pays it', async () => {
  const invoice = await openInvoice()
  await pay(invoice, 'under')
  const partial = await reaches(invoice.id, 'partially_paid')
  expect(partial.payments).toMatchObject([{ amount: (AMOUNT * 40n) / 100n }])
  await pay(invoice, 'exact')
  const paid = await reaches(invoice.id, 'paid')
  expect(paid.payments.map((payment) => payment.amount).sort()).toEqual([40_000_000n, 60_000_000n])
})

test('two_parts: the invoice is partially paid, then paid, by the two transactions of the answer', async () => {
  const invoice = await openInvoice()
  const txids = await pay(invoice, 'two_parts')
  const paid = await reaches(invoice.id, 'paid')
  expect(paid.payments.map((payment) => payment.txid).sort()).toEqual([...txids].sort())
  expect(await eventsOf(invoice.id)).toEqual([
    'payment_detected',
    'confirming',
    'partially_paid',
    'confirming',
    'paid',
  ])
})

test('late: the deadline passes, the invoice expires, and the payment within the horizon still pays it', async () => {
  const invoice = await openInvoice()
  const [txid] = await pay(invoice, 'late')
  const paid = await reaches(invoice.id, 'paid')
  expect(paid.payments).toMatchObject([{ txid, late: true, status: 'confirmed' }])
  expect(statusReasonOf(paid)).toBe('late')
  expect(paid.expiresAtMs).toBeLessThan(Date.now())
  expect(await eventsOf(invoice.id)).toEqual(['expired', 'payment_detected', 'confirming', 'paid'])
})

test('double_spend: the payment is seen, then replaced by one that does not pay us; the invoice is open', async () => {
  const invoice = await openInvoice()
  const [txid] = await pay(invoice, 'double_spend')
  await until(async () => (await read(invoice.id)).payments[0]?.status === 'replaced', {
    what: 'the payment is replaced',
    timeoutMs: SCENARIO_MS,
  })
  const open = await read(invoice.id)
  expect(open.payments).toMatchObject([{ txid }])
  expect(deriveStatus(open)).toBe('awaiting_payment')
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected'])
  await pay(invoice, 'exact')
  await reaches(invoice.id, 'paid')
})

test('reorg: the invoice is paid, then under review, then paid without a second event', async () => {
  const invoice = await openInvoice()
  const [txid] = await pay(invoice, 'reorg')
  // The states pass; the events stay.
  await until(async () => (await eventsOf(invoice.id)).includes('manual_review'), {
    what: 'the invoice is under review',
    timeoutMs: SCENARIO_MS,
  })
  expect(await reviewReasonsOf(invoice.id)).toEqual(['reorged'])
  const again = await reaches(invoice.id, 'paid')
  expect(again.payments).toMatchObject([{ txid, status: 'confirmed' }])
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid', 'manual_review'])
})

test('what the sandbox does not serve it refuses, and nothing is changed', async () => {
  const pending = { tenant, scenario: 'late' as const }
  expect(await control.payInvoice({ ...pending, invoiceId: 'inv_00000000000000000000000000' })).toEqual({
    kind: 'not_found',
  })
  for (const asset of ['ETH', 'USDC_BASE', 'SOL'] satisfies AssetId[]) {
    const invoice = await seedInvoice(database, tenant, { asset })
    const answer = await control.payInvoice({ ...pending, invoiceId: invoice.id })
    expect(answer.kind).toBe('sandbox_not_available')
    expect((await read(invoice.id)).expiresAtMs).toBe(invoice.expiresAtMs)
  }
  const live = await seedMerchant(database, true)
  const liveInvoice = await seedInvoice(database, live, { address: 'ltc1qnone' })
  const answer = await control.payInvoice({ tenant: live, invoiceId: liveInvoice.id, scenario: 'late' })
  expect(answer.kind).toBe('sandbox_not_available')
  const { rows } = await database.owner.query('select expires_at from invoice where id = $1', [
    liveInvoice.id,
  ])
  expect(rows[0]?.expires_at.getTime()).toBe(liveInvoice.expiresAtMs)
  const elsewhere = await seedInvoice(database, tenant, {
    address: 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
  })
  expect((await control.payInvoice({ ...pending, invoiceId: elsewhere.id })).kind).toBe(
    'sandbox_not_available',
  )
  expect(control.serves('LTC', false)).toBe(true)
  expect(control.serves('LTC', true)).toBe(false)
  expect(control.serves('SOL', false)).toBe(false)
})

test('another merchant’s invoice is not found', async () => {
  const invoice = await seedInvoice(database, tenant)
  const stranger = await seedMerchant(database)
  const answer = await control.payInvoice({ tenant: stranger, invoiceId: invoice.id, scenario: 'exact' })
  expect(answer).toEqual({ kind: 'not_found' })
})

test('a stop takes the remaining steps of a scenario at once', async () => {
  const own = createControl()
  const invoice = await openInvoice()
  await Promise.all(watchers.splice(0).map((watcher) => watcher.stop()))
  const answer = await own.payInvoice({ tenant, invoiceId: invoice.id, scenario: 'double_spend' })
  if (answer.kind !== 'sent') throw new Error(answer.kind)
  const before = performance.now()
  await own.stop()
  expect(performance.now() - before).toBeLessThan(8_000)
  const late = await own.payInvoice({ tenant, invoiceId: invoice.id, scenario: 'exact' })
  expect(late.kind).toBe('sandbox_not_available')
})

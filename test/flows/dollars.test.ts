import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { AddressShares } from '../../src/core/address-shares.ts'
import { ASSETS, type AssetId, networkOf } from '../../src/core/assets.ts'
import { planInvoice } from '../../src/core/invoice/plan.ts'
import { deriveStatus } from '../../src/core/invoice/status.ts'
import { parsePrice } from '../../src/core/money.ts'
import { readPaymentRules } from '../../src/core/payment-rules.ts'
import { resolveInvoice } from '../../src/flows/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { commitNewInvoice } from '../../src/flows/steps/commit-new-invoice.ts'
import { loadShownInvoice } from '../../src/flows/steps/shown-invoices.ts'
import { switchAsset } from '../../src/flows/switch-asset.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { addAddresses } from '../support/api.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock } from '../support/invoice.ts'
import { seedMerchant } from '../support/seed.ts'

const ACCEPTED = ['USDC_BASE', 'USDT_ARBITRUM', 'USDC_SOLANA', 'PYUSD_SOLANA'] as const
const PRICES: { readonly [symbol: string]: string } = { USDC: '0.9998', USDT: '1.0003', PYUSD: '1' }
const NOW = new Date('2026-11-21T12:00:00.000Z')
const clock = () => NOW

let database: TestDatabase
let tenant: Tenant
/** Addresses that no signer signed. */
const unsigned = new Set<string>()
const issued = {
  isIssued: async (_keyspace: string, { address }: { address: string }) => !unsigned.has(address),
  shares: new AddressShares(),
}
const market = {
  livemode: false,
  rules: readPaymentRules({ accepted_assets: ACCEPTED }),
  supportOf: () => ({ isConfigured: true, parameters: 'regtest', halted: false }),
  priceOf: (asset: AssetId) => {
    const usdPerUnit = PRICES[ASSETS[asset].symbol] ?? '1'
    const quotedAt = NOW.toISOString()
    const sources = [{ name: 'test', usdPerUnit, at: quotedAt }]
    return { price: parsePrice(usdPerUnit) ?? 0n, evidence: { usdPerUnit, quotedAt, sources } }
  },
  currencyRateOf: () => null,
  hasAddressFor: () => true,
  networkFacts: { tipHeightOf: () => null },
}

beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
  for (const [network, keyspace] of [
    ['base-test', 'evm-test'],
    ['arbitrum-test', 'evm-test'],
    ['solana-test', 'solana-test'],
  ])
    await database.owner.query(
      `insert into network_watch (network, keyspace, through, updated_at) values ($1, $2, 1000000000, now())`,
      [network, keyspace],
    )
  await addAddresses(database, 'evm-test', 'evm', 200)
  await addAddresses(database, 'solana-test', 'solana', 3)
  await database.owner.query('update account_key set next_index = 1000000000')
})
afterAll(() => database.drop())

async function create(usdAmount = '25') {
  const plan = planInvoice({ kind: 'usd', usdAmount, asset: 'USD' }, { ...market, nowMs: NOW.getTime() })
  if (plan.kind !== 'planned') throw new Error(`it is ${plan.code}`)
  return withTransaction(database.pools.api, tenant, async (tx) => {
    const created = await commitNewInvoice(tx, {
      tenant,
      plan,
      details: {
        allowAssetSelection: false,
        customerEmail: null,
        externalReference: null,
        description: null,
        metadata: null,
      },
      networkFacts: market.networkFacts,
      issuedAddresses: issued,
      serviceFeeBps: 0,
      requestId: null,
    })
    if (created.kind !== 'created') throw new Error(created.kind)
    await created.written
    return created.invoice
  })
}

const load = (id: string) =>
  withTransaction(database.pools.api, tenant, (tx) => loadShownInvoice(tx, tenant, id, issued))

function pay(invoiceId: string, asset: AssetId, amount: bigint, txid: string) {
  const block = { hash: `${txid}-block`, blockTimeMs: NOW.getTime() }
  const changes = { asset, network: networkOf(asset, false), firstSeenMs: NOW.getTime(), ...block }
  // Deep enough for every network's rule.
  const fact = { ...inBlock(txid, amount, 100, changes), tag: 'finalized' } as const
  const watcher = { pool: database.pools.watcher, clock }
  return recordTransfers(watcher, { tenant, invoiceId, facts: [fact], tipHeight: 200 })
}

async function eventsOf(id: string) {
  const { rows } = await database.owner.query<{ event_type: string; body: Buffer }>(
    'select event_type, body from event where resource_id = $1 order by sequence',
    [id],
  )
  return rows.map(({ event_type, body }) => ({ type: event_type, data: JSON.parse(String(body)).data }))
}

const audit = async () => {
  const results = await runAudit(database.owner, [])
  return results.flatMap(({ name, findings }) => findings.map(({ detail }) => `${name}: ${detail}`))
}

test('half in USDT on Arbitrum and half in USDC on Solana is paid once, at two addresses, and audits clean', async () => {
  const invoice = await create()
  expect(invoice).toMatchObject({ asset: 'USDC_BASE', amount: 25_005_002n })
  const [created] = await eventsOf(invoice.id)
  const solana = invoice.addressesBeside.solana ?? ''
  expect(solana).not.toBe('')
  expect(created?.data.also_accepts).toMatchObject([
    { asset: 'USDC_SOLANA', address: solana, amount_remaining: '25.005002' },
    { asset: 'USDT_ARBITRUM', address: invoice.address, amount_remaining: '24.992503' },
    { asset: 'PYUSD_SOLANA', address: solana, amount_remaining: '25' },
  ])
  expect(
    created?.data.token_rates.map(({ symbol, usd_per_unit }: { [name: string]: string }) => [
      symbol,
      usd_per_unit,
    ]),
  ).toEqual(
    expect.arrayContaining([
      ['USDC', '0.9998'],
      ['USDT', '1.0003'],
      ['PYUSD', '1'],
    ]),
  )
  await pay(invoice.id, 'USDT_ARBITRUM', 12_500_000n, '0xa')
  const part = await load(invoice.id)
  expect(part?.invoice.addressesBeside).toMatchObject({ solana })
  // The buyer looks at Solana: what is due stays, and only where it is paid changes.
  const deps = {
    pool: database.pools.api,
    clock,
    issuedAddresses: issued,
    notifier: { invoiceChanged: () => {} },
  }
  const switching = { ...deps, marketOf: async () => market }
  expect(await switchAsset(switching, { tenant, invoiceId: invoice.id, asset: 'USDC_SOLANA' })).toEqual({
    kind: 'switched',
  })
  const chosen = await load(invoice.id)
  expect(chosen?.invoice).toMatchObject({ asset: 'USDC_SOLANA', address: solana, amount: 25_005_002n })
  expect(chosen?.invoice.addressesBeside).toMatchObject({ evm: invoice.address })
  await pay(invoice.id, 'USDC_SOLANA', 12_498_750n, 'sig1')
  const events = await eventsOf(invoice.id)
  expect(events.map(({ type }) => type)).toEqual([
    'invoice.created',
    'invoice.payment_detected',
    'invoice.confirming',
    'invoice.partially_paid',
    'invoice.confirming',
    'invoice.paid',
  ])
  expect(events.at(-1)?.data).toMatchObject({
    status: 'paid',
    amount: '25.005002',
    amount_confirmed: '25.005002',
    amount_remaining: '0',
  })
  const { rows } = await database.owner.query(
    `select asset, account, balance from ledger_balance where merchant_id = $1 and account = 'available' order by asset`,
    [tenant.merchantId],
  )
  expect(rows).toMatchObject([
    { asset: 'USDC_SOLANA', balance: 12_498_750n },
    { asset: 'USDT_ARBITRUM', balance: 12_500_000n },
  ])
  expect(await audit()).toEqual([])
})

test('an empty second pool costs its network, not the sale; an address nobody signed is not shown', async () => {
  const [second, third] = [await create(), await create()]
  expect(second.addressesBeside.solana).not.toBe(third.addressesBeside.solana)
  const last = await create()
  expect(last).toMatchObject({ asset: 'USDC_BASE', alsoAccepts: ['USDT_ARBITRUM'], addressesBeside: {} })
  unsigned.add(second.addressesBeside.solana ?? '')
  await expect(load(second.id)).rejects.toThrow('the signer signed')
  expect((await load(third.id))?.invoice.id).toBe(third.id)
  expect(await audit()).toEqual([])
})

test('a hair too little is short, exactly enough is paid, and the audit counts as the core does', async () => {
  const outcomes = []
  for (const [amount, asset] of [
    [24_992_502n, 'USDT_ARBITRUM'],
    [24_992_503n, 'USDT_ARBITRUM'],
    [25_005_001n, 'USDC_BASE'],
    [25_005_002n, 'USDC_BASE'],
    [26_000_000n, 'USDT_ARBITRUM'],
  ] as const) {
    const { id } = await create()
    await pay(id, asset, amount, `0x${amount}`)
    outcomes.push((await eventsOf(id)).at(-1)?.data.status)
  }
  expect(outcomes).toEqual(['partially_paid', 'paid', 'partially_paid', 'paid', 'overpaid'])
  expect(await audit()).toEqual([])
})

test('the right token on a network that is not taken waits for one word, and that word accepts it', async () => {
  const { id } = await create('100')
  await pay(id, 'USDC_ETHEREUM', 100_100_000n, '0xe')
  const event = (await eventsOf(id)).at(-1)
  expect([event?.type, event?.data.review_reason]).toEqual(['invoice.manual_review', 'wrong_network'])
  await pay(id, 'ETH_BASE', 10n ** 18n, '0xf')
  const reasons = (await load(id))?.invoice.payments.map(({ reviewReason }) => reviewReason)
  expect(reasons?.toSorted()).toEqual(['wrong_asset', 'wrong_network'])
  const word = { note: null, actor: 'person', networkFacts: market.networkFacts, requestId: 'req_1' }
  const resolved = await resolveInvoice(
    { pool: database.pools.api, clock, issuedAddresses: issued },
    { tenant, invoiceId: id, resolution: 'accept', ...word },
  )
  expect(resolved.kind === 'resolved' && deriveStatus(resolved.invoice)).toBe('paid')
  expect(await audit()).toEqual([])
})

test('the audit finds a status and an event that the values do not bear out', async () => {
  const { id } = await create()
  await pay(id, 'USDT_ARBITRUM', 24_992_502n, '0xshort')
  const body = `convert_to(replace(convert_from(body, 'UTF8'), '"amount_confirmed":"25.005001"', '"amount_confirmed":"25.005002"'), 'UTF8')`
  await database.owner.query(
    `update event set body = ${body} where resource_id = $1 and event_type = 'invoice.partially_paid'`,
    [id],
  )
  await database.owner.query(`update invoice set status = 'paid', paid_at = now() where id = $1`, [id])
  const findings = (await audit()).map((finding) => finding.split(':')[0])
  expect(findings).toEqual(expect.arrayContaining(['event_tells_no_more_than_came']))
  for (const rates of [
    '{}',
    '{"USDC":{"usdPerUnit":"0.9998"},"USDT":{"usdPerUnit":"900"}}',
    '{"USDC":{"usdPerUnit":"1"}}',
  ]) {
    await database.owner.query('update invoice set token_rates = $2 where id = $1', [id, rates])
    expect((await audit()).some((finding) => finding.startsWith('dollars_are_their_rates'))).toBe(true)
  }
  expect(findings.length).toBeGreaterThan(1)
})

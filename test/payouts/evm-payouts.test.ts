import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAYOUT_CHECKS, SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { inspectHotWallets } from '../../src/doctor/inspect-signer.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { askForFees } from '../support/fee-payouts.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { watchWith } from '../support/watched-network.ts'

const ETHER = 10n ** 18n
const USDC = 1_000_000n
const HOUR_MS = 3_600_000

let base: EvmPayoutWorld
let ethereum: EvmPayoutWorld
beforeAll(async () => {
  ;[base, ethereum] = await Promise.all([EvmPayoutWorld.open('base'), EvmPayoutWorld.open('ethereum')])
})
afterAll(async () => {
  await base?.close()
  await ethereum?.close()
})

test.each(['ETH', 'ETH_BASE'] as const)(
  'what three buyers paid in %s is swept and paid out whole, once, at no more than the approved fee',
  async (asset) => {
    const world = asset === 'ETH' ? ethereum : base
    const tenant = await world.openShop(asset, [ETHER, ETHER / 2n, ETHER / 4n])
    const payout = await world.payout(tenant, asset, '1.75')
    expect(payout.networkFee).toBeGreaterThan(0n)
    const done = await world.until(tenant, payout.id, 'confirmed')
    expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
    expect(await world.holds(asset, payout.destination)).toBe(payout.amount - done.networkFee)
    expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    const signed = await world.signedFor(payout.id)
    expect(signed.payout).toEqual([done.txid])
    expect(signed.sweeps).toHaveLength(3)
    // What the fee did not use up stays in the hot wallet.
    expect(await world.holds(asset, world.hot)).toBeGreaterThan(0n)
  },
)

test('USDC is fetched from addresses without ether and paid out whole; the hot wallet pays the gas', async () => {
  await base.fuelHotWallet()
  const ether = await base.holds('ETH_BASE', base.hot)
  const tenant = await base.openShop('USDC_BASE', [30n * USDC, 20n * USDC])
  const payout = await base.payout(tenant, 'USDC_BASE', '45')
  expect(payout.networkFee).toBe(0n)
  const done = await base.until(tenant, payout.id, 'confirmed')
  expect(done.networkFee).toBe(0n)
  expect(await base.holds('USDC_BASE', payout.destination)).toBe(45n * USDC)
  expect(await base.holds('USDC_BASE', base.hot)).toBe(5n * USDC)
  expect(await base.holds('ETH_BASE', base.hot)).toBeLessThan(ether)
  expect(await base.balances(tenant)).toMatchObject({ available: 5n * USDC, reserved: 0n })
  // The rest is there already: nothing is swept for the next one.
  const next = await base.payout(tenant, 'USDC_BASE', formatCoinAmount(5n * USDC, 6))
  await base.until(tenant, next.id, 'confirmed')
  expect((await base.signedFor(next.id)).sweeps).toEqual([])
  expect(await base.holds('USDC_BASE', base.hot)).toBe(0n)
})

test.each(['ETH_BASE', 'USDC_BASE'] as const)(
  'what came in %s to a permanent address is swept and paid out, and so is what comes after that',
  async (asset) => {
    const unit = asset === 'ETH_BASE' ? ETHER : USDC
    await base.fuelHotWallet()
    const tenant = await seedMerchant(base.database)
    const account = await base.openDepositAccount(tenant)
    for (const round of [1, 2]) {
      await base.payAccount(tenant, { ...account, asset, amount: 3n * unit })
      await base.payAccount(tenant, { ...account, asset, amount: 2n * unit })
      const { id } = await base.payout(tenant, asset, '5')
      await base.until(tenant, id, 'confirmed')
      expect([round, await base.balances(tenant)]).toEqual([
        round,
        expect.objectContaining({ available: 0n, reserved: 0n }),
      ])
    }
    const findings = (await runAudit(base.database.owner, [])).flatMap((check) => check.findings)
    expect(findings.filter(({ merchantId }) => merchantId === tenant.merchantId)).toEqual([])
  },
)

test.each(['ETH_BASE', 'USDC_BASE'] as const)(
  'a payout in %s to another merchant’s invoice, or to the address it is swept from, is a payment there',
  async (asset) => {
    const unit = asset === 'ETH_BASE' ? ETHER : USDC
    await base.fuelHotWallet()
    const [payer, other] = [await seedMerchant(base.database), await seedMerchant(base.database)]
    const swept = await base.deposit(payer, asset, 3n * unit)
    const now = Date.now()
    const terms = { createdAtMs: now, expiresAtMs: now + HOUR_MS, confirmations: { [asset]: 1 } } as const
    const theirs = await base.openInvoice(other, { asset, amount: unit, ...terms })
    const adapter = new EvmAdapter({
      chain: 'base',
      livemode: false,
      url: base.anvil.url,
      setting: 'TEST_BASE_RPC_URL',
      tokenContracts: { USDC: base.token },
      clock: systemClock,
      probeIntervalMs: 30,
    })
    adapter.watched.add([theirs.addressBytes, Buffer.from(swept.address.slice(2), 'hex')])
    await base.watch()
    const watching = watchWith(base.database, adapter)
    try {
      for (const [address, invoiceId] of [
        [theirs.address, theirs.id],
        [swept.address, swept.invoiceId],
      ] as const) {
        const { id } = await base.payout(payer, asset, '1', address)
        const done = await base.until(payer, id, 'confirmed')
        await base.anvil.mine(3)
        const paid = async () =>
          (
            await base.database.owner.query<{ amount: bigint }>(
              `select amount from transfer where invoice_id = $1 and txid = $2 and status = 'confirmed'`,
              [invoiceId, done.txid],
            )
          ).rows
        await until(async () => (await paid()).length > 0, { what: 'the payout is a payment' })
        expect(await paid()).toEqual([{ amount: done.amount - done.networkFee }])
      }
      const again = await base.payout(other, asset, '0.5')
      await base.until(other, again.id, 'confirmed')
      expect(await base.balances(other)).toMatchObject({ reserved: 0n })
      // What came to an invoice that was paid already waits for its merchant.
      expect((await base.balances(payer)).suspense).toBeGreaterThan(0n)
    } finally {
      await watching.stop()
    }
  },
)

test("the operator's USDC fees are swept with the merchant’s money and paid out apart, each by its account", async () => {
  const tenant = await base.openShop('USDC_BASE', [40n * USDC])
  await withTransaction(base.database.owner, tenant, (tx) =>
    insertLedgerTransfers(tx, tenant, [
      {
        id: `dep:test:${tenant.merchantId}:fee`,
        kind: 'service_fee',
        invoiceId: null,
        paymentId: null,
        asset: 'USDC_BASE',
        from: 'available',
        to: 'fees',
        amount: 4n * USDC,
        usdCents: null,
        createdAt: base.now,
      },
    ]),
  )
  const address = encodeEvmAddress(randomBytes(20))
  const asked = await askForFees(base.database, tenant, { asset: 'USDC_BASE', address, now: base.now })
  if (asked.kind !== 'requested') throw new Error(asked.kind)
  await base.approve(tenant, asked.payout.id)
  await base.until(tenant, asked.payout.id, 'confirmed')
  const own = await base.payout(tenant, 'USDC_BASE', '36')
  await base.until(tenant, own.id, 'confirmed')
  expect(await base.holds('USDC_BASE', address)).toBe(4n * USDC)
  expect(await base.holds('USDC_BASE', own.destination)).toBe(36n * USDC)
  expect(await base.balances(tenant)).toMatchObject({
    available: 0n,
    reserved: 0n,
    fees: 0n,
    fees_reserved: 0n,
  })
})

test('the auditor asks the chain what deposit addresses hold, and finds one with less than the books say', async () => {
  const tenant = await base.openShop('USDC_BASE', [7n * USDC])
  await base.deposit(tenant, 'ETH_BASE', ETHER / 8n)
  const node = {
    network: base.network,
    chain: base.chain,
    livemode: false,
    rpcUrl: base.anvil.url,
    furtherUrls: [],
    rpcSetting: 'TEST_BASE_RPC_URL',
    zmqUrl: null,
    tokenContracts: { USDC: base.token },
    sandbox: null,
  }
  const { owner } = base.database
  const found = async () => {
    const results = await runAudit(owner, [node])
    const balances = results.find(({ name }) => name === 'balances_base-test')
    expect(balances?.notChecked).toBeNull()
    return balances?.findings.map(({ detail }) => detail)
  }
  expect(await found()).toEqual([])
  for (const [asset, units] of [
    ['USDC_BASE', 7n * USDC],
    ['ETH_BASE', ETHER / 8n],
  ] as const) {
    const change = (by: string) =>
      owner.query(`update transfer set amount = amount ${by} where merchant_id = $1 and asset = $2`, [
        tenant.merchantId,
        asset,
      ])
    await change('+ 1')
    expect(await found()).toEqual([`holds ${units} and ${units + 1n} stand in the books`])
    await change('- 1')
  }
  expect(await found()).toEqual([])
})

const ours = new Set([...PAYOUT_CHECKS, ...SWEEP_CHECKS].map(({ name }) => name))
async function broken(): Promise<string[]> {
  const results = await runAudit(base.database.owner, [])
  return results.filter(({ name, findings }) => ours.has(name) && findings.length > 0).map(({ name }) => name)
}

test('ether lost to a reverted payout is reported to the operator; the next payout waits for a refill', async () => {
  const surplus = await ethereum.holds('ETH', ethereum.hot)
  const tenant = await ethereum.openShop('ETH', [ETHER])
  const { address, addressBytes } = newEvmAddress()
  const payout = await ethereum.payout(tenant, 'ETH', '1', encodeEvmAddress(addressBytes))
  await ethereum.until(tenant, payout.id, 'submitted')
  // PUSH0, PUSH0, REVERT: there was no contract when it was asked.
  await ethereum.anvil.rpc('anvil_setCode', [address, '0x5f5ffd'])
  await ethereum.until(tenant, payout.id, 'failed')
  // What other payouts left there would pay for it.
  const held = await ethereum.holds('ETH', ethereum.hot)
  await ethereum.anvil.rpc('anvil_setBalance', [encodeEvmAddress(ethereum.hot), hex(held - surplus)])
  const lack = ETHER - (held - surplus)
  expect(lack).toBeGreaterThan(0n)
  const next = await ethereum.payout(tenant, 'ETH', '1')
  const tracker = ethereum.tracker()
  ethereum.logged.length = 0
  for (let turn = 0; turn < 4; turn++) {
    await tracker.pass()
    await ethereum.sign()
    await ethereum.anvil.mine(1)
  }
  expect((await ethereum.load(tenant, next.id)).status).toBe('approved')
  const alarms = ethereum.logged.filter((line) => line.includes('lacks ETH that merchants have in it'))
  expect(alarms).toEqual([expect.stringContaining(`"wei":"-${lack}"`)])
  const faults = async () =>
    (await inspectHotWallets(ethereum.database.owner, [])).filter(({ kind }) => kind === 'fault')
  expect(await faults()).toMatchObject([
    { kind: 'fault', text: expect.stringContaining(encodeEvmAddress(ethereum.hot)) },
  ])
  await ethereum.pay('ETH', encodeEvmAddress(ethereum.hot), lack)
  await ethereum.anvil.mine(1)
  const done = await ethereum.until(tenant, next.id, 'confirmed')
  expect(await ethereum.holds('ETH', next.destination)).toBe(ETHER - done.networkFee)
  await tracker.pass()
  expect(ethereum.logged.some((line) => line.includes('has enough ETH again'))).toBe(true)
  expect(await faults()).toEqual([])
})

test('payouts and their sweeps leave nothing for the audit to find', async () => {
  expect(await broken()).toEqual([])
})

/** What is broken, and how it is mended again. */
const BREAKS: readonly (readonly [string, string, string])[] = [
  [
    'sweep_takes_own_deposits',
    'update sweep set key_index = key_index + 9999',
    'update sweep set key_index = key_index - 9999',
  ],
  [
    'sweep_is_sent_once',
    `update sweep_transaction set txid = txid || 'x'`,
    'update sweep_transaction set txid = left(txid, -1)',
  ],
  ['swept_covers_payouts', 'update payout set amount = amount * 2', 'update payout set amount = amount / 2'],
  [
    'nonce_has_its_signature',
    `update account_nonce set intent_id = intent_id || 'x'`,
    'update account_nonce set intent_id = left(intent_id, -1)',
  ],
  [
    'hot_credit_is_what_was_swept',
    'update hot_credit set amount = amount + 1',
    'update hot_credit set amount = amount - 1',
  ],
  [
    'hot_wallet_covers_merchants',
    'update sweep set amount = amount * 1000000',
    'update sweep set amount = amount / 1000000',
  ],
]

test.each(BREAKS)('%s finds what breaks it', async (name, breakIt, mendIt) => {
  await base.database.owner.query(breakIt)
  expect(await broken()).toContain(name)
  await base.database.owner.query(mendIt)
  expect(await broken()).toEqual([])
})

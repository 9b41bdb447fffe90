import { parseTransaction } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { saveAssetPrices } from '../../src/db/invoices/asset-prices.ts'
import { inspectHotWallets } from '../../src/doctor/inspect-signer.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { hex } from '../support/anvil.ts'
import { BOR_TIP_MIN, startBorNode } from '../support/bor-node.ts'
import { type EvmAsset, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import type { RpcProxy } from '../support/rpc-proxy.ts'

const POL = 10n ** 18n
const USD = 1_000_000n
const GWEI = 10n ** 9n
/** In 10⁻¹² US dollar. */
const DOLLAR = 10n ** 12n

let world: EvmPayoutWorld
let node: RpcProxy
beforeAll(async () => {
  world = await EvmPayoutWorld.open('polygon', { withUsdt: true })
  node = await startBorNode(world.anvil)
}, 180_000)
afterAll(async () => {
  await node?.close()
  await world?.close()
})

const checked = new Set(SWEEP_CHECKS.map(({ name }) => name))
async function findings() {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => checked.has(name) && findings.length > 0)
}

const tracker = () => world.trackerOf([{ name: 'the node', chain: world.clientAt(node.url) }])

async function pay(tenant: Tenant, asset: EvmAsset, amount: string): Promise<Payout> {
  const following = tracker()
  await following.pass()
  const { id } = await world.payout(tenant, asset, amount)
  for (let turn = 0; turn < 20; turn++) {
    await following.pass()
    await world.sign()
    await following.pass()
    const payout = await world.load(tenant, id)
    if (payout.status === 'confirmed') return payout
    await world.anvil.mine(1)
  }
  throw new Error(`the payout is ${(await world.load(tenant, id)).status}: ${world.logged.join('')}`)
}

/** All that was signed for a payout. */
async function signedFor(payoutId: string) {
  const { rows } = await world.database.owner.query<{ raw: Buffer }>(
    `select raw from payout_transaction where payout_id = $1
     union all select t.raw from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1`,
    [payoutId],
  )
  return rows.map(({ raw }) => parseTransaction(`0x${raw.toString('hex')}`))
}

test('a hot wallet that tokens wait for says in POL what it lacks, and asks for no ether', async () => {
  await world.openShop('USDC_POLYGON', [USD])
  await tracker().pass()
  const said = (await inspectHotWallets(world.database.owner, [])).map(({ text }) => text)
  expect(said.filter((text) => text.startsWith('polygon-test'))).toEqual([
    expect.stringMatching(
      /has 0 POL for gas, which is too little: payouts in USDC or USDT wait; send it POL on polygon-test$/,
    ),
  ])
})

test.each([
  ['POL_POLYGON', [POL, POL / 2n], '1.5'],
  ['USDC_POLYGON', [30n * USD, 20n * USD], '50'],
  ['USDT_POLYGON', [30n * USD, 20n * USD], '50'],
] as const)(
  '%s is swept and paid out whole, with the tip that blocks ask for',
  async (asset, amounts, amount) => {
    if (asset !== 'POL_POLYGON') await world.fuelHotWallet(10n * POL)
    const tenant = await world.openShop(asset, amounts)
    const done = await pay(tenant, asset, amount)
    expect(await world.holds(asset, done.destination)).toBe(done.amount - done.networkFee)
    expect(done.networkFee > 0n).toBe(asset === 'POL_POLYGON')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    const signed = await signedFor(done.id)
    expect(signed.length).toBeGreaterThan(2)
    for (const { maxPriorityFeePerGas: tip = 0n } of signed) expect(tip).toBeGreaterThanOrEqual(BOR_TIP_MIN)
    expect(await findings()).toEqual([])
  },
)

test('at 3,000 gwei, a hundred times what the same gas costs in ether, USDC is paid out: POL is cheap', async () => {
  await world.fuelHotWallet(100n * POL)
  const prices = [
    { livemode: false, asset: 'POL_POLYGON', price: DOLLAR / 2n },
    { livemode: false, asset: 'USDC_POLYGON', price: DOLLAR },
    // At the price of ether this sweep would cost 900 dollars, and wait.
    { livemode: false, asset: 'ETH', price: 3_000n * DOLLAR },
  ] as const
  await saveAssetPrices(world.database.owner, prices, world.now)
  const tenant = await world.openShop('USDC_POLYGON', [2n * USD])
  await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(3_000n * GWEI)])
  await world.anvil.mine(1)
  const done = await pay(tenant, 'USDC_POLYGON', '2')
  expect(await world.holds('USDC_POLYGON', done.destination)).toBe(2n * USD)
  const highest = (await signedFor(done.id)).map(({ maxFeePerGas }) => (maxFeePerGas ?? 0n) > 1_000n * GWEI)
  expect(highest).toContain(true)
  expect(await findings()).toEqual([])
})

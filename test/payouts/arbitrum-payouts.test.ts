import { parseTransaction } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newEvmAddress } from '../support/anvil.ts'
import { bytecodeOf } from '../support/evm-contracts.ts'
import { type EvmAsset, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { type NitroNode, startNitroNode } from '../support/nitro-node.ts'

const ETHER = 10n ** 18n
const USDC = 1_000_000n
const GWEI = 10n ** 9n
const TRANSFER_GAS = 21_000n
/** As on a day when Ethereum's own gas is dear: a hundred times what a plain transfer takes to execute. */
const DEAR = 2_100_000n

let world: EvmPayoutWorld
let node: NitroNode
beforeAll(async () => {
  world = await EvmPayoutWorld.open('arbitrum', { withUsdt: true })
  node = await startNitroNode(world.anvil)
  await world.fuelHotWallet()
})
afterAll(async () => {
  await node?.close()
  await world?.close()
})
beforeEach(() => node.setDataGas(3_000n))

const tracker = () => world.trackerOf([{ name: 'the node', chain: world.clientAt(node.url) }])

/** Turns of everybody, with a block in each, until the payout stands so. */
async function follow(tenant: Tenant, id: string, status: Payout['status'], turns = 12): Promise<Payout> {
  const following = tracker()
  for (let turn = 0; turn < turns; turn++) {
    await following.pass()
    await world.sign()
    await following.pass()
    const payout = await world.load(tenant, id)
    if (payout.status === status) return payout
    await world.anvil.mine(1)
  }
  throw new Error(`the payout is ${(await world.load(tenant, id)).status}: ${world.logged.join('')}`)
}

async function ask(tenant: Tenant, asset: EvmAsset, amount: string, to?: string) {
  await tracker().pass()
  return world.payout(tenant, asset, amount, to)
}

/** Gas that was bought for a payout's own transactions and for its sweeps. */
async function gasOf(payoutId: string): Promise<{ readonly payout: bigint[]; readonly sweeps: bigint[] }> {
  const { rows } = await world.database.owner.query<{ raw: Buffer; swept: boolean }>(
    `select raw, false as swept from payout_transaction where payout_id = $1
     union all select t.raw, true from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1`,
    [payoutId],
  )
  const of = (swept: boolean) =>
    rows
      .filter((row) => row.swept === swept)
      .map(({ raw }) => parseTransaction(`0x02${raw.toString('hex').slice(2)}`).gas ?? 0n)
  return { payout: of(false), sweeps: of(true) }
}

test.each([3_000n, DEAR])(
  'ether whose data takes %i gas is swept and paid out once, within the approved fee',
  async (data) => {
    node.setDataGas(data)
    const tenant = await world.openShop('ETH_ARBITRUM', [ETHER, ETHER / 2n])
    const payout = await ask(tenant, 'ETH_ARBITRUM', '1.5')
    const done = await follow(tenant, payout.id, 'confirmed')
    expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
    expect(await world.holds('ETH_ARBITRUM', payout.destination)).toBe(payout.amount - done.networkFee)
    const { payout: own, sweeps } = await gasOf(payout.id)
    expect([own, sweeps].map(({ length }) => length)).toEqual([1, 2])
    for (const gas of [...own, ...sweeps]) {
      expect(gas).toBeGreaterThanOrEqual(TRANSFER_GAS + data)
      expect(gas).toBeLessThanOrEqual(TRANSFER_GAS + 2n * data)
    }
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  },
)

test.each([3_000n, DEAR])(
  'USDC whose data takes %i gas is fetched by signature and paid out whole',
  async (data) => {
    node.setDataGas(data)
    const tenant = await world.openShop('USDC_ARBITRUM', [30n * USDC, 20n * USDC])
    const payout = await ask(tenant, 'USDC_ARBITRUM', '50')
    const done = await follow(tenant, payout.id, 'confirmed')
    expect(done.networkFee).toBe(0n)
    expect(await world.holds('USDC_ARBITRUM', payout.destination)).toBe(50n * USDC)
    expect((await gasOf(payout.id)).sweeps).toHaveLength(2)
  },
)

test('USDT is delegated to a sweeper whose creation has its data paid for too, and paid out whole', async () => {
  node.setDataGas(100_000n)
  const tenant = await world.openShop('USDT_ARBITRUM', [30n * USDC, 20n * USDC])
  const payout = await ask(tenant, 'USDT_ARBITRUM', '50')
  const done = await follow(tenant, payout.id, 'confirmed', 20)
  expect(done.networkFee).toBe(0n)
  expect(await world.holds('USDT_ARBITRUM', payout.destination)).toBe(50n * USDC)
  const { rows } = await world.database.owner.query<{ amount: bigint; delegation_nonce: number | null }>(
    'select amount, delegation_nonce from sweep where payout_id = $1 order by amount',
    [payout.id],
  )
  expect(rows).toEqual([
    { amount: 0n, delegation_nonce: null },
    { amount: 20n * USDC, delegation_nonce: 0 },
    { amount: 30n * USDC, delegation_nonce: 0 },
  ])
})

test('a payout to a contract has the gas of its code beside that of its data, on a dear day too', async () => {
  node.setDataGas(DEAR)
  const wallet = await world.anvil.deploy(await bytecodeOf('Wallet'))
  const tenant = await world.openShop('ETH_ARBITRUM', [ETHER])
  const payout = await ask(tenant, 'ETH_ARBITRUM', '1', wallet)
  await follow(tenant, payout.id, 'confirmed')
  const { rows } = await world.database.owner.query<{ gas: number }>(
    'select gas from payout_gas where payout_id = $1',
    [payout.id],
  )
  expect(rows[0]?.gas).toBeLessThan(60_000)
})

test('what was signed before data grew dear is signed again, with the same nonce, and paid once', async () => {
  const tenant = await world.openShop('ETH_ARBITRUM', [ETHER])
  const payout = await ask(tenant, 'ETH_ARBITRUM', '1')
  const following = tracker()
  for (let turn = 0; turn < 2; turn++) {
    await following.pass()
    await world.sign()
    // Between two looks of the watcher.
    node.setDataGas(30_000n)
    await following.pass()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(world.logged.join('')).toContain('intrinsic gas too low')
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  const done = await follow(tenant, payout.id, 'confirmed')
  expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  expect((await gasOf(payout.id)).sweeps).toHaveLength(2)
  expect(await world.holds('ETH_ARBITRUM', payout.destination)).toBe(payout.amount - done.networkFee)
})

test('a payout whose data outgrew its approved fee holds up no other: the hot wallet pays the rest', async () => {
  const shop = await world.openShop('ETH_ARBITRUM', [ETHER])
  const other = await world.openShop('USDC_ARBITRUM', [5n * USDC])
  const dear = await ask(shop, 'ETH_ARBITRUM', '1')
  const following = tracker()
  const isSigned = async () => (await gasOf(dear.id)).payout.length > 0
  for (let turn = 0; turn < 6 && !(await isSigned()); turn++) {
    await following.pass()
    await world.anvil.mine(1)
    await following.pass()
    await world.sign()
  }
  expect(await isSigned()).toBe(true)
  // Before the node has it, and more than all of its approved fee would buy.
  node.setDataGas(400_000n)
  const waiting = await ask(other, 'USDC_ARBITRUM', '5')
  for (let turn = 0; turn < 10; turn++) {
    world.now = new Date(world.now.getTime() + 15 * 60_000)
    await following.pass()
    await world.sign()
    await following.pass()
    await world.anvil.mine(1)
    if ((await world.load(other, waiting.id)).status === 'confirmed') break
  }
  expect((await world.load(other, waiting.id)).status).toBe('confirmed')
  const done = await world.load(shop, dear.id)
  expect(done).toMatchObject({ status: 'confirmed', networkFee: dear.networkFeeMax })
  expect(await world.holds('ETH_ARBITRUM', dear.destination)).toBe(dear.amount - dear.networkFeeMax)
})

test('a payout brought back from the journal gets the gas that its data takes by now, and is paid once', async () => {
  const tenant = await world.openShop('ETH_ARBITRUM', [ETHER])
  await tracker().pass()
  const restore = await world.backUp()
  const payout = await world.payout(tenant, 'ETH_ARBITRUM', '1')
  const following = tracker()
  for (let turn = 0; turn < 6 && (await gasOf(payout.id)).payout.length === 0; turn++) {
    await following.pass()
    await world.anvil.mine(1)
    await following.pass()
    await world.sign()
  }
  await restore()
  expect(await world.recover()).toEqual({ [payout.id]: 'recovered' })
  node.setDataGas(20_000n)
  for (let turn = 0; turn < 10; turn++) {
    await tracker().pass()
    world.now = new Date(world.now.getTime() + 15 * 60_000)
    await tracker().pass()
    await world.sign()
    await tracker().pass()
    await world.anvil.mine(1)
    if ((await world.load(tenant, payout.id)).status === 'confirmed') break
  }
  const done = await world.load(tenant, payout.id)
  expect(done.status).toBe('confirmed')
  expect(done.networkFee).toBeLessThanOrEqual(payout.networkFeeMax)
  expect(await world.holds('ETH_ARBITRUM', payout.destination)).toBe(payout.amount - done.networkFee)
})

test("with the watcher's key nobody has a contract burn more gas than data may cost", async () => {
  const forge = () => world.setHotWallet('data_gas = 1e30, base_fee = $1, balance = 1e24', [GWEI])
  const tenant = await world.openShop('ETH_ARBITRUM', [ETHER])
  const { address } = newEvmAddress()
  await tracker().pass()
  await forge()
  const payout = await world.payout(tenant, 'ETH_ARBITRUM', '1', address)
  await world.database.pools.watcher.query(
    'insert into payout_gas (merchant_id, payout_id, livemode, gas) values ($1, $2, false, 400000)',
    [tenant.merchantId, payout.id],
  )
  // Jumps to its beginning until the gas is used up.
  await world.anvil.rpc('anvil_setCode', [address, '0x5b5f56'])
  const before = await world.holds('ETH_ARBITRUM', world.hot)
  const following = tracker()
  for (let turn = 0; turn < 8; turn++) {
    await following.pass()
    await forge()
    await world.sign()
    await following.pass()
    await world.anvil.mine(1)
  }
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'failed', failureCode: 'reverted' })
  const { payout: own } = await gasOf(payout.id)
  expect(own).toHaveLength(1)
  // A thousandth of an ether for data, and what a destination's code may take.
  expect((own[0] ?? 0n) * ((GWEI * 3n) / 2n)).toBeLessThanOrEqual(
    ETHER / 1_000n + 400_000n * ((GWEI * 3n) / 2n),
  )
  const lost = before + ETHER - (await world.holds('ETH_ARBITRUM', world.hot))
  expect(lost).toBeLessThan(ETHER / 100n)
})

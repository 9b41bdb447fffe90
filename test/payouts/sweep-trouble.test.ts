import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { SWEEP_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { contractCall } from '../../src/chain/evm/contract-call.ts'
import { sumHotObligations } from '../../src/db/addresses/hot-wallets.ts'
import type { EvmPayoutChain } from '../../src/payouts/broadcast/evm/evm-broadcaster-parts.ts'
import { EvmSweeps } from '../../src/payouts/broadcast/evm/evm-sweeps.ts'
import { PayoutProviders } from '../../src/payouts/broadcast/payout-providers.ts'
import { listPayoutsUnderWay } from '../../src/payouts/store/payouts.ts'
import { loadSweptCredit } from '../../src/payouts/store/swept-credit.ts'
import type { Queryable } from '../../src/postgres/pool.ts'
import { type Tenant, type Tx, withTrialTransaction } from '../../src/postgres/transaction.ts'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'

const ETHER = 10n ** 18n
const USDC = 1_000_000n

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
})
afterAll(() => world?.close())

/** Sweeps are planned, signed and with the node; no block has them. */
async function sendSweeps(): Promise<void> {
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
}

/** What the node is asked for by an account that it does not have the key of. */
async function sendAs(from: string, call: { readonly to: string; readonly data?: string }): Promise<void> {
  await world.anvil.rpc('anvil_impersonateAccount', [from])
  await world.anvil.rpc('eth_sendTransaction', [{ from, value: '0x0', ...call }])
}

async function sweepsOf(payoutId: string) {
  const { rows } = await world.database.owner.query<{
    id: string
    status: string
    txid: string
    deposits: number
  }>(
    `select s.id, s.status, s.txid, (select count(*)::int from sweep_transfer l where l.sweep_id = s.id) as deposits
     from sweep s where s.payout_id = $1 order by s.id`,
    [payoutId],
  )
  return rows
}

const checked = new Set(SWEEP_CHECKS.map(({ name }) => name))
async function findings() {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => checked.has(name) && findings.length > 0)
}

/** The deposits of a sweep that failed are paid out by the next payout, once, and nothing is left over or missing. */
async function expectPaidOnce(
  tenant: Tenant,
  asset: 'ETH_BASE' | 'USDC_BASE',
  amount: string,
): Promise<void> {
  const next = await world.payout(tenant, asset, amount)
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds(asset, next.destination)).toBe(next.amount - done.networkFee)
  expect(await sweepsOf(next.id)).toMatchObject([{ status: 'done', deposits: 1 }])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
}

test('a sweep that the chain reverts ends its payout and frees its deposits, once, for the next payout', async () => {
  const tenant = await world.openShop('USDC_BASE', [])
  const { address } = await world.deposit(tenant, 'USDC_BASE', 10n * USDC)
  const payout = await world.payout(tenant, 'USDC_BASE', '10')
  await sendSweeps()
  // The token leaves the address first, so that fetching it reverts.
  await world.anvil.rpc('anvil_dropAllTransactions')
  await world.anvil.rpc('anvil_setBalance', [address, hex(ETHER)])
  const away = '0x000000000000000000000000000000000000bEEF'
  const data = contractCall('transfer(address,uint256)', Buffer.from(away.slice(2), 'hex'), 10n * USDC)
  await sendAs(address, { to: world.token ?? '', data: `0x${Buffer.from(data).toString('hex')}` })
  await world.anvil.mine(1)
  await world.until(tenant, payout.id, 'failed')
  expect(await world.load(tenant, payout.id)).toMatchObject({ failureCode: 'sweep_failed' })
  expect(await world.balances(tenant)).toMatchObject({ available: 10n * USDC, reserved: 0n })
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'failed', deposits: 0 }])
  // A tracker that looks again releases nothing twice, and plans nothing for a payout that is over.
  await world.tracker().pass()
  expect(await sweepsOf(payout.id)).toHaveLength(1)
  await world.pay('USDC_BASE', address, 10n * USDC)
  await world.anvil.mine(1)
  await expectPaidOnce(tenant, 'USDC_BASE', '10')
})

test('a sweep whose nonce was used elsewhere frees its deposits once that is final; the next sweeps them', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const { address } = await world.deposit(tenant, 'ETH_BASE', ETHER)
  const ofMerchant = [tenant.merchantId]
  await world.database.owner.query('update transfer set block_height = 1 where merchant_id = $1', ofMerchant)
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await sendSweeps()
  await world.anvil.rpc('anvil_dropAllTransactions')
  await sendAs(address, { to: address })
  await world.anvil.mine(1)
  await world.anvil.rpc('anvil_setBalance', [address, hex(ETHER)])
  await world.tracker().pass()
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'planned', deposits: 1 }])
  await world.anvil.mine(3)
  // A node that does not show what used the nonce up would say the same of a sweep that happened.
  await world
    .tracker((chain) => ({ ...boundChain(chain), nonceUser: () => Promise.resolve('unseen') }))
    .pass()
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'planned', deposits: 1 }])
  expect(world.logged.some((line) => line.includes('no block of the node shows by what'))).toBe(true)
  await world.until(tenant, payout.id, 'failed')
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'failed', deposits: 0 }])
  await expectPaidOnce(tenant, 'ETH_BASE', '1')
})

test('a sweep whose nonce was used elsewhere ends, however many blocks became final at once since', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const { address } = await world.deposit(tenant, 'ETH_BASE', ETHER)
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await sendSweeps()
  await world.anvil.rpc('anvil_dropAllTransactions')
  await sendAs(address, { to: address })
  await world.anvil.mine(1)
  await world.anvil.rpc('anvil_setBalance', [address, hex(ETHER)])
  await world.anvil.mine(70)
  await world.until(tenant, payout.id, 'failed')
  await expectPaidOnce(tenant, 'ETH_BASE', '1')
})

test.each(['ETH_BASE', 'USDC_BASE'] as const)(
  'a deposit of %s that a reorganisation takes after its sweep was signed ends only that payout',
  async (asset) => {
    const unit = asset === 'ETH_BASE' ? ETHER : USDC
    const tenant = await world.openShop(asset, [unit])
    const { rows } = await world.database.owner.query<{ txid: string }>(
      'select txid from transfer where merchant_id = $1',
      [tenant.merchantId],
    )
    const txid = rows[0]?.txid ?? ''
    const payout = await world.payout(tenant, asset, '1')
    await sendSweeps()
    await world.anvil.reorganise(1, (each) => each === txid)
    await world.takeBack(tenant, txid)
    const failed = await world.until(tenant, payout.id, 'failed')
    expect(failed.failureCode).toBe('deposit_gone')
    expect(await world.holds(asset, payout.destination)).toBe(0n)
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n, shortfall: 0n })
    await world.deposit(tenant, asset, unit)
    const next = await world.payout(tenant, asset, '1')
    const done = await world.until(tenant, next.id, 'confirmed')
    expect(await world.holds(asset, next.destination)).toBe(done.amount - done.networkFee)
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await findings()).toEqual([])
  },
)

/** Reverts where its first word of storage is not 0: PUSH0, SLOAD, PUSH1 6, JUMPI, STOP, JUMPDEST, PUSH0, PUSH0, REVERT. */
const MOODY_CODE = '0x5f54600657005b5f5ffd'
/** As a token whose issuer has stopped it: PUSH0, PUSH0, REVERT. */
const STOPPED_CODE = '0x5f5ffd'

/** A contract that takes payments until it is shut. */
async function moodyContract() {
  const { address } = newEvmAddress()
  await world.anvil.rpc('anvil_setCode', [address, MOODY_CODE])
  const shut = (isShut: boolean) =>
    world.anvil.rpc('anvil_setStorageAt', [
      address,
      `0x${'0'.repeat(64)}`,
      `0x${'0'.repeat(63)}${isShut ? 1 : 0}`,
    ])
  return { address, checked: encodeEvmAddress(Buffer.from(address.slice(2), 'hex')), shut }
}

/** It failed as one that the chain reverted: one transaction, one return of its money, gas alone gone from the hot wallet. */
async function expectRevertedOnce(tenant: Tenant, payoutId: string, etherBefore: bigint): Promise<void> {
  // So long that what waits is signed again.
  for (let turn = 0; turn < 3; turn++) {
    world.now = new Date(world.now.getTime() + 4 * 60_000)
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
  const payout = await world.load(tenant, payoutId)
  expect(payout).toMatchObject({ status: 'failed', failureCode: 'reverted' })
  const { payout: signed } = await world.signedFor(payoutId)
  expect(signed).toHaveLength(1)
  const receipt = await world.anvil.rpc<{ status: string; gasUsed: string; effectiveGasPrice: string }>(
    'eth_getTransactionReceipt',
    signed,
  )
  expect(receipt.status).toBe('0x0')
  const gone = etherBefore - (await world.holds('ETH_BASE', world.hot))
  expect(gone).toBe(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice))
  expect(await world.eventsOf(payoutId)).toEqual(['requested', 'approved', 'submitted', 'failed'])
  expect(await world.balances(tenant)).toMatchObject({ available: payout.amount, reserved: 0n })
  expect(await findings()).toEqual([])
}

test('ether to a contract that reverts when mined fails once final; its money returns, the wallet pays gas', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const contract = await moodyContract()
  const payout = await world.payout(tenant, 'ETH_BASE', '1', contract.checked)
  await world.until(tenant, payout.id, 'submitted')
  const held = await world.holds('ETH_BASE', world.hot)
  await contract.shut(true)
  await world.anvil.mine(1)
  await world.tracker().pass()
  // In a block that a reorganisation may still take away.
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'submitted', failureCode: null })
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: ETHER })
  await world.until(tenant, payout.id, 'failed')
  await contract.shut(false)
  await expectRevertedOnce(tenant, payout.id, held)
  expect(await world.holds('ETH_BASE', contract.address)).toBe(0n)
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds('ETH_BASE', next.destination)).toBe(ETHER - done.networkFee)
  expect(await world.holds('ETH_BASE', contract.address)).toBe(0n)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('a payout reverted in a block that left the chain, but not in the next, is sent again and paid once', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const contract = await moodyContract()
  const payout = await world.payout(tenant, 'ETH_BASE', '1', contract.checked)
  await world.until(tenant, payout.id, 'submitted')
  await contract.shut(true)
  await world.anvil.mine(1)
  await world.tracker().pass()
  await world.anvil.reorganise(1, () => true)
  await contract.shut(false)
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await world.holds('ETH_BASE', contract.address)).toBe(ETHER - done.networkFee)
  expect((await world.signedFor(payout.id)).payout).toEqual([done.txid])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
})

test('USDC whose contract reverts when mined fails once final; its money returns, needing no new sweep', async () => {
  const tenant = await world.openShop('USDC_BASE', [10n * USDC])
  const payout = await world.payout(tenant, 'USDC_BASE', '10')
  await world.until(tenant, payout.id, 'submitted')
  const held = await world.holds('ETH_BASE', world.hot)
  const token = world.token ?? ''
  const code = await world.anvil.rpc<string>('eth_getCode', [token, 'latest'])
  await world.anvil.rpc('anvil_setCode', [token, STOPPED_CODE])
  await world.anvil.mine(1)
  await world.anvil.rpc('anvil_setCode', [token, code])
  await world.until(tenant, payout.id, 'failed')
  await expectRevertedOnce(tenant, payout.id, held)
  expect(await world.holds('USDC_BASE', payout.destination)).toBe(0n)
  const next = await world.payout(tenant, 'USDC_BASE', '10')
  await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds('USDC_BASE', next.destination)).toBe(10n * USDC)
  expect((await world.signedFor(next.id)).sweeps).toEqual([])
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

/** What the contract answers that Base is asked for the cost of a place on Ethereum. */
async function setL1Fee(wei: bigint): Promise<void> {
  // PUSH32 fee, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: the same answer to every question.
  const code = wei === 0n ? '0x' : `0x7f${wei.toString(16).padStart(64, '0')}5f5260205ff3`
  await world.anvil.rpc('anvil_setCode', ['0x420000000000000000000000000000000000000F', code])
}

async function setBaseFee(wei: bigint): Promise<void> {
  await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(wei)])
  await world.anvil.mine(1)
}

test('where a sweep was signed for a higher fee but the old one is taken, it is paid once, at the old fee', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  const { sweeps } = await world.signedFor(payout.id)
  expect(sweeps).toHaveLength(2)
  const { rows } = await world.database.owner.query<{ txid: string; raw: Buffer; cost: bigint }>(
    'select t.txid, t.raw, t.cost from sweep_transaction t join sweep s on s.id = t.sweep_id where s.payout_id = $1 order by number',
    [payout.id],
  )
  await world.anvil.rpc('anvil_dropAllTransactions')
  await world.anvil.rpc('eth_sendRawTransaction', [hexOf(rows[0]?.raw)])
  await world.anvil.mine(1)
  const done = await world.until(tenant, payout.id, 'confirmed')
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'done', txid: rows[0]?.txid, deposits: 1 }])
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(payout.amount - done.networkFee)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('a sweep stuck below what blocks cost holds its payout a day at most; taken later, it serves the next', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  // More than what was approved can ever pay for.
  await setBaseFee(payout.networkFeeMax)
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await world.tracker().pass()
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'fee_above_limit',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  // The sweep was signed and may happen: its deposits stay its own.
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'planned', deposits: 1 }])
  await setBaseFee(10n ** 9n)
  await world.tracker().pass()
  await world.anvil.mine(1)
  await world.tracker().pass()
  expect(await sweepsOf(payout.id)).toMatchObject([{ status: 'done', deposits: 1 }])
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await sweepsOf(next.id)).toEqual([])
  expect(await world.holds('ETH_BASE', next.destination)).toBe(next.amount - done.networkFee)
  expect(await findings()).toEqual([])
})

test('a sweep stuck below what its place on Ethereum costs holds its payout a day at most, too', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker().pass()
  await world.sign()
  await setL1Fee(payout.networkFeeMax)
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await world.tracker().pass()
  await world.sign()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'fee_above_limit',
  })
  expect(await world.balances(tenant)).toMatchObject({ available: ETHER, reserved: 0n })
  await setL1Fee(0n)
  await world.tracker().pass()
  await world.anvil.mine(1)
  const next = await world.payout(tenant, 'ETH_BASE', '1')
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds('ETH_BASE', next.destination)).toBe(next.amount - done.networkFee)
  expect(await findings()).toEqual([])
})

test('a clock that is set back by hours holds up neither sweeps nor payouts', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '1')
  // One process, which remembers when it looked.
  const tracker = world.tracker()
  await tracker.pass()
  await world.sign()
  await tracker.pass()
  world.now = new Date(world.now.getTime() - 3 * 3_600_000)
  for (let turn = 0; turn < 12; turn++) {
    await world.anvil.mine(1)
    await tracker.pass()
    await world.sign()
    world.now = new Date(world.now.getTime() + 1_000)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
})

const GWEI = 10n ** 9n

/** The payout waits for a day in which blocks cost so much, and then fails for its fee. */
async function expectTooDear(tenant: Tenant, payoutId: string, baseFee: bigint): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await setBaseFee(baseFee)
    await sendSweeps()
  }
  expect((await world.load(tenant, payoutId)).status).toBe('approved')
  world.now = new Date(world.now.getTime() + 25 * 3_600_000)
  await sendSweeps()
  await world.endRefused()
  expect(await world.load(tenant, payoutId)).toMatchObject({ failureCode: 'fee_above_limit' })
}

test("what a payout that failed for its fee leaves to sweep is in the next one's fee, paid at current cost", async () => {
  await setBaseFee(GWEI)
  const tenant = await world.openShop(
    'ETH_BASE',
    Array.from({ length: 6 }, () => ETHER / 10n),
  )
  await setBaseFee(GWEI)
  await world.tracker().pass()
  const failed = await world.payout(tenant, 'ETH_BASE', '0.6')
  await world.tracker().pass()
  await expectTooDear(tenant, failed.id, 10n * GWEI)
  expect(await sweepsOf(failed.id)).toHaveLength(6)
  await setBaseFee(10n * GWEI)
  await world.tracker().pass()
  // Of six sweeps it needs one.
  const next = await world.payout(tenant, 'ETH_BASE', '0.1')
  await setBaseFee(10n * GWEI)
  const done = await world.until(tenant, next.id, 'confirmed')
  expect(await world.holds('ETH_BASE', next.destination)).toBe(next.amount - done.networkFee)
  expect(await sweepsOf(next.id)).toMatchObject([{ status: 'done', deposits: 1 }])
  const rest = await world.payout(tenant, 'ETH_BASE', '0.5')
  await world.until(tenant, rest.id, 'confirmed')
  expect(await sweepsOf(rest.id)).toHaveLength(5)
  expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test.each(['before', 'after'])(
  'a deposit worth less than its sweep, %s it is planned, holds its payout for a day at most, no other',
  async (when) => {
    await setBaseFee(GWEI)
    const tenant = await world.openShop('ETH_BASE', [ETHER, 60_000n * GWEI])
    await setBaseFee(GWEI)
    await world.tracker().pass()
    const failed = await world.payout(tenant, 'ETH_BASE', '1.00006')
    if (when === 'after') await world.tracker().pass()
    await expectTooDear(tenant, failed.id, 2n * GWEI)
    await setBaseFee(2n * GWEI)
    await world.tracker().pass()
    await expect(world.request(tenant, 'ETH_BASE', '1.00006')).rejects.toThrow('unavailable')
    const next = await world.payout(tenant, 'ETH_BASE', '0.9')
    await setBaseFee(2n * GWEI)
    await world.until(tenant, next.id, 'confirmed')
    await setBaseFee(GWEI)
    await world.tracker().pass()
    const rest = await world.payout(tenant, 'ETH_BASE', '0.10006')
    await world.until(tenant, rest.id, 'confirmed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await findings()).toEqual([])
  },
)

test('a payout whose approved fee is too low holds up no other: the hot wallet pays, for the others alone', async () => {
  await setBaseFee(GWEI)
  const [first, other] = [
    await world.openShop('ETH_BASE', [ETHER, ETHER]),
    await world.openShop('USDC_BASE', [5n * USDC]),
  ]
  await setBaseFee(GWEI)
  await world.tracker().pass()
  const dear = await world.payout(first, 'ETH_BASE', '1')
  await sendSweeps()
  await setBaseFee(GWEI)
  await sendSweeps()
  expect((await world.signedFor(dear.id)).payout).toHaveLength(1)
  const price = 20n * GWEI
  await setBaseFee(price)
  const later = 15 * 60_000
  const takeTurn = async () => {
    world.now = new Date(world.now.getTime() + later)
    await sendSweeps()
    await setBaseFee(price)
  }
  // While only its own merchant waits behind it, it pays no more than was approved.
  await takeTurn()
  const { payout: within } = await world.signedFor(dear.id)
  const own = await world.payout(first, 'ETH_BASE', '1')
  for (let turn = 0; turn < 5; turn++) await takeTurn()
  expect((await world.signedFor(own.id)).payout).toHaveLength(1)
  expect((await world.signedFor(dear.id)).payout).toEqual(within)
  expect((await world.load(first, dear.id)).status).toBe('submitted')
  const waiting = await world.payout(other, 'USDC_BASE', '5')
  for (let turn = 0; turn < 6; turn++) {
    await takeTurn()
    if ((await world.load(other, waiting.id)).status === 'confirmed') break
  }
  expect((await world.load(other, waiting.id)).status).toBe('confirmed')
  const done = await world.load(first, dear.id)
  expect(done).toMatchObject({ status: 'confirmed', networkFee: dear.networkFeeMax })
  expect(await world.holds('ETH_BASE', dear.destination)).toBe(dear.amount - dear.networkFeeMax)
  await world.until(first, own.id, 'confirmed')
  expect(await world.balances(first)).toMatchObject({ available: 0n, reserved: 0n })
  expect(await findings()).toEqual([])
})

test('a sweep of USDC that others wait for is signed for a higher fee, also after its payout has failed', async () => {
  await setBaseFee(GWEI)
  const [first, other] = [
    await world.openShop('USDC_BASE', []),
    await world.openShop('USDC_BASE', [5n * USDC]),
  ]
  const addresses: string[] = []
  for (const amount of [10n, 9n])
    addresses.push((await world.deposit(first, 'USDC_BASE', amount * USDC)).address)
  const failed = await world.payout(first, 'USDC_BASE', '19')
  await setBaseFee(GWEI)
  await sendSweeps()
  // One of the two reverts in a block, and the other is in none by the time that blocks cost more than it pays.
  await world.anvil.rpc('anvil_dropAllTransactions')
  const { rows } = await world.database.owner.query<{ raw: Buffer; address: Buffer }>(
    `select t.raw, s.address from sweep_transaction t join sweep s on s.id = t.sweep_id
     join account_nonce n on n.intent_id = s.id where s.payout_id = $1 order by n.nonce`,
    [failed.id],
  )
  const reverting = addresses.find((address) => address.toLowerCase() === hexOf(rows[0]?.address)) ?? ''
  await world.anvil.rpc('anvil_setBalance', [reverting, hex(ETHER)])
  const held = await world.holds('USDC_BASE', reverting)
  const data = contractCall('transfer(address,uint256)', newEvmAddress().addressBytes, held)
  await sendAs(reverting, { to: world.token ?? '', data: hexOf(Buffer.from(data)) })
  await world.anvil.mine(1)
  await world.anvil.rpc('eth_sendRawTransaction', [hexOf(rows[0]?.raw)])
  await world.anvil.mine(3)
  const price = 20n * GWEI
  for (let turn = 0; turn < 3; turn++) {
    await setBaseFee(price)
    await sendSweeps()
  }
  expect(await world.load(first, failed.id)).toMatchObject({ failureCode: 'sweep_failed' })
  const waiting = await world.payout(other, 'USDC_BASE', '5')
  for (let turn = 0; turn < 6; turn++) {
    world.now = new Date(world.now.getTime() + 15 * 60_000)
    await setBaseFee(price)
    await sendSweeps()
    if ((await world.load(other, waiting.id)).status === 'confirmed') break
  }
  expect((await world.load(other, waiting.id)).status).toBe('confirmed')
  expect((await sweepsOf(failed.id)).map(({ status }) => status).sort()).toEqual(['done', 'failed'])
  await world.pay('USDC_BASE', reverting, held)
  await world.anvil.mine(1)
  const next = await world.payout(first, 'USDC_BASE', '19')
  await world.until(first, next.id, 'confirmed')
  expect(await world.holds('USDC_BASE', next.destination)).toBe(19n * USDC)
  expect(await findings()).toEqual([])
})

test('what holds a nonce of the hot wallet, sweep or payout, is looked at first: all others wait for it', async () => {
  await setBaseFee(GWEI)
  const ofEther = async () =>
    (await world.payout(await world.openShop('ETH_BASE', [ETHER]), 'ETH_BASE', '1')).id
  const others = [await ofEther(), await ofEther()]
  const shop = await world.openShop('USDC_BASE', [USDC, USDC])
  const ofToken = [
    (await world.payout(shop, 'USDC_BASE', '1')).id,
    (await world.payout(shop, 'USDC_BASE', '1')).id,
  ]
  const { signer, watcher } = world.database.pools
  const firstOf = async (inLine: readonly string[]) => {
    for (const pool of [signer, watcher]) {
      const listed = await listPayoutsUnderWay(pool, world.network, inLine.length)
      expect(listed.map(({ payout }) => payout.id).sort()).toEqual([...inLine].sort())
    }
  }
  await sendSweeps()
  // Ether is swept by its own addresses.
  await firstOf(ofToken)
  await world.anvil.mine(1)
  await sendSweeps()
  await ofEther()
  await ofEther()
  await firstOf([...ofToken, ...others])
})

test('a node that does not count an address’s last sweep yet gives its nonce to no other sweep', async () => {
  const tenant = await world.openShop('ETH_BASE', [])
  const invoice = await world.deposit(tenant, 'ETH_BASE', ETHER)
  const first = await world.payout(tenant, 'ETH_BASE', '1')
  await world.until(tenant, first.id, 'confirmed')
  await world.payInvoice(tenant, { ...invoice, asset: 'ETH_BASE', amount: ETHER })
  const second = await world.payout(tenant, 'ETH_BASE', '1')
  await world.tracker((chain) => ({ ...boundChain(chain), nonceOf: () => Promise.resolve(0) })).pass()
  await world.until(tenant, second.id, 'confirmed')
  const { rows } = await world.database.owner.query<{ nonce: number; status: string }>(
    'select nonce, status from sweep where merchant_id = $1 order by nonce',
    [tenant.merchantId],
  )
  expect(rows).toEqual([
    { nonce: 0, status: 'done' },
    { nonce: 1, status: 'done' },
  ])
})

test('payouts brought back from the journal that wait are signed for a higher fee, paid once, as approved', async () => {
  const shops = [
    await world.openShop('USDC_BASE', [USDC]),
    await world.openShop('ETH_BASE', [ETHER]),
  ] as const
  const restore = await world.backUp()
  const usdc = await world.payout(shops[0], 'USDC_BASE', '1')
  // The hot wallet's first is the one that was asked for first.
  world.now = new Date(world.now.getTime() + 1_000)
  const ether = await world.payout(shops[1], 'ETH_BASE', '1')
  const signed = async () => [
    (await world.signedFor(usdc.id)).payout.length,
    (await world.signedFor(ether.id)).payout.length,
  ]
  await sendSweeps()
  await world.anvil.mine(1)
  await sendSweeps()
  expect(await signed()).toEqual([1, 1])
  await world.anvil.rpc('anvil_dropAllTransactions')
  await restore()
  expect(await world.recover()).toEqual({ [usdc.id]: 'recovered', [ether.id]: 'recovered' })
  world.logged.length = 0
  const later = async () => {
    await world.tracker().pass()
    world.now = new Date(world.now.getTime() + 4 * 60_000)
    await sendSweeps()
  }
  await later()
  expect(await signed()).toEqual([2, 1])
  // The one block has the first of them alone.
  await world.anvil.rpc('anvil_dropAllTransactions')
  const { rows: newest } = await world.database.owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1 and number = 2',
    [usdc.id],
  )
  await world.anvil.rpc('eth_sendRawTransaction', [hexOf(newest[0]?.raw)])
  await world.anvil.mine(1)
  await later()
  expect(await signed()).toEqual([2, 2])
  expect(world.logged.join('')).not.toContain('not what was approved')
  for (const [shop, { id, asset, destination }] of [
    [shops[0], usdc],
    [shops[1], ether],
  ] as const) {
    const done = await world.until(shop, id, 'confirmed')
    expect(await world.holds(asset === 'USDC_BASE' ? asset : 'ETH_BASE', destination)).toBe(
      done.amount - done.networkFee,
    )
    expect(await world.balances(shop)).toMatchObject({ available: 0n, reserved: 0n })
    expect(done.networkFee).toBeLessThanOrEqual(done.networkFeeMax)
  }
  // Its own gas is an eighth dearer, and its sweep costs what it did.
  const { rows } = await world.database.owner.query<{ fees: bigint[] }>(
    'select array_agg(network_fee order by number) as fees from payout_transaction where payout_id = $1',
    [ether.id],
  )
  const [before = 0n, after = 0n] = rows[0]?.fees.map(BigInt) ?? []
  const { rows: sweeps } = await world.database.owner.query<{ cost: bigint }>(
    'select cost from sweep where payout_id = $1',
    [ether.id],
  )
  const [{ cost } = { cost: 0n }] = sweeps
  expect(cost).toBeGreaterThan(0n)
  expect(after - cost).toBeGreaterThanOrEqual(((before - cost) * 9n) / 8n)
  expect(await findings()).toEqual([])
})

test('of more sweeps than one look takes each gets its turn, also while the node fails and new ones come', async () => {
  const tenant = await world.openShop('USDC_BASE', [USDC])
  const payout = await world.payout(tenant, 'USDC_BASE', '1')
  await world.until(tenant, payout.id, 'confirmed')
  const { owner, pools } = world.database
  await world.anvil.mine(5)
  await world.tracker().pass()
  const addSweep = async (n: number) => {
    const values = [tenant.merchantId, `turn${n}`]
    await owner.query(
      `insert into sweep (merchant_id, id, livemode, payout_id, network, asset, address, key_index, amount, status, created_at)
       values ($1, $2, false, $3, $4, 'USDC_BASE', decode(repeat('ab', 20), 'hex'), 0, 1, 'planned', now())`,
      [...values, payout.id, world.network],
    )
    await owner.query(
      `insert into sweep_transaction (merchant_id, sweep_id, number, livemode, network, txid, raw, cost, created_at)
       values ($1, $2, 1, false, $3, $2, '', 0, now())`,
      [...values, world.network],
    )
  }
  for (let n = 1; n <= 7; n++) await addSweep(n)
  const asked: string[] = []
  const transaction = world.clientAt(world.anvil.url)
  const chain: EvmPayoutChain = {
    ...boundChain(transaction),
    receiptOf: async (txid) => {
      if (!txid.startsWith('turn')) return transaction.receiptOf(txid)
      asked.push(txid)
      if (txid === 'turn2') throw new ChainUnavailable('it fails over this one')
      return null
    },
    broadcast: async () => ({ kind: 'known' }),
  }
  const at = { network: world.network, pool: pools.watcher, clock: () => world.now, log: world.log }
  const providers = new PayoutProviders<EvmPayoutChain>(at, [{ name: 'the node', chain }])
  const sweeps = new EvmSweeps(
    { ...at, sealer: world.sealerOf(at.network), providers, tokens: [], lookEveryMs: 0, topUp: null },
    3,
  )
  const look = async () => {
    const from = asked.length
    await sweeps.follow(world.hot).catch((error: unknown) => {
      if (!(error instanceof ChainUnavailable)) throw error
    })
    return asked.slice(from)
  }
  try {
    expect(await look()).toEqual(['turn1', 'turn2'])
    expect(await look()).toEqual(['turn3', 'turn4', 'turn5'])
    await addSweep(8)
    expect(await look()).toEqual(['turn6', 'turn7', 'turn8'])
    await addSweep(9)
    expect(await look()).toEqual(['turn9'])
    expect(await look()).toEqual(['turn1', 'turn2'])
    expect(await look()).toEqual(['turn3', 'turn4', 'turn5'])
  } finally {
    await transaction.close()
    await owner.query(`delete from sweep_transaction where sweep_id like 'turn%'`)
    await owner.query(`delete from sweep where id like 'turn%'`)
  }
})

const hexOf = (raw: Buffer | undefined): string => `0x${raw?.toString('hex') ?? ''}`

const planSchema = z.array(
  z.object({ 'QUERY PLAN': z.array(z.object({ Plan: z.object({ 'Shared Hit Blocks': z.int() }) })) }),
)
/** Pages of tables and indexes that a query reads. */
async function pagesOf(tx: Tx, ask: (db: Queryable) => Promise<unknown>): Promise<number> {
  let asked: { text: string; values: unknown[] } = { text: '', values: [] }
  await ask({
    query: (text, values = []) => {
      asked = { text, values }
      return tx.query(text, values)
    },
  })
  const explained = await tx.query(`explain (analyze, buffers, format json) ${asked.text}`, asked.values)
  return planSchema.parse(explained.rows)[0]?.['QUERY PLAN'][0]?.Plan['Shared Hit Blocks'] ?? 0
}

const MANY = 5_000
/** More than the few rows take, and far less than a look at every one of many. */
const PAGES_MAX = 40

test(`what merchants have in a hot wallet costs no more to ask for after ${MANY} payouts than after none`, async () => {
  const tenant = await world.openShop('USDC_BASE', [])
  const of = { network: world.network, asset: 'USDC_BASE' } as const
  const found = await withTrialTransaction(world.database.owner, tenant, async (tx) => {
    const values = [tenant.merchantId, world.network, MANY]
    // One transaction that changes the figure so often would leave all its versions behind.
    await tx.query('alter table payout disable trigger keep_hot_credit_paid')
    await tx.query('alter table sweep disable trigger keep_hot_credit_swept')
    await tx.query(
      `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
       values ($1, 'many', false, 'USDC_BASE', '0x0', 'x', 'x', now(), now())`,
      [tenant.merchantId],
    )
    await tx.query(
      `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max,
         destination_id, destination, requested_by, created_at, txid, confirmed_at)
       select $1, 'many' || n, false, 'confirmed', 'USDC_BASE', $2, 10, 0, 0, 'many', '0x0', 'x', now(), 'x' || n, now()
       from generate_series(1, $3::integer) n`,
      values,
    )
    await tx.query(
      `insert into sweep (merchant_id, id, livemode, payout_id, network, asset, address, key_index, amount, status, cost,
         txid, created_at, final_at)
       select $1, 'many' || n, false, 'many' || n, $2, 'USDC_BASE', decode(lpad(n::text, 40, '0'), 'hex'), n, 11, 'done', 0,
         'x' || n, now(), now()
       from generate_series(1, $3::integer) n`,
      values,
    )
    await tx.query(
      `insert into account_nonce (network, sender, nonce, merchant_id, livemode, intent_id)
       select $2, decode(repeat('ab', 20), 'hex'), n, $1, false, 'many' || n from generate_series(1, $3::integer) n`,
      values,
    )
    await tx.query(
      `insert into hot_credit (merchant_id, livemode, network, asset, amount) values ($1, false, $2, 'USDC_BASE', $3::integer)`,
      values,
    )
    await tx.query('analyze payout, sweep, account_nonce, hot_credit')
    return {
      credit: await loadSweptCredit(tx, tenant, { ...of, counts: 'planned' }),
      creditPages: await pagesOf(tx, (db) => loadSweptCredit(db, tenant, { ...of, counts: 'planned' })),
      sumPages: await pagesOf(tx, (db) => sumHotObligations(db, { ...of, headNonce: MANY })),
    }
  })
  expect(found.credit).toBe(BigInt(MANY))
  expect(found.creditPages).toBeLessThan(PAGES_MAX)
  expect(found.sumPages).toBeLessThan(PAGES_MAX)
})

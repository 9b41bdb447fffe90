import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { CREATE2_DEPLOYER, CREATE2_DEPLOYER_CODE } from '../../src/chain/evm/sweeper.ts'
import type { SweeperState } from '../../src/payouts/broadcast/evm/sweeper-state.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'

/** The one contract that the sweeps of all merchants' USDT need, and the payout that asks for it. */

const ASSET = 'USDT_ETHEREUM'
const USDT = 1_000_000n
const HOUR_MS = 3_600_000

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('ethereum', { withUsdt: true })
  await world.fuelHotWallet(10n ** 19n)
}, 180_000)
afterAll(() => world?.close())

const pass = (hours: number) => {
  world.now = new Date(world.now.getTime() + hours * HOUR_MS)
}
const sentByHotWallet = async () =>
  Number(await world.anvil.rpc<string>('eth_getTransactionCount', [encodeEvmAddress(world.hot), 'latest']))
const codeOfDeployer = (code: string) =>
  world.anvil.rpc('anvil_setCode', [encodeEvmAddress(CREATE2_DEPLOYER), code])
async function turns(count: number, hours = 0): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
    pass(hours)
  }
}
const creationsSigned = async () => {
  const { rows } = await world.database.owner.query(
    'select distinct s.id from sweep s join sweep_transaction t on t.sweep_id = s.id where s.amount = 0',
  )
  return rows.length
}

test('where its creation reverts it costs a payout gas once, and the payout fails after a day', async () => {
  const tenant = await world.openShop(ASSET, [4n * USDT])
  const payout = await world.payout(tenant, ASSET, '4')
  const sent = await sentByHotWallet()
  for (let turn = 0; turn < 8; turn++) {
    await codeOfDeployer(CREATE2_DEPLOYER_CODE)
    await world.tracker().pass()
    await world.sign()
    await codeOfDeployer('0x5f5ffd')
    await world.tracker().pass()
    await world.anvil.mine(3)
    pass(2)
  }
  await codeOfDeployer(CREATE2_DEPLOYER_CODE)
  expect((await sentByHotWallet()) - sent).toBe(1)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  pass(10)
  await world.tracker().pass()
  await world.endRefused()
  expect(await world.load(tenant, payout.id)).toMatchObject({
    status: 'failed',
    failureCode: 'sweeper_missing',
  })
})

test('a payout that the signer holds makes no other merchant wait, and creates it no second time', async () => {
  const [held, other] = [await world.openShop(ASSET, [20n * USDT]), await world.openShop(ASSET, [5n * USDT])]
  // What was read of fees is old by now.
  await world.tracker().pass()
  const limits = join(world.folder, 'limits.json')
  await writeFile(limits, JSON.stringify({ test: { [ASSET]: { day: '10' } } }), { mode: 0o600 })
  const first = await world.payout(held, ASSET, '20')
  await turns(2)
  const before = await creationsSigned()
  const second = await world.payout(other, ASSET, '5')
  await world.until(other, second.id, 'confirmed', 20)
  expect((await world.load(held, first.id)).status).toBe('approved')
  pass(2)
  await rm(limits)
  await world.until(held, first.id, 'confirmed', 20)
  expect(await creationsSigned()).toBe(before + 1)
})

test('by the word of one provider of two nothing is created again, fails, or is swept undelegated', async () => {
  const tenant = await world.openShop(ASSET, [6n * USDT])
  const payout = await world.payout(tenant, ASSET, '6')
  const honest = world.clientAt(world.anvil.url)
  const lying = (state: SweeperState) =>
    world.trackerOf([
      {
        name: 'liar',
        chain: { ...boundChain(honest), sweeperOf: async () => state, isDelegated: async () => true },
      },
      { name: 'honest', chain: honest },
    ])
  const [before, sent] = [await creationsSigned(), await sentByHotWallet()]
  for (const state of [{ kind: 'absent' }, { kind: 'problem', problem: 'no EIP-7702' }] as const) {
    // Longer than a payout waits for what may pass.
    pass(25)
    const tracker = lying(state)
    for (let turn = 0; turn < 3; turn++) {
      await tracker.pass()
      await world.sign()
      await world.anvil.mine(1)
    }
  }
  expect([await creationsSigned(), await sentByHotWallet()]).toEqual([before, sent])
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  const tracker = lying({ kind: 'ready' })
  for (let turn = 0; turn < 5; turn++) {
    await tracker.pass()
    await world.sign()
    await tracker.pass()
    await world.anvil.mine(1)
  }
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
})

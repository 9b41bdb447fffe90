import { afterEach, describe, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { EVM_CHAINS } from '../../src/core/chain/evm-networks.ts'
import { saveAssetPrices } from '../../src/db/invoices/asset-prices.ts'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { coinsOf, EvmPayoutWorld } from '../support/evm-payout-world.ts'

const USDC = 1_000_000n
const GWEI = 10n ** 9n
/** In 10⁻¹² US dollar. */
const DOLLAR = 10n ** 12n
const DAY_MS = 24 * 3_600_000

let world: EvmPayoutWorld
afterEach(() => world?.close())

/** What the next blocks cost a unit of gas: at 100 gwei, and with ether at 3,000 dollars, a sweep costs thirty. */
async function setBaseFee(fee: bigint): Promise<void> {
  await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(fee)])
  await world.anvil.mine(1)
}

const sentByHotWallet = async () => {
  const [address, latest] = [encodeEvmAddress(world.hot), 'latest']
  return Number(await world.anvil.rpc<string>('eth_getTransactionCount', [address, latest]))
}

describe.each(EVM_CHAINS)('a sweep of USDC on %s that costs more than it moves', (chain) => {
  const { coin, token } = coinsOf(chain)
  async function open(): Promise<void> {
    world = await EvmPayoutWorld.open(chain)
    await world.fuelHotWallet(100n * 10n ** 18n)
    const price = { livemode: false, price: 3_000n * DOLLAR }
    const prices = [
      { ...price, asset: coin },
      { ...price, asset: token, price: DOLLAR },
    ]
    await saveAssetPrices(world.database.owner, prices, world.now)
  }

  test('waits for a cheaper hour, with all that its payout needs, and is made then', async () => {
    await open()
    const tenant = await world.openShop(token, [10n * USDC, 200n * USDC])
    const all = await world.payout(tenant, token, '210')
    await setBaseFee(100n * GWEI)
    const before = await sentByHotWallet()
    const tracker = world.tracker()
    for (let turn = 0; turn < 4; turn++) {
      await tracker.pass()
      await world.sign()
      await world.anvil.mine(1)
    }
    expect((await world.load(tenant, all.id)).status).toBe('approved')
    expect(await sentByHotWallet()).toBe(before)
    expect(
      world.logged.filter((line) => line.includes('costs more now than the deposits hold')),
    ).toHaveLength(1)
    await setBaseFee(GWEI)
    await world.until(tenant, all.id, 'confirmed')
    expect(await world.holds(token, all.destination)).toBe(210n * USDC)
  })

  test('holds up no other payout of its merchant, also one requested meanwhile, that needs none', async () => {
    await open()
    const tenant = await world.openShop(token, [10n * USDC, 200n * USDC])
    const waiting = await world.payout(tenant, token, '203')
    const early = await world.payout(tenant, token, '4')
    await setBaseFee(100n * GWEI)
    await world.tracker().pass()
    const late = await world.payout(tenant, token, '3')
    for (let turn = 0; turn < 6; turn++) {
      await world.tracker().pass()
      await world.sign()
      await world.tracker().pass()
      await setBaseFee(100n * GWEI)
    }
    for (const { destination, amount } of [early, late])
      expect(await world.holds(token, destination)).toBe(amount)
    expect((await world.load(tenant, waiting.id)).status).toBe('approved')
    await setBaseFee(GWEI)
    await world.until(tenant, waiting.id, 'confirmed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  })

  test('is refused when it is requested, and fails a day after its approval, with all of the money back', async () => {
    await open()
    const tenant = await world.openShop(token, [10n * USDC, 10n * USDC])
    const approved = await world.payout(tenant, token, '15')
    await setBaseFee(100n * GWEI)
    await world.tracker().pass()
    const asked = { asset: token, amount: '5', address: newEvmAddress().address } as const
    expect((await world.ask(tenant, asked)).kind).toBe('unavailable')
    world.now = new Date(world.now.getTime() + DAY_MS + 1)
    const failed = await world.until(tenant, approved.id, 'failed')
    expect(failed).toMatchObject({ failureCode: 'fee_above_limit' })
    expect(await world.balances(tenant)).toMatchObject({ available: 20n * USDC, reserved: 0n })
  })
})

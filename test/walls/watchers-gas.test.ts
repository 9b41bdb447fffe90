import { afterAll, beforeAll, expect, test } from 'vitest'
import { newEvmAddress } from '../support/anvil.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'

const ETHER = 10n ** 18n
/** A thousand gwei for a unit of gas; five are the most that is believed on Base. */
const FORGED_TIP = 10n ** 12n
/** More than any of these payouts costs at a price that is believed. */
const LOST_MAX = ETHER / 100n

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  // Ether that is there for others.
  await world.fuelHotWallet()
})
afterAll(() => world?.close())

/** With the watcher's login: the hot wallet has any amount of ether, and blocks want this tip. */
const forgePrice = () =>
  world.database.pools.watcher.query('update hot_wallet set tip = $1, balance = 1e24', [FORGED_TIP])

/** Turns of watcher and signer, each after the prices were forged again; what the hot wallet lost. */
async function lostOver(turns: number): Promise<bigint> {
  const before = await world.holds('ETH_BASE', world.hot)
  for (let turn = 0; turn < turns; turn++) {
    await world.tracker().pass()
    await forgePrice()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
  return before - (await world.holds('ETH_BASE', world.hot))
}

test("with the watcher's login nobody has the hot wallet pay any tip for a token", async () => {
  const shop = await world.openShop('USDC_BASE', [10_000_000n])
  const payout = await world.payout(shop, 'USDC_BASE', '10')
  const lost = await lostOver(6)
  expect(await world.load(shop, payout.id)).toMatchObject({ status: 'confirmed' })
  expect(lost).toBeLessThan(LOST_MAX)
})

test("with the watcher's login nobody has a contract burn more gas than a destination may take", async () => {
  const shop = await world.openShop('ETH_BASE', [ETHER])
  const { address } = newEvmAddress()
  await forgePrice()
  const payout = await world.payout(shop, 'ETH_BASE', '1', address)
  await world.database.pools.watcher.query(
    'insert into payout_gas (merchant_id, payout_id, livemode, gas) values ($1, $2, false, 16000000)',
    [shop.merchantId, payout.id],
  )
  // Jumps to its beginning until the gas is used up.
  await world.anvil.rpc('anvil_setCode', [address, '0x5b5f56'])
  const lost = await lostOver(8)
  expect(await world.load(shop, payout.id)).toMatchObject({ failureCode: 'destination_refuses' })
  // Its own ether was swept in and is there.
  expect(lost + ETHER).toBeLessThan(LOST_MAX)
})

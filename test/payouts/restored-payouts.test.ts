import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyDatabase } from '../support/database-copy.ts'
import { type EvmAsset, EvmPayoutWorld } from '../support/evm-payout-world.ts'

/** Database and journal are of before a payout was signed again for a higher fee: nothing here knows what paid. */

const JUNK = `0x${'ab'.repeat(32)}`
const UNITS = { ETH_BASE: 10n ** 18n, USDC_BASE: 1_000_000n } as const

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
}, 60_000)
afterAll(() => world?.close())

const rowsOf = async (payoutId: string) =>
  (
    await world.database.owner.query<{ txid: string; raw: Buffer; network_fee: bigint }>(
      'select txid, raw, network_fee from payout_transaction where payout_id = $1 order by number',
      [payoutId],
    )
  ).rows

/** A payout that was signed, backed up, signed again and paid by that; then both are as in the backup. */
async function restored(asset: Extract<EvmAsset, keyof typeof UNITS>) {
  const tenant = await world.openShop(asset, [UNITS[asset]])
  const payout = await world.payout(tenant, asset, '1')
  for (let turn = 0; turn < 6 && (await rowsOf(payout.id)).length === 0; turn++) {
    await world.tracker().pass()
    await world.anvil.mine(1)
    await world.tracker().pass()
    await world.sign()
  }
  expect(await rowsOf(payout.id)).toHaveLength(1)
  const journal = join(world.folder, 'payouts.jsonl')
  await copyFile(journal, `${journal}.backup`)
  const setBack = await copyDatabase(world.database.owner)
  world.now = new Date(world.now.getTime() + 4 * 60_000)
  await world.tracker().pass()
  await world.sign()
  const [, second] = await rowsOf(payout.id)
  if (second === undefined) throw new Error('nothing was signed again')
  await world.anvil.rpc('anvil_dropAllTransactions')
  await world.anvil.rpc('eth_sendRawTransaction', [`0x${second.raw.toString('hex')}`])
  await world.anvil.mine(3)
  await setBack()
  await copyFile(`${journal}.backup`, journal)
  return { tenant, payout, second }
}

test.each(['ETH_BASE', 'USDC_BASE'] as const)(
  'a payout in %s whose replacement paid is known again by its signature, and is not paid twice',
  async (asset) => {
    const { tenant, payout, second } = await restored(asset)
    for (let turn = 0; turn < 4; turn++) {
      await world.tracker().pass()
      await world.sign()
      await world.anvil.mine(1)
      expect((await world.load(tenant, payout.id)).status).not.toBe('failed')
    }
    await world.tracker().pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({
      status: 'confirmed',
      txid: second.txid,
      networkFee: second.network_fee,
    })
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await rowsOf(payout.id)).toHaveLength(2)
    expect(
      world.logged.some((line) => line.includes('paid by a transaction that the books do not know')),
    ).toBe(true)
  },
)

test('what somebody writes down as found, and the signer did not sign, counts for nothing', async () => {
  const { tenant, payout, second } = await restored('ETH_BASE')
  await world.database.pools.watcher.query(
    `insert into evm_found_payout values ($1, $2, false, $3, 21000, 1000000000, 1, 1, now())`,
    [tenant.merchantId, payout.id, JUNK],
  )
  await world.sign()
  expect((await rowsOf(payout.id)).map(({ txid }) => txid)).not.toContain(JUNK)
  for (let turn = 0; turn < 4; turn++) {
    await world.tracker().pass()
    await world.sign()
  }
  await world.tracker().pass()
  expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: second.txid })
})

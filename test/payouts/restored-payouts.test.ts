import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { copyDatabase } from '../support/database-copy.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { type EvmAsset, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { moneyOf } from '../support/node-money.ts'
import { PayoutWorld } from '../support/payout-world.ts'

/** Database and journal are of before a payout was signed again for a higher fee: nothing here knows what paid. */

const JUNK = `0x${'ab'.repeat(32)}`
const UNITS = { ETH_BASE: 10n ** 18n, USDC_BASE: 1_000_000n } as const

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
})
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
    `insert into found_payout values ($1, $2, false, $3, 21000, 1000000000, 1, 1, now())`,
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

describeNeeding(NODE_PROGRAMS, 'the same on a real node of %s', (chain) => {
  const COIN = 100_000_000n
  let node: TestNode
  let coins: PayoutWorld
  beforeAll(async () => {
    node = await startNode(chain, { blocks: 130 })
    coins = await PayoutWorld.open(moneyOf(node, chain))
  })
  afterAll(async () => {
    await coins?.close()
    await node?.remove()
  })

  test.each([
    ['with change', '1', COIN],
    ['of everything', '2', 0n],
  ])(
    'a payout %s whose replacement paid is known again by its coins, and is not paid twice',
    async (_, amount, left) => {
      const { owner } = coins.database
      const tenant = await coins.openShop([2n * COIN])
      const payout = await coins.payout(tenant, amount, await node.newAddress())
      await coins.sign()
      await coins.tracker().pass()
      const journal = join(coins.folder, 'payouts.jsonl')
      await copyFile(journal, `${journal}.backup`)
      const setBack = await copyDatabase(owner)
      coins.now = new Date(coins.now.getTime() + 31 * 60_000)
      await coins.tracker().pass()
      await owner.query('update network_fee set milli_per_vbyte = 9000 where network = $1', [coins.network])
      await coins.sign()
      await coins.tracker().pass()
      const signed = async () =>
        (
          await owner.query<{ txid: string }>(
            'select txid from payout_transaction where payout_id = $1 order by number',
            [payout.id],
          )
        ).rows
      const [, second] = await signed()
      expect(await signed()).toHaveLength(2)
      await node.mine(3)
      await setBack()
      await copyFile(`${journal}.backup`, journal)
      coins.now = new Date(coins.now.getTime() - 31 * 60_000)
      const tracker = coins.tracker()
      for (let turn = 0; turn < 25; turn++) {
        await coins.watch()
        await tracker.pass()
        await coins.sign()
        expect((await coins.load(tenant, payout.id)).status).not.toBe('failed')
        await node.mine(1)
      }
      await tracker.pass()
      expect(await coins.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: second?.txid })
      expect((await signed()).map(({ txid }) => txid)).toContain(second?.txid)
      expect(await coins.balances(tenant)).toMatchObject({ available: left, reserved: 0n })
      if (left === 0n) return
      const next = await coins.payout(tenant, '0.5', await node.newAddress())
      await coins.sign()
      await tracker.pass()
      expect(await coins.load(tenant, next.id)).toMatchObject({ status: 'submitted' })
    },
  )

  test('what somebody writes down as found holds up no replacement', async () => {
    const { owner, pools } = coins.database
    const tenant = await coins.openShop([2n * COIN])
    const payout = await coins.payout(tenant, '1', await node.newAddress())
    await coins.sign()
    await pools.watcher.query(
      `insert into found_payout (merchant_id, payout_id, livemode, txid, value, found_at) values ($1, $2, false, $3, $4, now())`,
      [tenant.merchantId, payout.id, JUNK.slice(2), payout.amount - 2_000n],
    )
    coins.now = new Date(coins.now.getTime() + 31 * 60_000)
    await coins.tracker().pass()
    await owner.query('update network_fee set milli_per_vbyte = 9000 where network = $1', [coins.network])
    await coins.sign()
    const { rows } = await owner.query<{ txid: string }>(
      'select txid from payout_transaction where payout_id = $1',
      [payout.id],
    )
    expect(rows).toHaveLength(2)
    expect(rows.map(({ txid }) => txid)).not.toContain(JUNK.slice(2))
  })
})

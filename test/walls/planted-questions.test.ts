import { afterAll, beforeAll, expect, test } from 'vitest'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

const LTC = 100_000_000n

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await world.sign()
    await world.tracker().pass()
    await money.mine(1)
    await world.watch()
  }
}

test("a question of another mode and network by the watcher's login keeps no payout's money set aside", async () => {
  const shop = await world.openShop([LTC])
  const refused = await world.payout(shop, '0.4')
  const { watcher } = world.database.pools
  const of = [shop.merchantId, refused.id]
  await watcher.query(`insert into payout_refusal values ($1, $2, false, 'approval_invalid', now())`, of)
  await watcher.query(
    `insert into journal_question values ($1, $2, true, 'litecoin-live', '2020-01-01', null)`,
    of,
  )
  await turns()
  expect((await world.load(shop, refused.id)).status).toBe('failed')
  expect(await world.paidTo(refused.destination)).toEqual([])
})

test("a refusal and an answer that the signer never gave bring a payout's money back, and pay it never", async () => {
  const shop = await world.openShop([LTC])
  const ended = await world.payout(shop, '0.4')
  const { watcher } = world.database.pools
  const of = [shop.merchantId, ended.id]
  await watcher.query(`insert into payout_refusal values ($1, $2, false, 'approval_invalid', now())`, of)
  await watcher.query(`insert into journal_question values ($1, $2, false, $3, '2020-01-01', '9000-01-01')`, [
    ...of,
    world.network,
  ])
  await turns()
  expect((await world.load(shop, ended.id)).status).toBe('failed')
  const next = await world.payout(shop, '0.5')
  await turns()
  await turns()
  expect(await world.paidTo(ended.destination)).toEqual([])
  expect(await world.paidTo(next.destination)).toHaveLength(1)
})

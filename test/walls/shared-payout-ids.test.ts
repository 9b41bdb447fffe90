import { afterAll, beforeAll, expect, test } from 'vitest'
import { withTransaction } from '../../src/postgres/transaction.ts'
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

/** Ids are a merchant's own in the database, and the signer's journal goes by the id. */
test("a payout to which the API's login gave another shop's id is not booked as that shop's", async () => {
  const victim = await world.openShop([LTC])
  const thief = await world.openShop([LTC])
  const { api, signer } = world.database.pools
  const waiting = await world.request(victim, '0.5')
  const own = await world.request(thief, '0.4')
  await withTransaction(api, thief, (tx) =>
    tx.query(
      `insert into payout (merchant_id, id, livemode, status, asset, network, amount, network_fee, network_fee_max, destination_id,
         destination, requested_by, created_at, event_count, source)
       select merchant_id, $2, livemode, status, asset, network, amount, network_fee, network_fee_max, destination_id, destination,
         requested_by, created_at, event_count, source from payout where merchant_id = $1 and id = $3`,
      [thief.merchantId, waiting.id, own.id],
    ),
  )
  await world.approve(thief, waiting.id)
  // The signature is written down, and a lock on the row keeps it from the database until the thief's row is out of the way.
  const reached = async (point: string) => {
    if (point === 'after_journal') throw new Error('the database took too long')
  }
  await expect(world.sign({ reached })).rejects.toThrow('took too long')
  await withTransaction(api, thief, (tx) =>
    tx.query(
      `update payout set status = 'rejected', rejected_at = now(), rejected_by = 'x' where merchant_id = $1`,
      [thief.merchantId],
    ),
  )
  await world.approve(victim, waiting.id)
  await world.sign()
  await world.tracker().pass()
  await world.sign()
  const { rows } = await signer.query('select from payout_transaction where merchant_id = $1', [
    victim.merchantId,
  ])
  expect(rows).toEqual([])
  expect((await world.load(victim, waiting.id)).status).toBe('approved')
  expect(world.logged.join('')).toContain(
    'it was signed for another merchant or network than the database says',
  )
})

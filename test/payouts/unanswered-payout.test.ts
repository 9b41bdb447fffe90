import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
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

test('a payout about which the only node gives no answer holds up no other one', async () => {
  const ofTwo = async () => {
    const tenant = await world.openShop([LTC])
    return { tenant, id: (await world.payout(tenant, '0.5')).id }
  }
  // The one with the lower id is looked at first.
  const [hung, other] = [await ofTwo(), await ofTwo()].sort((a, b) => (a.id < b.id ? -1 : 1))
  if (hung === undefined || other === undefined) throw new Error('two were requested')
  await world.tracker().pass()
  await world.sign()
  const { rows } = await world.database.owner.query<{ raw: Buffer }>(
    'select raw from payout_transaction where payout_id = $1',
    [hung.id],
  )
  // Such as a proxy before it that lets no request of this length pass.
  const tracker = world.tracker((chain) =>
    Object.assign(chain, {
      broadcast: async (raw: Uint8Array) => {
        if (rows[0]?.raw.equals(raw) === true) throw new ChainUnavailable('no answer')
        return UtxoPayoutClient.prototype.broadcast.call(chain, raw)
      },
    }),
  )
  await expect(tracker.pass()).rejects.toThrow('no answer')
  await expect(tracker.pass()).rejects.toThrow('no answer')
  expect((await world.load(other.tenant, other.id)).status).toBe('submitted')
  expect((await world.load(hung.tenant, hung.id)).status).toBe('approved')
  await world.tracker().pass()
  expect((await world.load(hung.tenant, hung.id)).status).toBe('submitted')
})

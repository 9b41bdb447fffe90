import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

const LTC = 100_000_000n
const TEN_PERCENT_BPS = 1_000

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

test("with the API's login a shop is paid at most its own deposits, fee included, and the audit names it", async () => {
  const other = await world.openShop([LTC])
  const thief = await world.openShop([LTC], TEN_PERCENT_BPS)
  const forged = await forgeBalance(world.database.pools.api, thief, {
    asset: 'LTC',
    amount: LTC,
    now: world.now,
  })
  const all = await world.payout(thief, '1')
  await turns()
  const more = await world.payout(thief, '0.5')
  await turns()
  const { networkFee } = await world.load(thief, all.id)
  expect(await world.paidTo(all.destination)).toEqual([LTC - networkFee])
  expect(await world.paidTo(more.destination)).toEqual([])
  expect(await world.coinsOnChain(other)).toBe(LTC)
  const results = await runAudit(world.database.owner, [])
  const namesOf = (wanted: string) =>
    results
      .find(({ name }) => name === wanted)
      ?.findings.filter(({ merchantId }) => merchantId === thief.merchantId)
      .map(({ subject }) => subject)
  expect(namesOf('posting_has_its_transfer')).toContain(forged)
  expect(namesOf('coins_are_the_balances')).toEqual(['LTC test'])
})

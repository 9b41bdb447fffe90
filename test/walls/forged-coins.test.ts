import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { forgeBalance } from '../support/forge-balance.ts'
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

/** The deposit of one merchant, written down by the watcher's login as a payment to another one's invoice; its id. */
async function claimDepositOf(victim: Tenant, thief: Tenant): Promise<string> {
  const { invoiceId } = await world.openInvoice(thief, LTC)
  const id = newId('payment', world.now)
  await world.database.pools.watcher.query(
    `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
       first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
       announced_review, ledger_bucket, ledger_postings)
     select $2, $3, livemode, $4, network, txid, output_index, asset, amount, status, first_seen_at, detected_at,
       confirmed_at, confirmations_required, late, dust, announced_confirming, announced_review, ledger_bucket,
       ledger_postings from transfer where merchant_id = $1`,
    [victim.merchantId, thief.merchantId, id, invoiceId],
  )
  const { pools } = world.database
  await forgeBalance(pools.watcher, thief, { asset: 'LTC', amount: LTC, now: world.now })
  return id
}

async function turn(): Promise<void> {
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await money.mine(1)
  await world.watch()
}

async function untilConfirmed(tenant: Tenant, payout: Payout): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await turn()
  expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
  const { networkFee } = await world.load(tenant, payout.id)
  expect(await world.paidTo(payout.destination)).toEqual([payout.amount - networkFee])
}

test("with the watcher's login nobody is paid from another merchant's deposit; its own payout goes out", async () => {
  const victim = await world.openShop([LTC])
  const thief = await world.openShop([])
  const forged = await claimDepositOf(victim, thief)
  const results = await runAudit(world.database.owner, [])
  const found = results.filter(({ findings }) => findings.some(({ subject }) => subject === forged))
  expect(found.map(({ name }) => name)).toContain('coin_is_one_deposit')
  const theft = await world.payout(thief, '0.5')
  await turn()
  await turn()
  expect(await world.paidTo(theft.destination)).toEqual([])
  await untilConfirmed(victim, await world.payout(victim, '0.5'))
})

test('change is spent by the merchant for whom the journal says it was made, and by nobody else', async () => {
  const victim = await world.openShop([LTC])
  await untilConfirmed(victim, await world.payout(victim, '0.4'))
  const thief = await world.openShop([])
  await forgeBalance(world.database.pools.watcher, thief, { asset: 'LTC', amount: LTC, now: world.now })
  const theft = await world.payout(thief, '0.3')
  // Nobody but the signer and the owner can write this.
  const { owner } = world.database
  await owner.query(
    `insert into payout (select (jsonb_populate_record(p, jsonb_build_object('id', 'po_forged', 'merchant_id', $2::text,
       'destination_id', t.destination_id))).* from payout p join payout t on t.id = $3 where p.merchant_id = $1)`,
    [victim.merchantId, thief.merchantId, theft.id],
  )
  await owner.query(
    `insert into payout_change (select (jsonb_populate_record(c, jsonb_build_object('payout_id', 'po_forged',
       'merchant_id', $2::text))).* from payout_change c where c.merchant_id = $1)`,
    [victim.merchantId, thief.merchantId],
  )
  await turn()
  expect(await world.paidTo(theft.destination)).toEqual([])
  expect(world.logged.join('')).toContain('change is not what was signed for the merchant')
  await untilConfirmed(victim, await world.payout(victim, '0.5'))
})

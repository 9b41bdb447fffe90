import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
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

/** Change of one merchant's payout, written down as that of a payout of another's. Nobody but the signer and the owner can. */
async function claimChangeOf(victim: Tenant, thief: Tenant, theft: Payout): Promise<void> {
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
}

/** As if the signatures of one merchant's payout were of the other's; gives what they were of. */
async function claimSignaturesOf(victim: Tenant, thief: Tenant): Promise<string> {
  const { rows } = await world.database.owner.query<{ payout_id: string }>(
    `update payout_transaction t set merchant_id = $2, payout_id = 'po_forged' from payout_transaction before
     where t.merchant_id = $1 and before.txid = t.txid returning before.payout_id`,
    [victim.merchantId, thief.merchantId],
  )
  return rows[0]?.payout_id ?? ''
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
  const { owner } = world.database
  await claimChangeOf(victim, thief, theft)
  await turn()
  expect(await world.paidTo(theft.destination)).toEqual([])
  expect(world.logged.join('')).toContain('change is not what was signed for the merchant')
  // Where the journal is lost, the signatures of what made the change say whose it is.
  const payoutId = await claimSignaturesOf(victim, thief)
  const deposit = await claimDepositOf(victim, thief)
  await owner.query(`update transfer set ledger_bucket = 'none' where id = $1`, [deposit])
  const [journal, lost] = [join(world.folder, 'payouts.jsonl'), join(world.folder, 'lost')]
  await rename(journal, lost)
  world.logged.length = 0
  await turn()
  expect(await world.paidTo(theft.destination)).toEqual([])
  expect(world.logged.join('')).toContain('change is not what was signed for the merchant')
  await rename(lost, journal)
  await owner.query('update payout_transaction set merchant_id = $1, payout_id = $3 where merchant_id = $2', [
    victim.merchantId,
    thief.merchantId,
    payoutId,
  ])
  await untilConfirmed(victim, await world.payout(victim, '0.5'))
})

test('what a merchant paid to another one’s invoice does not make the other’s change theirs', async () => {
  const thief = await world.openShop([LTC / 2n])
  const victim = await world.openShop([])
  const { invoiceId, address } = await world.openInvoice(victim, LTC / 2n)
  const payment = await world.payout(thief, '0.5', address)
  await untilConfirmed(thief, payment)
  const { txid, networkFee } = await world.load(thief, payment.id)
  const place = { network: world.network, asset: world.asset, txid: txid ?? '', output: 0 } as const
  await world.record(victim, { ...place, invoiceId, amount: payment.amount - networkFee })
  await untilConfirmed(victim, await world.payout(victim, '0.2'))
  await forgeBalance(world.database.pools.watcher, thief, { asset: 'LTC', amount: LTC, now: world.now })
  const theft = await world.payout(thief, '0.25')
  await world.database.owner.query(`delete from payout_change where payout_id = 'po_forged'`)
  await world.database.owner.query(`delete from payout where id = 'po_forged'`)
  await claimChangeOf(victim, thief, theft)
  await claimSignaturesOf(victim, thief)
  await rm(join(world.folder, 'payouts.jsonl'))
  world.logged.length = 0
  await turn()
  expect(await world.paidTo(theft.destination)).toEqual([])
  expect(world.logged.join('')).toContain('change is not what was signed for the merchant')
})

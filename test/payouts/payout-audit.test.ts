import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAYOUT_CHECKS } from '../../src/audit/payout-checks.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { insertLedgerTransfers } from '../../src/db/ledger/ledger.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

const LTC = 100_000_000n
let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let tenant: Tenant
let confirmed: Payout
let open: Payout
let ofFees: Payout
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  tenant = await world.openShop([LTC, LTC, LTC])
  confirmed = await world.payout(tenant, '0.5')
  const rejected = await world.request(tenant, '0.1')
  const failed = await world.payout(tenant, '0.2')
  await world.database.owner.query('update payout set destination = destination || $2 where id = $1', [
    failed.id,
    'x',
  ])
  await world.sign()
  const tracker = world.tracker()
  await tracker.pass()
  await world.money.mine(1)
  await world.endRefused()
  const { decidePayout } = await import('../../src/payouts/advance-payout.ts')
  const { keyring, seals } = await import('../support/payout-steps.ts')
  const deps = { pool: world.database.pools.api, clock: () => world.now, keyring, seals }
  await decidePayout(deps, {
    tenant,
    source: 'available',
    payoutId: rejected.id,
    decision: 'reject',
    by: 'key_b',
    requestId: 'req_test',
  })
  open = await world.payout(tenant, '0.3')
  ofFees = await world.payoutOfFees(await world.openShop([LTC], 1_000))
  await world.sign()
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

const ours = new Set(PAYOUT_CHECKS.map(({ name }) => name))
async function broken(): Promise<string[]> {
  const results = await runAudit(world.database.owner, [])
  return results.filter(({ name, findings }) => ours.has(name) && findings.length > 0).map(({ name }) => name)
}

test('payouts of every ending leave nothing to find', async () => {
  expect((await world.load(tenant, confirmed.id)).status).toBe('confirmed')
  expect(await broken()).toEqual([])
})

/** What is broken, and how it is mended again. */
const BREAKS: readonly (readonly [string, () => string, () => string])[] = [
  [
    'reserved_is_open_payouts',
    () => `update payout set amount = amount + 1 where id = '${open.id}'`,
    () => `update payout set amount = amount - 1 where id = '${open.id}'`,
  ],
  [
    'reserved_is_open_payouts',
    () => `update payout set status = 'confirmed' where id = '${ofFees.id}'`,
    () => `update payout set status = 'approved' where id = '${ofFees.id}'`,
  ],
  [
    'payout_goes_where_allowed',
    () => `update payout set destination = 'x' || destination where id = '${open.id}'`,
    () => `update payout set destination = substr(destination, 2) where id = '${open.id}'`,
  ],
  [
    'payout_goes_where_allowed',
    () => `update fee_destination set livemode = true where id = '${ofFees.destinationId}'`,
    () => `update fee_destination set livemode = false where id = '${ofFees.destinationId}'`,
  ],
  [
    'payout_of_fees_is_not_told',
    () => `update payout set event_count = 1 where id = '${ofFees.id}'`,
    () => `update payout set event_count = 0 where id = '${ofFees.id}'`,
  ],
  [
    'payout_has_its_postings',
    () => `update payout set status = 'requested' where id = '${confirmed.id}'`,
    () => `update payout set status = 'confirmed' where id = '${confirmed.id}'`,
  ],
  [
    'payout_was_approved',
    () => `update payout_approval set approver = 'nobody' where payout_id = '${confirmed.id}'`,
    () => `update payout_approval set approver = 'key_b' where payout_id = '${confirmed.id}'`,
  ],
  [
    'payout_was_approved',
    () => `update payout set approved_by = 'signer_journal' where id = '${confirmed.id}'`,
    () => `update payout set approved_by = 'key_b' where id = '${confirmed.id}'`,
  ],
  [
    'payout_is_sent_once',
    () => `update payout_transaction set txid = repeat('e', 64) || txid where payout_id = '${confirmed.id}'`,
    () => `update payout_transaction set txid = substr(txid, 65) where payout_id = '${confirmed.id}'`,
  ],
  [
    'payout_spends_own_coins',
    () => `update payout_input set output_index = output_index + 1000 where payout_id = '${open.id}'`,
    () => `update payout_input set output_index = output_index - 1000 where payout_id = '${open.id}'`,
  ],
]

test.each(BREAKS)('%s finds what breaks it', async (name, breakIt, mendIt) => {
  await world.database.owner.query(breakIt())
  expect(await broken()).toContain(name)
  await world.database.owner.query(mendIt())
  expect(await broken()).toEqual([])
})

test('payout_posting_has_its_payout finds a posting for no payout', async () => {
  await withTransaction(world.database.owner, tenant, (tx) =>
    insertLedgerTransfers(tx, tenant, [
      {
        id: 'payout:po_nobody:sent',
        kind: 'payout_sent',
        invoiceId: null,
        paymentId: null,
        payoutId: 'po_nobody',
        asset: 'LTC',
        from: 'available',
        to: 'chain',
        amount: 1n,
        usdCents: null,
        createdAt: world.now,
      },
    ]),
  )
  expect(await broken()).toContain('payout_posting_has_its_payout')
})

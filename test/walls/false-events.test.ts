import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { eventBody } from '../../src/core/event/envelope.ts'
import { renderInvoice } from '../../src/core/invoice/render.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { renderPayout } from '../../src/core/payout/render.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { inBlock, inMempool } from '../support/invoice.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

/** Somebody with a stolen login tells a shop, in a signed webhook, of money that did not come: it ships for nothing. */

const LTC = 100_000_000n
const ROLES = ['api', 'watcher'] as const

let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let shop: Tenant
let nextSequence = 100
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  shop = await world.openShop([LTC])
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

/** Invoices that got so far, by what the watcher told of them. */
async function invoiceWith(facts: readonly ReturnType<typeof inMempool>[]): Promise<Invoice> {
  const { invoiceId } = await world.openInvoice(shop, LTC)
  for (const fact of facts)
    await recordTransfers(
      { pool: world.database.owner, clock: () => world.now },
      { tenant: shop, invoiceId, facts: [fact], tipHeight: 101 },
    )
  const stored = await withTransaction(world.database.owner, shop, (tx) => loadInvoice(tx, shop, invoiceId))
  if (stored === null) throw new Error('no invoice')
  return stored.invoice
}

async function write(
  role: (typeof ROLES)[number],
  of: { readonly type: string; readonly resourceId: string; readonly data: object },
): Promise<string> {
  const [id, now, sequence, requestId] = [
    newId('event', new Date()),
    new Date(),
    nextSequence++,
    null,
  ] as const
  const { type, resourceId, data } = of
  const body = eventBody({
    ...shop,
    id,
    type,
    resourceId,
    createdAtMs: now.getTime(),
    sequence,
    requestId,
    data,
  })
  await withTransaction(world.database.pools[role], shop, (tx) =>
    insertEvent(tx, shop, { id, type, resourceId, sequence, requestId, createdAt: now, body }),
  )
  return id
}

/** Which checks name an event. */
async function namedOf(id: string): Promise<string[]> {
  const results = await runAudit(world.database.owner, [])
  return results
    .filter(
      ({ name, findings }) =>
        name.startsWith('event_tells') && findings.some(({ subject }) => subject === id),
    )
    .map(({ name }) => name)
}

const shownOf = (invoice: Invoice) => renderInvoice(invoice, { tipHeightOf: () => 101 })

test('true events are named by no check', async () => {
  // First, so that it spends a coin that is on the chain.
  await world.payout(shop, '0.3')
  await world.sign()
  await world.tracker().pass()
  await invoiceWith([
    inMempool('a1'.repeat(32), LTC),
    inBlock('a1'.repeat(32), LTC, 1),
    inBlock('a1'.repeat(32), LTC, 2),
  ])
  const results = await runAudit(world.database.owner, [])
  const found = results.filter(({ name, findings }) => name.startsWith('event_tells') && findings.length > 0)
  expect(found).toEqual([])
  expect((await world.database.owner.query('select from event')).rowCount).toBeGreaterThan(5)
})

test.each(ROLES)(
  'an event by the login of %s that says nothing is named, and hides no other',
  async (role) => {
    const invoice = await invoiceWith([])
    const paid = { ...shownOf(invoice), status: 'paid' }
    const of = { type: 'invoice.paid', resourceId: invoice.id }
    const ids: string[] = []
    for (const data of [null, [], 'paid', {}, paid])
      ids.push(await write(role, { ...of, data: data as unknown as object }))
    for (const id of ids) expect(await namedOf(id), id).toContain('event_tells_what_was_settled')
  },
)

test.each(ROLES)(
  'the audit names each event by the login of %s that reports money that never arrived',
  async (role) => {
    const txid = (role === 'api' ? 'b1' : 'c1').repeat(32)
    const unpaid = shownOf(await invoiceWith([]))
    const seen = shownOf(await invoiceWith([inMempool(txid, LTC)]))
    const short = shownOf(
      await invoiceWith([
        inMempool(`d${txid.slice(1)}`, LTC / 2n),
        inBlock(`d${txid.slice(1)}`, LTC / 2n, 1),
        inBlock(`d${txid.slice(1)}`, LTC / 2n, 2),
      ]),
    )
    const [payment] = seen.payments
    const paid = { status: 'paid', amount_detected: '1', amount_confirmed: '1', amount_remaining: '0' }
    const told: readonly (readonly [string, object])[] = [
      ['status alone', { ...unpaid, status: 'paid' }],
      ['amounts', { ...unpaid, ...paid }],
      ['a payment of its own', { ...unpaid, ...paid, payments: [payment], payments_count: 1 }],
      ['a count of payments', { ...unpaid, ...paid, payments_count: 30 }],
      ['too early', { ...seen, ...paid, payments: [{ ...payment, status: 'confirmed' }] }],
      ['too much', { ...short, ...paid }],
      [
        'a higher payment',
        { ...short, ...paid, payments: short.payments.map((one) => ({ ...one, amount: '1' })) },
      ],
      [
        'a lower price',
        { ...short, ...paid, amount: '0.5', amount_confirmed: '0.5', amount_detected: '0.5' },
      ],
    ]
    for (const [what, data] of told) {
      const { id: resourceId } = data as { id: string }
      const id = await write(role, { type: 'invoice.paid', resourceId, data })
      expect(await namedOf(id), what).not.toEqual([])
    }
  },
)

test('the audit names each event of a payout to another address, or of another amount', async () => {
  const payout = await world.payout(shop, '0.2')
  const shown = renderPayout(payout)
  for (const changes of [
    { destination: world.newAddress() },
    { amount: '2' },
    { txid: 'ab'.repeat(32), status: 'submitted' },
    { status: 'confirmed' },
  ]) {
    const data = { ...shown, ...changes }
    const id = await write('watcher', { type: 'payout.confirmed', resourceId: payout.id, data })
    expect(await namedOf(id), JSON.stringify(changes)).toEqual(['event_tells_of_its_payout'])
  }
})

test("the audit names each event by the API's login that says that a payout failed or was rejected", async () => {
  const payout = await world.payout(shop, '0.1')
  const shown = renderPayout(payout)
  for (const changes of [
    { status: 'failed' },
    { status: 'failed', failure_code: 'fee_above_limit' },
    { status: 'rejected' },
    { status: payout.status, failure_code: 'fee_above_limit' },
    { status: payout.status },
  ]) {
    const data = { ...shown, ...changes }
    const id = await write('api', { type: 'payout.failed', resourceId: payout.id, data })
    expect(await namedOf(id), JSON.stringify(changes)).toEqual(['event_tells_of_its_payout'])
  }
})

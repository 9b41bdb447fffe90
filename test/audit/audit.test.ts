import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditInvoices } from '../../src/audit/audit-invoices.ts'
import { runAudit } from '../../src/audit/run-audit.ts'
import { keyspaceOf } from '../../src/core/assets.ts'
import { bucketOf, deriveStatus, wasSettled } from '../../src/core/invoice/status.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { invoiceEvent } from '../../src/flows/steps/commit-advance.ts'
import {
  type Tenant,
  type Tx,
  withTransaction,
  withTrialTransaction,
} from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock, inMempool } from '../support/invoice.ts'
import { seededRandom } from '../support/random.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

/**
 * The auditor is only worth something if it notices. Each case is a whole, paid invoice in which one thing is
 * broken on purpose, as the owner of the database could and no role may.
 */

const WHOLE = 100_000_000n
const TXID = 'a1'
/** Random changes to books of some invoices; more of them with LONG=1. */
const ALIKE_TURNS = process.env.LONG === '1' ? 400 : 80
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  // The faults below are ones that the database itself refuses; a fault that got in anyway is what an audit is for.
  await database.owner.query(`do $$ declare t record; begin
    for t in select tgname, tgrelid::regclass as on_table from pg_trigger where not tgisinternal loop
      execute format('alter table %s disable trigger %I', t.on_table, t.tgname);
    end loop;
  end $$`)
  await database.owner.query(`do $$ declare c record; begin
    for c in select conname, conrelid::regclass as on_table from pg_constraint
      where contype in ('f', 'c') and connamespace = 'public'::regnamespace and conparentid = 0 and conrelid <> 0
    loop execute format('alter table %s drop constraint %I', c.on_table, c.conname); end loop;
  end $$`)
})
afterAll(() => database.drop())

const failed = async (): Promise<string[]> =>
  (await runAudit(database.owner, [])).filter(({ findings }) => findings.length > 0).map(({ name }) => name)

async function wipe(): Promise<void> {
  await database.owner.query(`truncate merchant, payment_rules, api_key, invoice, account_key, address, deposit_address,
    transfer, webhook_endpoint, event, event_awaiting, delivery, attempt, ledger_transfer, ledger_entry, ledger_balance, received_by_day, payment_link, checkout_session cascade`)
}

/** A paid invoice with its address, its payment, its postings, its balances and its events. */
async function paidInvoice(): Promise<{ tenant: Tenant; id: string }> {
  const tenant = await seedMerchant(database)
  const invoice = await seedInvoice(database, tenant)
  await database.owner.query('update account_key set next_index = next_index + 1 where keyspace = $1', [
    keyspaceOf(invoice.asset, invoice.livemode),
  ])
  const clock = () => new Date()
  await withTransaction(database.owner, tenant, async (tx) => {
    const context = { now: clock(), networkFacts: { tipHeightOf: () => 100 }, requestId: null }
    await insertEvent(tx, tenant, invoiceEvent('invoice.created', invoice, 1, context))
    await tx.query('update invoice set event_count = 1 where id = $1', [invoice.id])
  })
  for (const fact of [inMempool(TXID, WHOLE), inBlock(TXID, WHOLE, 1), inBlock(TXID, WHOLE, 2)]) {
    await recordTransfers(
      { pool: database.owner, clock },
      { tenant, invoiceId: invoice.id, facts: [fact], tipHeight: 101 },
    )
  }
  // With the triggers off the balances, and what the day brought, are kept by hand.
  await database.owner.query(
    `insert into ledger_balance (merchant_id, livemode, asset, account, balance)
     select merchant_id, livemode, asset, account, sum(amount) from ledger_entry group by 1, 2, 3, 4 on conflict do nothing`,
  )
  await database.owner.query(
    `insert into received_by_day (merchant_id, livemode, day, asset, amount, usd_cents)
     select e.merchant_id, e.livemode, (e.created_at at time zone 'UTC')::date, e.asset, e.amount, t.usd_cents
     from ledger_entry e join ledger_transfer t on t.merchant_id = e.merchant_id and t.id = e.transfer_id
     where e.account = 'available' on conflict do nothing`,
  )
  return { tenant, id: invoice.id }
}

test('a whole and paid invoice is in order', async () => {
  await wipe()
  await paidInvoice()
  expect(await failed()).toEqual([])
})

test('events forgotten after their retention leave nothing to find, nor does a payment long after', async () => {
  await wipe()
  const { tenant, id } = await paidInvoice()
  const { owner } = database
  await owner.query(`update invoice set created_at = created_at - interval '100 days' where id = $1`, [id])
  await owner.query(`delete from event`)
  expect(await failed()).toEqual([])
  await recordTransfers(
    { pool: owner, clock: () => new Date() },
    { tenant, invoiceId: id, facts: [inBlock('b2', WHOLE, 1)], tipHeight: 101 },
  )
  expect((await owner.query('select from event')).rowCount).toBeGreaterThan(0)
  expect((await failed()).filter((name) => /event|told/.test(name))).toEqual([])
  // Of a young invoice none is forgotten.
  await owner.query('update invoice set created_at = now() where id = $1', [id])
  expect(await failed()).toContain('events_have_no_gap')
  await owner.query('delete from event')
  expect(await failed()).toContain('events_are_counted')
})

test.each([
  ['an amount that is no number', `update invoice set amount = 'NaN' where id = $1`],
  ['a state of its announcements that is missing', `update invoice set announced = 'null' where id = $1`],
])('%s is a finding, and keeps no other invoice from being audited', async (_what, damage) => {
  await wipe()
  const [damaged, other] = [await paidInvoice(), await paidInvoice()]
  await database.owner.query(damage, [damaged.id])
  await database.owner.query(`update invoice set status = 'expired' where id = $1`, [other.id])
  const results = await runAudit(database.owner, [])
  const found = results.find(({ name }) => name === 'invoice_follows_its_facts')?.findings ?? []
  expect(found.map(({ subject, detail }) => [subject, detail.replace(/:.*/, '')]).sort()).toEqual(
    [
      [damaged.id, 'cannot be read'],
      [other.id, 'is stored as expired and its facts give paid'],
    ].sort(),
  )
})

test('a value that a query cannot read is a finding, and every other check is made', async () => {
  await wipe()
  const { id } = await paidInvoice()
  await database.owner.query(`update transfer set parts = '[1]'`)
  await database.owner.query(`update invoice set address = 'theirs' where id = $1`, [id])
  const results = await runAudit(database.owner, [])
  const found = results.flatMap(({ name, findings }) => findings.map(({ detail }) => [name, detail]))
  expect(found).toContainEqual(['transfer_is_its_parts', expect.stringContaining('cannot be read')])
  expect(found).toContainEqual(['invoice_has_its_address', 'theirs was not given to it'])
})

const BREAKS: readonly [what: string, check: string, sql: string][] = [
  [
    'a day says that it brought a cent more',
    'received_is_the_sum',
    'update received_by_day set usd_cents = usd_cents + 1',
  ],
  ['a day that brought something is missing', 'received_is_the_sum', 'delete from received_by_day'],
  [
    'an entry is a unit too high',
    'ledger_sums_to_zero',
    `update ledger_entry set amount = amount + 1 where account = 'available'`,
  ],
  [
    'two entries stand against the same one',
    'ledger_sums_to_zero',
    `update ledger_entry set transfer_id = left(transfer_id, -1) || '1' where account = 'available';
     delete from ledger_entry where transfer_id like '%:2'`,
  ],
  [
    'the entries of a posting are gone',
    'ledger_transfer_has_entries',
    `delete from ledger_entry where transfer_id like '%:2'`,
  ],
  [
    'an entry was written later',
    'ledger_is_never_changed',
    `update ledger_entry set transaction_id = pg_current_xact_id() where account = 'chain'`,
  ],
  [
    'an entry is of the other mode',
    'ledger_is_never_changed',
    `update ledger_entry set livemode = true where account = 'chain'`,
  ],
  [
    'a balance is a unit too high',
    'balance_is_the_sum',
    `update ledger_balance set balance = balance + 1 where account = 'available'`,
  ],
  ['a balance is missing', 'balance_is_the_sum', `delete from ledger_balance where account = 'available'`],
  ['an account is below zero', 'balance_is_not_negative', `update ledger_entry set amount = -amount`],
  [
    'a ledger transfer is gone and its entries are not',
    'ledger_is_never_changed',
    `delete from ledger_transfer where id like '%:2'`,
  ],
  [
    'a posting has the wrong number',
    'transfer_has_its_postings',
    `update ledger_transfer set id = id || '0' where id like '%:2'`,
  ],
  [
    'a posting is missing',
    'transfer_has_its_postings',
    `update ledger_transfer set id = 'x' where id like '%:2'`,
  ],
  [
    'a transfer was posted once more than it says',
    'transfer_has_its_postings',
    `update transfer set ledger_postings = 1`,
  ],
  [
    'the value was posted into another bucket',
    'transfer_stands_in_its_bucket',
    `update ledger_entry set account = 'suspense' where account = 'available'`,
  ],
  [
    'the value was posted twice over',
    'transfer_stands_in_its_bucket',
    `update ledger_entry set amount = amount * 2`,
  ],
  [
    'something of a deposit was posted into an account that is none of a deposit',
    'transfer_stands_in_its_bucket',
    `update ledger_entry set account = 'reserved' where account = 'available'`,
  ],
  [
    'the operator kept nothing of what was agreed',
    'service_fee_is_as_agreed',
    `update invoice set service_fee_bps = 100`,
  ],
  [
    'the operator kept what nobody agreed to',
    'service_fee_is_as_agreed',
    `update ledger_transfer set kind = 'service_fee' where id like '%:1'`,
  ],
  [
    'fees are below zero though none was paid out',
    'fees_below_zero_were_paid_out',
    `update ledger_entry set account = 'fees' where account = 'chain'`,
  ],
  [
    'something is available while something is missing',
    'shortfall_is_repaid_first',
    `insert into ledger_balance select merchant_id, livemode, asset, 'shortfall', -1 from ledger_balance
       where account = 'available'`,
  ],
  [
    'a shortfall was booked for nothing',
    'shortfall_has_its_cause',
    `update ledger_transfer set kind = 'shortfall' where id like '%:2'`,
  ],
  [
    'the coins of a merchant are worth a unit less than the ledger says',
    'coins_are_the_balances',
    `update transfer set amount = amount - 1`,
  ],
  ['the transfer behind a posting is gone', 'posting_has_its_transfer', `delete from transfer`],
  ...['evil', '', '02'].map((end): (typeof BREAKS)[number] => [
    `a posting has "${end}" where its number belongs`,
    'posting_has_its_transfer',
    `update ledger_transfer set id = left(id, -1) || '${end}' where id like '%:2'`,
  ]),
  [
    'a transfer says it is somewhere else than its facts',
    'invoice_follows_its_facts',
    `update transfer set ledger_bucket = 'pending'`,
  ],
  [
    'an invoice is stored as paid and is not',
    'invoice_follows_its_facts',
    `update transfer set amount = amount - 1`,
  ],
  ['an invoice is paid without a time', 'invoice_follows_its_facts', `update invoice set paid_at = null`],
  [
    "an invoice shows somebody else's address",
    'invoice_has_its_address',
    `update invoice set address = 'rltc1other'`,
  ],
  [
    'an address is given out and still in the pool',
    'address_is_given_once',
    `update address set assigned_at = null`,
  ],
  [
    'an address is not the one that was derived',
    'address_is_given_once',
    `update address set program = '\\x00'`,
  ],
  ['an address was taken for nobody', 'taken_address_has_its_invoice', `delete from deposit_address`],
  ['an index will be used again', 'index_is_beyond_every_address', `update account_key set next_index = 0`],
  [
    'a transfer is of the other mode',
    'transfer_is_of_its_mode',
    `update transfer set network = 'litecoin-live'`,
  ],
  [
    'a transfer is of a coin that its network does not have',
    'transfer_is_on_its_chain',
    `update transfer set asset = 'BTC'`,
  ],
  [
    'an invoice counts as accepted, which nobody decided',
    'acceptance_was_decided',
    `update invoice set accepted_at = now(); update transfer set resolution = 'accepted'`,
  ],
  [
    'an invoice was accepted, and no payment of it',
    'acceptance_was_decided',
    `update invoice set accepted_at = now();
     insert into invoice_resolution (merchant_id, invoice_id, request_id, livemode, resolution, actor, created_at)
     select merchant_id, id, 'req_1', livemode, 'accept', 'x', now() from invoice`,
  ],
  [
    'a confirmed transfer is in no block',
    'transfer_is_where_it_says',
    `update transfer set block_hash = null, block_height = null`,
  ],
  [
    'an invoice says that it was made of a session that nobody knows',
    'session_and_invoice_agree',
    `update invoice set checkout_session_id = 'cs_1'`,
  ],
  [
    'a session names an invoice that does not name it',
    'session_and_invoice_agree',
    `insert into checkout_session (merchant_id, id, livemode, payment_link_id, order_reference, usd_cents, created_at,
       expires_at, invoice_id)
     select merchant_id, 'cs_1', livemode, 'plink_1', 'order', usd_cents, now(), now(), id from invoice`,
  ],
  ['an event is missing', 'events_have_no_gap', `delete from event where sequence = 2`],
  ['the first event is missing', 'events_have_no_gap', `delete from event where sequence = 1`],
  ['an invoice forgot an event', 'events_are_counted', `update invoice set event_count = event_count - 1`],
  [
    'paid was emitted twice',
    'milestone_is_told_once',
    `update event set event_type = 'invoice.paid' where sequence = 3`,
  ],
  ['an event tells of nobody', 'event_tells_of_an_invoice', `update event set resource_id = 'inv_other'`],
  [
    "an event's bytes were changed",
    'event_body_is_its_own',
    `update event set body = replace(convert_from(body, 'UTF8'), 'invoice.paid', 'invoice.gone')::bytea`,
  ],
  [
    "an event's bytes have another number",
    'event_body_is_its_own',
    `update event set body = replace(convert_from(body, 'UTF8'), '"sequence":3,', '"sequence":4,')::bytea`,
  ],
  ['an event was lost', 'event_is_never_lost', `delete from event_awaiting`],
  [
    'a delivery leads to nowhere',
    'delivery_is_of_its_mode',
    `insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
     select merchant_id, 'dlv_1', livemode, 'we_none', id, now(), now() from event limit 1`,
  ],
]

test.each(BREAKS)('the auditor notices that %s', async (_what, check, sql) => {
  await wipe()
  await paidInvoice()
  await database.owner.query(sql)
  expect(await failed()).toContain(check)
})

test('the events in parts of a page each, last part included, give what all of them at once give', async () => {
  await wipe()
  const paid: string[] = []
  for (let turn = 0; turn < 4; turn++) paid.push((await paidInvoice()).id)
  const checks = ['event_body_is_its_own', 'event_shows_own_address', 'event_tells_recorded_payments']
  const notes: string[] = []
  const found = async (eventPagesMax?: number) => {
    const onProgress = (_done: number, _total: number, note: string) => notes.push(note)
    const options = eventPagesMax === undefined ? {} : { eventPagesMax, onProgress }
    const results = await runAudit(database.owner, [], options)
    return results.flatMap(({ name, findings }) =>
      checks.includes(name) ? [[name, findings.map(({ subject }) => subject).sort()]] : [],
    )
  }
  expect(await found(1)).toEqual(checks.map((name) => [name, []]))
  // What is changed goes behind the others: the first stays in the first page.
  const change = `update event set body = convert_to(replace(replace(replace(convert_from(body, 'UTF8'), '"livemode"', '"Livemode"'),
      '"address":"', '"address":"x'), '${TXID}', 'b7'), 'UTF8') where resource_id in ($1, $2) and sequence = 3`
  await database.owner.query(change, [paid.at(0), paid.at(-1)])
  const inParts = await found(1)
  expect(inParts.map(([, subjects]) => subjects)).toEqual(
    checks.map(() => [expect.anything(), expect.anything()]),
  )
  expect(inParts).toEqual(await found())
  expect(notes.filter((note) => / part \d+ of /.test(note)).at(-1)).toMatch(/: part ([3-9]) of \1$/)
})

async function eachInvoice(tx: Tx): Promise<{ stored: string; invoice: Invoice }[]> {
  const { rows } = await tx.query<{ merchant_id: string; id: string; livemode: boolean; status: string }>(
    'select merchant_id, id, livemode, status from invoice',
  )
  const invoices: { stored: string; invoice: Invoice }[] = []
  for (const { merchant_id: merchantId, id, livemode, status } of rows) {
    const found = await loadInvoice(tx, { merchantId, livemode }, id)
    if (found === null) throw new Error(`${id} is gone`)
    invoices.push({ stored: status, invoice: found.invoice })
  }
  return invoices
}

/** What the core's rules say to each invoice by itself. */
async function judgeEach(tx: Tx): Promise<string[]> {
  const found: string[] = []
  for (const { stored, invoice } of await eachInvoice(tx)) {
    if (deriveStatus(invoice) !== stored) found.push(invoice.id)
    if (wasSettled(invoice) !== (invoice.paidAtMs !== null)) found.push(invoice.id)
    found.push(...invoice.payments.filter((one) => bucketOf(one) !== one.bucket).map((one) => one.id))
  }
  return found.sort()
}

/** Stores of every invoice what its facts give. */
async function storeWhatFactsGive(tx: Tx): Promise<void> {
  for (const { invoice } of await eachInvoice(tx)) {
    const paidAt = wasSettled(invoice) ? new Date() : null
    await tx.query('update invoice set status = $2, paid_at = $3 where id = $1', [
      invoice.id,
      deriveStatus(invoice),
      paidAt,
    ])
    for (const payment of invoice.payments) {
      await tx.query('update transfer set ledger_bucket = $2 where id = $1', [payment.id, bucketOf(payment)])
    }
  }
}

/** One column of one row, as a fault or somebody's hand might leave it. */
const CHANGES: readonly (readonly [table: 'invoice' | 'transfer', set: string])[] = [
  ...['paid', 'overpaid', 'expired', 'cancelled', 'awaiting_payment', 'manual_review', 'paid t', ''].map(
    (status) => ['invoice', `status = '${status}'`] as const,
  ),
  ...['paid_at', 'expired_at', 'cancelled_at', 'accepted_at'].flatMap((time) => [
    ['invoice', `${time} = null`] as const,
    ['invoice', `${time} = now()`] as const,
  ]),
  ...['paid', 'overpaid'].flatMap((told) =>
    ['true', 'false', 'null'].map(
      (value) => ['invoice', `announced = jsonb_set(announced, '{${told}}', '${value}')`] as const,
    ),
  ),
  ['invoice', `announced = announced - 'paid'`],
  ['invoice', 'reorg_dismissed = not reorg_dismissed'],
  ['invoice', 'amount = amount + 1'],
  ['invoice', 'amount = amount - 1'],
  ['invoice', 'tolerance_under = 1'],
  ['invoice', 'tolerance_over = 1'],
  ['invoice', `asset = 'BTC'`],
  ...['detected', 'confirming', 'confirmed', 'replaced', 'reorged'].map(
    (status) => ['transfer', `status = '${status}'`] as const,
  ),
  ...['none', 'pending', 'suspense', 'available'].map(
    (bucket) => ['transfer', `ledger_bucket = '${bucket}'`] as const,
  ),
  ...['null', `'late'`, `'cancelled'`, `'after_settlement'`].map(
    (reason) => ['transfer', `review_reason = ${reason}`] as const,
  ),
  ...['null', `'accepted'`, `'dismissed'`].map(
    (resolution) => ['transfer', `resolution = ${resolution}`] as const,
  ),
  ['transfer', 'dust = not dust'],
  ['transfer', `asset = 'BTC'`],
  ['transfer', 'amount = 0'],
  ['transfer', 'amount = amount + 1'],
  ['transfer', 'amount = amount - 1'],
]

type Change = (typeof CHANGES)[number]
/** What all come to, and what then tells one of them apart: states that chance seldom finds. */
const TELLING: readonly (readonly [all: readonly Change[], one: Change])[] = [
  [[['transfer', `status = 'reorged'`]], ['invoice', 'reorg_dismissed = true']],
  [[['transfer', `review_reason = 'late'`]], ['transfer', `resolution = 'accepted'`]],
  [[['invoice', 'amount = amount + 1']], ['invoice', 'tolerance_under = 1']],
  [[['invoice', 'amount = amount - 1']], ['invoice', 'tolerance_over = 1']],
]

test('judging like invoices together finds what judging each finds, whatever is changed in one of them', async () => {
  await wipe()
  const paid = [await paidInvoice(), await paidInvoice(), await paidInvoice()]
  const tenants = paid.map(({ tenant }) => tenant)
  for (const tenant of [...tenants, await seedMerchant(database, true)]) {
    await seedInvoice(database, tenant, tenant.livemode ? { asset: 'BTC' } : {})
  }
  const random = seededRandom(20261121)
  const disagreed = new Set<number>()
  const [tenant] = tenants
  if (tenant === undefined) throw new Error('no merchant')
  // A second payment of one of them, which is not judged by its kind.
  const halves = await seedInvoice(database, tenant)
  const facts = ['b1', 'b2'].map((txid) => inBlock(txid, WHOLE / 2n, 2))
  const clock = () => new Date()
  await recordTransfers(
    { pool: database.owner, clock },
    { tenant, invoiceId: halves.id, facts, tipHeight: 101 },
  )
  const compare = (about: string, change: (tx: Tx) => Promise<void>) =>
    withTrialTransaction(database.owner, tenant, async (tx) => {
      await change(tx)
      const findings = await auditInvoices(tx, 1_000)
      const each = await judgeEach(tx)
      expect(findings.map(({ subject }) => subject).sort(), about).toEqual(each)
      disagreed.add(each.length)
    })
  const changeAll = async (tx: Tx, changes: readonly Change[]) => {
    for (const [table, set] of changes) await tx.query(`update ${table} set ${set}`)
    await storeWhatFactsGive(tx)
  }
  for (const [all, [table, set]] of TELLING) {
    for (const { id } of paid) {
      await compare(set, async (tx) => {
        await changeAll(tx, all)
        const key = table === 'invoice' ? 'id' : 'invoice_id'
        await tx.query(`update ${table} set ${set} where ${key} = $1`, [id])
        expect(await judgeEach(tx), set).not.toEqual([])
      })
    }
  }
  for (let turn = 0; turn < ALIKE_TURNS; turn++) {
    await compare(`turn ${turn}`, async (tx) => {
      // All come to the same odd state, each rightly stored; then some change by themselves.
      await changeAll(
        tx,
        Array.from({ length: random.below(4) }, () => random.pick(CHANGES)),
      )
      for (let changes = 1 + random.below(4); changes > 0; changes--) {
        const [table, set] = random.pick(CHANGES)
        const { rows } = await tx.query<{ id: string }>(`select id from ${table} order by id`)
        await tx.query(`update ${table} set ${set} where id = $1`, [random.pick(rows).id])
      }
    })
  }
  expect(disagreed.size).toBeGreaterThan(2)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyAuditLog } from '../../src/audit/verify-audit-log.ts'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const makeKey = (browser: TestBrowser, name: string) =>
  browser.ask('POST', '/api/v1/api-keys', { name, scopes: ['invoices:read'] })
const verify = (merchantId: string) => verifyAuditLog(people.api.database.owner, merchantId)

test('every act of a person is listed once, as it ended; reading, and what was no act, is not', async () => {
  const { browser, merchantId } = await people.signUp('Olga')
  const key = await makeKey(browser, 'Server')
  expect(key.status).toBe(201)
  const refused = await browser.ask('POST', '/api/v1/invoices', {
    amount: '1',
    asset: 'LTC',
    usd_amount: '1',
  })
  expect(refused.status).toBe(400)
  await browser.ask('GET', '/api/v1/invoices')
  const invoice = await browser.ask('POST', '/api/v1/invoices', { usd_amount: '10', asset: 'LTC' })
  await browser.ask('POST', `/api/v1/invoices/${invoice.body.id}/cancel`)
  await browser.ask('POST', `/api/v1/invoices/${invoice.body.id}/cancel`)
  const log = await browser.ask('GET', '/api/v1/audit-log?limit=100')
  type Entry = { action: string; phase: string; code: string | null; resource_id: string | null }
  const listed = log.body.data.map(({ action, phase, code, resource_id }: Entry) => [
    action,
    phase,
    code,
    resource_id,
  ])
  // What was created is named, too, although nobody knew its id when the act was begun.
  expect(listed.reverse()).toEqual([
    ['createApiKey', 'done', null, key.body.id],
    ['createInvoice', 'done', null, invoice.body.id],
    ['cancelInvoice', 'done', null, invoice.body.id],
    ['cancelInvoice', 'refused', 'invoice_not_cancellable', invoice.body.id],
  ])
  // What was begun stays in the chain beside how it ended.
  expect(await verify(merchantId)).toEqual({ kind: 'whole', entries: 8 })
  await people.api.database.owner.query(
    `delete from audit_entry where merchant_id = $1 and phase = 'refused'`,
    [merchantId],
  )
  const unfinished = await browser.ask('GET', '/api/v1/audit-log?limit=1')
  expect(unfinished.body.data).toMatchObject([{ action: 'cancelInvoice', phase: 'begun' }])
})

test('acts at once stand in one chain without a gap', async () => {
  const { browser, merchantId } = await people.signUp('Pia')
  await Promise.all(Array.from({ length: 20 }, (_, at) => makeKey(browser, `Key ${at}`)))
  expect(await verify(merchantId)).toEqual({ kind: 'whole', entries: 40 })
})

test('a chain with an entry changed, removed, inserted or moved is reported by its first wrong number', async () => {
  const { owner } = people.api.database
  const breaks: readonly [string, number][] = [
    [`update audit_entry set actor = 'somebody else' where merchant_id = $1 and number = 3`, 3],
    [
      `update audit_entry set created_at = created_at + interval '1 second' where merchant_id = $1 and number = 5`,
      5,
    ],
    [`update audit_entry set phase = 'done', code = null where merchant_id = $1 and number = 1`, 1],
    [`delete from audit_entry where merchant_id = $1 and number = 4`, 4],
    [`update audit_entry set number = number + 1000 where merchant_id = $1 and number > 4`, 5],
    [`update audit_entry set hash = sha256(hash) where merchant_id = $1 and number = 2`, 2],
  ]
  for (const [at, [sql, wrongAt]] of breaks.entries()) {
    const { browser, merchantId } = await people.signUp(`Quin ${at}`)
    for (const name of ['a', 'b', 'c']) await makeKey(browser, name)
    expect(await verify(merchantId)).toEqual({ kind: 'whole', entries: 6 })
    await owner.query(sql, [merchantId])
    expect([sql, await verify(merchantId)]).toEqual([sql, { kind: 'broken', at: wrongAt }])
  }
})

test('the API’s own database role can neither change nor take out an entry', async () => {
  const { browser, merchantId } = await people.signUp('Rosa')
  await makeKey(browser, 'a')
  for (const sql of [
    `update audit_entry set actor = 'x'`,
    'delete from audit_entry',
    'truncate audit_entry',
  ]) {
    await expect(people.api.database.pools.api.query(sql)).rejects.toThrow(/permission denied/)
  }
  expect((await verify(merchantId)).kind).toBe('whole')
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const makeInvoice = async (browser: TestBrowser) =>
  (await browser.ask('POST', '/api/v1/invoices', { usd_amount: '10', asset: 'LTC' })).body

test('a note is written, changed and removed by the shop’s people, with who and when', async () => {
  const { browser } = await people.signUp('Nia')
  const path = `/api/v1/invoices/${(await makeInvoice(browser)).id}/note`
  const none = { object: 'invoice_note', text: null, updated_by: null, updated_at: null }
  expect((await browser.ask('GET', path)).body).toEqual(none)
  const first = await browser.ask('PATCH', path, { text: '  Called.\nWants a bill. ' })
  expect(first.body).toMatchObject({ text: 'Called.\nWants a bill.' })
  expect(first.body.updated_by).not.toBeNull()
  await browser.ask('PATCH', path, { text: 'Sent it.' })
  expect((await browser.ask('GET', path)).body.text).toBe('Sent it.')
  expect((await browser.ask('PATCH', path, { text: ' ' })).body).toEqual(none)
  expect((await browser.ask('GET', path)).body).toEqual(none)
  const long = await browser.ask('PATCH', path, { text: 'x'.repeat(2_001) })
  expect([long.status, long.body.error.param]).toEqual([400, 'text'])
})

test('nobody but the shop’s people gets a note: no buyer, event, list, key or other shop', async () => {
  const { browser, merchantId } = await people.signUp('Ola')
  const secret = 'the buyer is difficult'
  const invoice = await makeInvoice(browser)
  const path = `/api/v1/invoices/${invoice.id}/note`
  await browser.ask('PATCH', path, { text: secret })
  await browser.ask('POST', `/api/v1/invoices/${invoice.id}/cancel`)
  for (const shown of [
    `/api/v1/invoices/${invoice.id}`,
    '/api/v1/invoices',
    '/api/v1/events',
    '/api/v1/customers',
  ])
    expect((await browser.ask('GET', shown)).text, shown).not.toContain(secret)
  const { rowCount } = await people.api.database.owner.query(
    `select from event where merchant_id = $1 and position($2::bytea in body) > 0`,
    [merchantId, Buffer.from(secret)],
  )
  expect(rowCount).toBe(0)
  const { key } = await people.api.addKey(merchantId, false, ['invoices:read', 'invoices:write'])
  const byKey = await people.api.call('GET', path.replace('/api/v1', ''), { key })
  expect([byKey.status, byKey.body.error.code]).toEqual([403, 'dashboard_session_required'])
  const other = await people.signUp('Pia')
  for (const method of ['GET', 'PATCH'] as const) {
    const answer = await other.browser.ask(method, path, method === 'PATCH' ? { text: 'mine' } : undefined)
    expect(answer.status, method).toBe(404)
  }
  expect((await browser.ask('GET', path)).body.text).toBe(secret)
})

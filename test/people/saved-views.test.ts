import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestPeople, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const PATH = '/api/v1/saved-views'

test('a view is saved, replaced and removed, in both modes, and nobody else has it', async () => {
  const { browser } = await people.signUp('Quin')
  const other = await people.signUp('Rob')
  const paid = { list: 'invoices', name: 'Paid', query: { status: 'paid' } }
  expect((await browser.ask('GET', PATH)).body).toEqual({ object: 'saved_views', views: [] })
  expect((await browser.ask('PATCH', PATH, paid)).body.views).toEqual([paid])
  const inLtc = { ...paid, query: { status: 'paid', asset: 'LTC' } }
  expect((await browser.ask('PATCH', PATH, inLtc)).body.views).toEqual([inLtc])
  const failed = { list: 'request_logs', name: 'Paid', query: { outcome: 'failed' } }
  await browser.ask('PATCH', PATH, failed)
  const live = await browser.ask('GET', PATH, undefined, { 'paylink-mode': 'live' })
  expect(live.body.views).toEqual([inLtc, failed])
  expect((await other.browser.ask('GET', PATH)).body.views).toEqual([])
  expect((await other.browser.ask('PATCH', PATH, { ...paid, query: null })).body.views).toEqual([])
  expect((await browser.ask('PATCH', PATH, { ...paid, query: null })).body.views).toEqual([failed])
})

test('a person keeps fifty views at most, and what is none is refused by name', async () => {
  const { browser } = await people.signUp('Sue')
  const save = (name: string, query: object | null = { q: name }, list = 'events') =>
    browser.ask('PATCH', PATH, { list, name, query })
  for (let index = 0; index < 50; index++) expect((await save(`View ${index}`)).status).toBe(200)
  const over = await save('One more')
  expect([over.status, over.body.error.param]).toEqual([400, 'name'])
  expect((await browser.ask('GET', PATH)).body.views).toHaveLength(50)
  expect((await save('View 7', { q: 'other' })).status).toBe(200)
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`f${'x'.repeat(index)}`, 'x']))
  for (const [name, query, list] of [
    ['', { q: 'x' }, 'events'],
    ['x', { 'Q=': 'x' }, 'events'],
    ['x', many, 'events'],
    ['x', { q: 'x'.repeat(256) }, 'events'],
    ['x', { q: 'x' }, 'everything'],
  ] as const)
    expect((await save(name, query, list)).status, JSON.stringify(query)).toBe(400)
})

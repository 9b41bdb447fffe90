import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { paymentLinkList, paymentLinkView } from '../../src/wire/payment-link.ts'
import { BASE_URL, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  api.time.advance(1_000)
})
afterAll(() => api.drop())

type Fields = { [field: string]: unknown }
const post = (path: string, body: unknown, headers: { [name: string]: string } = {}) =>
  api.call('POST', path, { key: merchant.testKey, body, headers })
const make = (fields: Fields = {}) =>
  post('/payment-links', { name: 'Coffee', usd_amount: '24.9', asset: 'LTC', ...fields })
async function made(fields: Fields = {}) {
  const answer = await make(fields)
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.body
}
const patch = (id: string, body: unknown) =>
  api.call('PATCH', `/payment-links/${id}`, { key: merchant.testKey, body })
const codeOf = async (answer: ReturnType<typeof make>) => {
  const { status, body } = await answer
  return `${status} ${body.error?.code} ${body.error?.param}`
}
const rules = (document: Fields) =>
  api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [merchant.id, document],
  )

test('a link reads as it was answered, with every field', async () => {
  const link = await made({ allow_dynamic_amount: true, duration_minutes: 180 })
  expect(link).toMatchObject({
    object: 'payment_link',
    livemode: false,
    name: 'Coffee',
    usd_amount: '24.90',
    asset: 'LTC',
    allow_dynamic_amount: true,
    duration_minutes: 180,
    active: true,
  })
  expect(link.slug).toMatch(/^pl_[0-9A-Za-z]{10}$/)
  expect(link.url).toBe(`${BASE_URL}/l/${link.slug}`)
  const read = await api.call('GET', `/payment-links/${link.id}`, { key: merchant.testKey })
  expect(read.body).toEqual(link)
  expect(Object.keys(paymentLinkView.parse(link)).sort()).toEqual(Object.keys(link).sort())
})

const TIP = { currency: 'EUR', minimum: '2', maximum: '500', suggested: ['5', '10.5'] }
const OPEN = { usd_amount: undefined, allow_dynamic_amount: true }

test('a link says what buyers may pay, with all decimals, and changes or loses it', async () => {
  const link = await made({ ...OPEN, buyer_amount: TIP })
  const whole = { currency: 'EUR', minimum: '2.00', maximum: '500.00', suggested: ['5.00', '10.50'] }
  expect(link.buyer_amount).toEqual(whole)
  const read = await api.call('GET', `/payment-links/${link.id}`, { key: merchant.testKey })
  expect(read.body).toEqual(link)
  expect((await patch(link.id, { name: 'Tips' })).body.buyer_amount).toEqual(whole)
  expect((await patch(link.id, { buyer_amount: { suggested: ['3'] } })).body.buyer_amount).toEqual({
    currency: 'USD',
    minimum: null,
    maximum: null,
    suggested: ['3.00'],
  })
  expect((await patch(link.id, { buyer_amount: null })).body.buyer_amount).toBeNull()
  expect((await made()).buyer_amount).toBeNull()
})

test.each([
  [{ buyer_amount: TIP, allow_dynamic_amount: false, usd_amount: '5.00' }, 'buyer_amount'],
  [{ buyer_amount: TIP, usd_amount: '5.00' }, 'buyer_amount.currency'],
  [{ buyer_amount: { ...TIP, currency: 'XXX' } }, 'buyer_amount.currency'],
  [{ buyer_amount: { ...TIP, minimum: '-1' } }, 'buyer_amount.minimum'],
  [{ buyer_amount: { ...TIP, minimum: '1.234' } }, 'buyer_amount.minimum'],
  [{ buyer_amount: { ...TIP, currency: 'JPY' } }, 'buyer_amount.suggested[1]'],
  [{ buyer_amount: { ...TIP, maximum: '1' } }, 'buyer_amount.maximum'],
  [{ buyer_amount: { ...TIP, maximum: 5 } }, 'buyer_amount.maximum'],
  [{ buyer_amount: { ...TIP, suggested: ['501'] } }, 'buyer_amount.suggested'],
  [{ buyer_amount: { ...TIP, suggested: ['3', '4', '5', '6', '7', '8', '9'] } }, 'buyer_amount.suggested'],
  [{ buyer_amount: { ...TIP, suggested: '5' } }, 'buyer_amount.suggested'],
  [{ buyer_amount: { ...TIP, step: '1' } }, 'buyer_amount.step'],
  [{ buyer_amount: [] }, 'buyer_amount'],
])('a choice for buyers that cannot be is refused at its field: %j', async (fields, param) => {
  const answer = await make({ ...OPEN, ...fields })
  expect([answer.status, answer.body.error?.param]).toEqual([400, param])
})

test('a change that would leave limits and amount apart is refused, and nothing changes', async () => {
  const link = await made({ ...OPEN, buyer_amount: TIP })
  expect(await codeOf(patch(link.id, { usd_amount: '5.00' }))).toBe(
    '400 parameter_invalid buyer_amount.currency',
  )
  expect(await codeOf(patch(link.id, { price: { amount: '1', currency: 'EUR' } }))).toBe(
    '400 parameter_invalid buyer_amount',
  )
  const read = await api.call('GET', `/payment-links/${link.id}`, { key: merchant.testKey })
  expect(read.body).toEqual(link)
})

test('what is left out is the default of the moment when a buyer pays', async () => {
  expect(await made({ asset: undefined })).toMatchObject({
    asset: null,
    duration_minutes: null,
    allow_dynamic_amount: false,
  })
  expect((await made({ usd_amount: undefined, allow_dynamic_amount: true })).usd_amount).toBeNull()
})

test('a link needs an amount of its own or dynamic amounts', async () => {
  expect(await codeOf(make({ usd_amount: undefined }))).toBe('400 parameter_missing usd_amount')
  expect(await codeOf(make({ usd_amount: undefined, allow_dynamic_amount: false }))).toBe(
    '400 parameter_missing usd_amount',
  )
})

test('the amount keeps to the limits of dollars and to the minimum of the coin', async () => {
  expect(await codeOf(make({ usd_amount: '0.49' }))).toBe('400 amount_too_small usd_amount')
  expect((await make({ usd_amount: '0.50' })).status).toBe(201)
  expect((await make({ usd_amount: '100000' })).status).toBe(201)
  expect(await codeOf(make({ usd_amount: '100000.01' }))).toBe('400 amount_too_large usd_amount')
  await rules({ minimums: { LTC: '100000000' } })
  api.time.advance(1_000)
  // One Litecoin is 84.37 dollars.
  expect(await codeOf(make({ usd_amount: '84.36' }))).toBe('400 amount_too_small usd_amount')
  expect((await make({ usd_amount: '84.37' })).status).toBe(201)
  expect((await make({ usd_amount: '84.36', asset: 'BTC' })).status).toBe(201)
})

test('a coin that is not accepted is refused; without a price nobody can say whether the minimum is met', async () => {
  await rules({ accepted_assets: ['LTC', 'BTC'] })
  api.time.advance(1_000)
  expect(await codeOf(make({ asset: 'SOL' }))).toBe('400 asset_not_accepted asset')
  api.unpriced.add('LTC')
  expect(await codeOf(make())).toBe('503 rate_unavailable asset')
  expect((await make({ usd_amount: undefined, allow_dynamic_amount: true })).status).toBe(201)
  api.unpriced.delete('LTC')
})

test('PATCH changes what it names and nothing else', async () => {
  const link = await made({ allow_dynamic_amount: true, duration_minutes: 30 })
  expect((await patch(link.id, {})).body).toEqual(link)
  const changes = { active: false, name: 'Tea', duration_minutes: null, usd_amount: '5.5' }
  const changed = await patch(link.id, changes)
  expect(changed.body).toEqual({ ...link, ...changes, usd_amount: '5.50' })
  expect((await patch(link.id, { usd_amount: null })).body.usd_amount).toBeNull()
  expect((await patch(link.id, { active: true })).body).toMatchObject({ active: true, name: 'Tea' })
  for (const field of ['asset', 'allow_dynamic_amount', 'slug', 'livemode'])
    expect(await codeOf(patch(link.id, { [field]: 'LTC' }))).toBe(`400 parameter_unknown ${field}`)
})

test('PATCH keeps the rules of creation', async () => {
  const link = await made()
  expect(await codeOf(patch(link.id, { usd_amount: '0.49' }))).toBe('400 amount_too_small usd_amount')
  expect(await codeOf(patch(link.id, { usd_amount: null }))).toBe('400 parameter_invalid usd_amount')
  expect(await codeOf(patch(link.id, { duration_minutes: 45 }))).toBe(
    '400 parameter_invalid duration_minutes',
  )
  expect(await codeOf(patch(link.id, { name: '' }))).toBe('400 parameter_invalid name')
  expect(await codeOf(patch(link.id, { active: null }))).toBe('400 parameter_invalid active')
})

test('links list newest first, page by page, and only those of the mode', async () => {
  const ids: string[] = []
  for (let index = 0; index < 5; index++) {
    api.time.advance(1)
    ids.unshift((await made({ name: `Link ${index}` })).id)
  }
  const list = async (search: string, key = merchant.testKey) => {
    const { body } = await api.call('GET', `/payment-links${search}`, { key })
    const page = paymentLinkList.parse(body)
    return { ids: page.data.map((link) => link.id), more: page.has_more }
  }
  expect(await list('')).toEqual({ ids, more: false })
  expect(await list('?limit=2')).toEqual({ ids: ids.slice(0, 2), more: true })
  expect(await list(`?limit=2&starting_after=${ids[1]}`)).toEqual({ ids: ids.slice(2, 4), more: true })
  expect(await list(`?limit=2&ending_before=${ids[3]}`)).toEqual({ ids: ids.slice(1, 3), more: true })
  expect(await list('', merchant.liveKey)).toEqual({ ids: [], more: false })
})

test('a link is found by part of its name or id, however many newer ones there are', async () => {
  const { id } = await made({ name: 'Old 100% Ärmel_kleid' })
  await api.database.owner.query(
    `insert into payment_link (merchant_id, id, livemode, slug, name, allow_dynamic_amount, active, created_at)
     select $1, 'plink_7zz' || lpad(n::text, 23, '0'), false, 'pl_' || lpad(n::text, 10, '0'), 'Newer', true, true, now()
     from generate_series(1, 150) n`,
    [merchant.id],
  )
  const search = async (q: string, more = '', key = merchant.testKey) => {
    const { body } = await api.call('GET', `/payment-links?q=${encodeURIComponent(q)}${more}`, { key })
    return paymentLinkList.parse(body).data.map((link) => link.id)
  }
  for (const q of ['ÄRMEL', '100%', '_kleid', id, id.slice(-8)]) expect(await search(q), q).toEqual([id])
  // What stands for anything in SQL stands here for itself.
  for (const q of ['Old%', 'O_d', "'; --"]) expect(await search(q), q).toEqual([])
  const newest = await search('newer', '&limit=100')
  expect(newest).toHaveLength(100)
  expect(await search('newer', `&limit=100&starting_after=${newest.at(-1)}`)).toHaveLength(50)
  expect(await search('ÄRMEL', '', merchant.liveKey)).toEqual([])
})

test('two hundred creates with one Idempotency-Key make one link', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, () =>
      post('/payment-links', { name: 'Once', usd_amount: '10', asset: 'LTC' }, { 'idempotency-key': 'one' }),
    ),
  )
  const ids = new Set(answers.flatMap(({ status, body }) => (status === 201 ? [body.id] : [])))
  expect(ids.size).toBe(1)
  for (const { status, body } of answers)
    expect(status === 201 || body.error.code === 'idempotency_key_in_use').toBe(true)
  const { rows } = await api.database.owner.query('select from payment_link where merchant_id = $1', [
    merchant.id,
  ])
  expect(rows).toHaveLength(1)
})

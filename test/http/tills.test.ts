import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api/routes.ts'
import { randomBase62 } from '../../src/secrets/random-base62.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { startBuyersSite } from '../support/buyers-site.ts'

/** What a till's staff code opens, and what it does not: the real API, database and pages. */

let api: TestApi
let site: Awaited<ReturnType<typeof startBuyersSite>>
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  site = await startBuyersSite(api, { formsPerSecond: 10_000 })
})
afterAll(async () => {
  await site?.stop()
  await api?.drop()
})

type Till = { id: string; slug: string; code: string }
const TILL = { currency: 'EUR', items: [{ name: 'Tea', amount: '2.5' }], tips: [10] }

async function makeLink(change: object, key = merchant.testKey): Promise<{ id: string; slug: string }> {
  const body = { name: 'Counter', asset: 'LTC', allow_dynamic_amount: true, ...change }
  const made = await api.call('POST', '/payment-links', { key, body })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}
async function newCode(id: string, key = merchant.testKey): Promise<string> {
  return (await api.call('POST', `/payment-links/${id}/renew-staff-code`, { key })).body.staff_code
}
async function makeTill(key = merchant.testKey): Promise<Till> {
  const { id, slug } = await makeLink({ till: TILL }, key)
  return { id, slug, code: await newCode(id, key) }
}

let callers = 0
const newCaller = () => `198.51.${callers >> 8}.${callers++ & 255}`
function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const forwarded = { 'x-forwarded-for': newCaller(), ...headers }
  return fetch(site.url + path, {
    method: 'POST',
    body: new URLSearchParams(form),
    redirect: 'manual',
    headers: forwarded,
  })
}
const signIn = ({ slug, code }: Till, caller = newCaller()) =>
  post(`/till/${slug}`, { code }, { 'x-forwarded-for': caller })
async function cookieOf(till: Till): Promise<string> {
  const answer = await signIn(till)
  expect(answer.status).toBe(303)
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
}
const sell = (slug: string, cookie: string, change: Record<string, string> = {}) =>
  post(
    `/till/${slug}/sale`,
    { visit: randomBase62(22), items: '0x2', amount: '', tip: '10', total: '5.50', ...change },
    { cookie },
  )
const read = (path: string, cookie: string) =>
  fetch(site.url + path, { headers: { cookie }, redirect: 'manual' })
async function invoices(): Promise<number> {
  const { rows } = await api.database.owner.query('select count(*)::int as count from invoice')
  return rows[0].count
}

test('the staff code opens its own till, until another code, the next day, or the link’s end', async () => {
  const till = await makeTill()
  const signedIn = await signIn(till)
  const [pair = '', ...attributes] = (signedIn.headers.get('set-cookie') ?? '').split('; ')
  expect(pair).toMatch(/^__Secure-paylink_till=/)
  expect(attributes.sort()).toEqual(
    ['HttpOnly', 'Max-Age=57600', `Path=/till/${till.slug}`, 'SameSite=Strict', 'Secure'].sort(),
  )
  const page = await read(`/till/${till.slug}`, pair)
  const policy = page.headers.get('content-security-policy')
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^;]+; style-src 'sha256-[^;]+; img-src/)
  expect(policy).toContain(`frame-ancestors 'none'`)
  expect(await page.text()).toContain('data-item="0"')
  // Neither the code nor its bare digest is stored, and no log has it.
  const { rows } = await api.database.owner.query('select to_jsonb(l)::text as row from payment_link l')
  for (const { row } of rows) expect(row).not.toContain(till.code)
  expect(api.logged.join('')).not.toContain(till.code)

  const altered = `${pair.slice(0, -2)}${pair.endsWith('A') ? 'B' : 'A'}`
  for (const cookie of ['', altered, pair.replace(/=\d+/, '=1'), pair.replace(/=\d+/, '=99999999999999')])
    expect((await sell(till.slug, cookie)).status, cookie).toBe(401)
  expect((await sell(till.slug, pair, {})).status).toBe(200)

  await newCode(till.id)
  expect((await sell(till.slug, pair)).status).toBe(401)
  expect((await signIn(till)).status).toBe(403)
  const renewed = { ...till, code: await newCode(till.id) }
  const cookie = await cookieOf(renewed)
  api.time.advance(16 * 60 * 60_000 - 1)
  expect((await read(`/till/${till.slug}/today`, cookie)).status).toBe(200)
  api.time.advance(1)
  expect((await read(`/till/${till.slug}/today`, cookie)).status).toBe(303)

  const fresh = await cookieOf(renewed)
  await api.call('PATCH', `/payment-links/${till.id}`, { key: merchant.testKey, body: { active: false } })
  expect((await read(`/till/${till.slug}`, fresh)).status).toBe(404)
  expect((await sell(till.slug, fresh)).status).toBe(404)
})

test('a till’s session can sell at that till and do nothing else', async () => {
  const [till, other, foreign] = [
    await makeTill(),
    await makeTill(),
    await makeTill((await api.addMerchant()).testKey),
  ]
  const cookie = await cookieOf(till)
  for (const { method, path } of ROUTES) {
    const options = { headers: { cookie }, ...(method === 'get' ? {} : { body: {} }) }
    const answer = await api.call(method.toUpperCase(), path.replace(':id', till.id), options)
    expect([path, answer.status]).toEqual([path, 401])
  }
  const before = await invoices()
  for (const { slug } of [other, foreign]) {
    expect((await sell(slug, cookie)).status).toBe(401)
    expect((await read(`/till/${slug}/today`, cookie)).status).toBe(303)
  }
  // A page that buyers open is no till, and a till no page that buyers open.
  const link = await makeLink({})
  expect((await sell(link.slug, cookie)).status).toBe(404)
  expect((await signIn({ ...link, code: till.code })).status).toBe(404)
  expect((await read(`/l/${till.slug}?usd=5`, cookie)).status).toBe(404)
  const visit = randomBase62(22)
  expect((await post(`/l/${till.slug}`, { visit, asset: 'LTC', usd: '5' })).status).toBe(404)
  expect((await sell(till.slug, cookie, {}).then(({ status }) => status)).toString()).toBe('200')
  expect(await invoices()).toBe(before + 1)
  // A tip beside a typed amount alone does not look like all that was sold.
  expect((await sell(till.slug, cookie, { items: '', amount: '5.00' })).status).toBe(200)
  const { data } = (await api.call('GET', '/invoices', { key: merchant.testKey })).body
  expect(data.map((one: { description: string }) => one.description)).toContain('5.00, + 10 % (0.50)')
  // From another site nothing is sold, whatever its cookies.
  const crossSite = { cookie, 'sec-fetch-site': 'cross-site' }
  const sale = { visit, items: '0x2', total: '5.00' }
  expect((await post(`/till/${till.slug}/sale`, sale, crossSite)).status).toBe(400)

  const { path } = await (await sell(till.slug, cookie)).json()
  const token = path.split('/').at(-1)
  expect((await read(`/till/${till.slug}/sale/${token}`, '')).status).toBe(200)
  for (const { slug } of [other, foreign, link])
    for (const end of ['', '/state', '/events', '/receipt'])
      expect((await read(`/till/${slug}/sale/${token}${end}`, '')).status).toBe(404)
  expect(await (await read(`/till/${other.slug}/today`, await cookieOf(other))).text()).not.toContain(token)
  expect(await (await read(`/till/${till.slug}/today`, cookie)).text()).toContain(token)
})

test('a sale sent again or at once is one invoice, at the till’s own prices, and so many at most', async () => {
  const till = await makeTill()
  const cookie = await cookieOf(till)
  const before = await invoices()
  const visit = randomBase62(22)
  const answers = await Promise.all(Array.from({ length: 5 }, () => sell(till.slug, cookie, { visit })))
  const paths = await Promise.all(answers.map(async (answer) => (await answer.json()).path))
  expect(new Set(paths).size).toBe(1)
  expect(await invoices()).toBe(before + 1)

  const refused = [
    [{ total: '5.49' }, 409],
    [{ items: '1x1' }, 409],
    [{ tip: '11' }, 409],
    [{ items: '0x0' }, 422],
    [{ items: '0x1,' }, 422],
    [{ items: '', tip: '', total: '0.00' }, 422],
    [{ items: '', tip: '', amount: '0.01', total: '0.01' }, 422],
    [{ items: '', tip: '', amount: '999999.99', total: '999999.99' }, 422],
    [{ items: '', tip: '', amount: '1000000.00', total: '1000000.00' }, 422],
    [{ items: '', tip: '', amount: '-5', total: '-5' }, 422],
    [{ visit: 'x' }, 422],
    [{ unknown: '1' }, 400],
  ] as const
  for (const [change, status] of refused)
    expect([change, (await sell(till.slug, cookie, change)).status]).toEqual([change, status])
  await api.call('PATCH', `/payment-links/${till.id}`, {
    key: merchant.testKey,
    body: { till: { ...TILL, items: [{ name: 'Tea', amount: '2.60' }] } },
  })
  expect((await sell(till.slug, cookie)).status).toBe(409)
  expect((await sell(till.slug, cookie, { total: '5.72' })).status).toBe(200)
  expect(await invoices()).toBe(before + 2)

  const flood = await Promise.all(Array.from({ length: 120 }, () => sell(till.slug, cookie, { visit })))
  expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([200, 429]))
})

test('a staff code is guessed at ten times an hour from one address, and a hundred times in all', async () => {
  const till = await makeTill()
  const wrong = { ...till, code: '00000000' === till.code ? '00000001' : '00000000' }
  const caller = newCaller()
  for (let tries = 0; tries < 10; tries++) expect((await signIn(wrong, caller)).status).toBe(403)
  expect((await signIn(till, caller)).status).toBe(429)
  for (const code of ['', '1', `${till.code}0`, 'a'.repeat(500), `${till.code.slice(1)}x`])
    expect((await signIn({ ...till, code })).status, code).toBe(403)
  expect((await post(`/till/${till.slug}`, { code: 'a'.repeat(5_000) })).status).toBe(400)
  const cookie = await cookieOf(till)
  const guesses = await Promise.all(Array.from({ length: 84 }, () => signIn(wrong)))
  expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([403]))
  expect((await signIn(till)).status).toBe(429)
  // Who is signed in sells on.
  expect((await sell(till.slug, cookie)).status).toBe(200)
})

test('only a link that takes amounts, and has none of its own, is made a till', async () => {
  const call = (method: string, path: string, body: object) =>
    api.call(method, path, { key: merchant.testKey, body })
  const link = { name: 'Counter', asset: 'LTC' }
  const refused = [
    { ...link, usd_amount: '5', till: TILL },
    { ...link, allow_dynamic_amount: true, usd_amount: '5', till: TILL },
    { ...link, allow_dynamic_amount: true, buyer_amount: { minimum: '1' }, till: TILL },
    { ...link, allow_dynamic_amount: true, till: { ...TILL, items: [{ name: 'Tea', amount: '0.00' }] } },
    { ...link, allow_dynamic_amount: true, till: { ...TILL, items: [{ name: 'a\nb', amount: '1' }] } },
    { ...link, allow_dynamic_amount: true, till: { ...TILL, tips: [5, 5] } },
    {
      ...link,
      allow_dynamic_amount: true,
      till: { currency: 'JPY', items: [{ name: 'Tea', amount: '1.5' }] },
    },
    { ...link, allow_dynamic_amount: true, till: { ...TILL, items: Array(61).fill(TILL.items[0]) } },
  ]
  for (const body of refused) expect((await call('POST', '/payment-links', body)).status).toBe(400)
  const { id } = await makeLink({ usd_amount: '5' })
  expect((await call('PATCH', `/payment-links/${id}`, { till: TILL })).status).toBe(400)
  expect((await call('POST', `/payment-links/${id}/renew-staff-code`, {})).status).toBe(404)
  const till = await makeLink({
    till: { ...TILL, items: Array(60).fill({ name: '夜'.repeat(40), amount: '999999.99' }) },
  })
  expect((await call('PATCH', `/payment-links/${till.id}`, { usd_amount: '5' })).status).toBe(400)
})

test('a till shows pictures of its own shop and mode alone, and those that no till shows make room', async () => {
  const picture = async (level: number, key = merchant.testKey) => {
    const background = { r: level, g: 0, b: 0 }
    const dots = sharp({ create: { width: 20, height: 10, channels: 3, background } })
    const body = { picture: (await dots.png().toBuffer()).toString('base64') }
    return api.call('POST', '/till-pictures', { key, body })
  }
  const show = (digest: string, key = merchant.testKey) =>
    api.call('POST', '/payment-links', {
      key,
      body: {
        name: 'Counter',
        asset: 'LTC',
        allow_dynamic_amount: true,
        till: { ...TILL, items: [{ name: 'Tea', amount: '2.5', picture: digest }] },
      },
    })
  const other = await api.addMerchant()
  const foreign = (await picture(250, other.testKey)).body.digest
  const { digest } = (await picture(100)).body
  expect((await picture(100)).body.digest).toBe(digest)
  const link = await show(digest)
  expect(link.body.till.items).toEqual([{ name: 'Tea', amount: '2.50', picture: digest }])
  const till = { ...TILL, items: [{ name: 'Tea', amount: '2.5', picture: foreign }] }
  for (const refused of [
    await show(foreign),
    await show(digest, merchant.liveKey),
    await api.call('PATCH', `/payment-links/${link.body.id}`, { key: merchant.testKey, body: { till } }),
  ]) {
    expect(refused.status).toBe(400)
    expect(refused.body.error).toMatchObject({ code: 'parameter_invalid', param: 'till' })
    expect(refused.body.error.message).toContain('a picture that you have not uploaded')
  }
  const served = (merchantId: string, name: string) => fetch(`${site.url}/logo/${merchantId}/${name}.webp`)
  expect(await sharp(await (await served(merchant.id, digest)).arrayBuffer()).metadata()).toMatchObject({
    format: 'webp',
    width: 10,
    height: 10,
  })
  expect((await served(merchant.id, foreign)).status).toBe(404)
  for (const file of ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', '\x89PNG\r\n\x1a\nxx']) {
    const body = { picture: Buffer.from(file, 'latin1').toString('base64') }
    const refused = await api.call('POST', '/till-pictures', { key: merchant.testKey, body })
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      'Must be a PNG, JPEG or WebP picture.',
    ])
  }

  const fill = (digestOf: string) =>
    api.database.owner.query(
      `insert into till_picture select merchant_id, livemode, ${digestOf}, picture, created_at
       from till_picture, generate_series(1, 99) n where merchant_id = $1 and digest = $2`,
      [merchant.id, digest],
    )
  const count = async () => {
    const counting = 'select from till_picture where merchant_id = $1'
    return (await api.database.owner.query(counting, [merchant.id])).rowCount
  }
  await fill('md5(n::text)')
  expect((await picture(150)).status).toBe(200)
  expect(await count()).toBe(2)
  expect((await served(merchant.id, digest)).status).toBe(200)
  await api.database.owner.query(`delete from till_picture where merchant_id = $1 and digest <> $2`, [
    merchant.id,
    digest,
  ])
  await fill('md5(n::text)')
  await api.database.owner.query(
    `update payment_link set till = json_build_object('currency', 'EUR', 'tips', '[]'::json, 'items',
       (select json_agg(json_build_object('name', 'Tea', 'amount', '2.50', 'picture', p.digest)) from till_picture p
        where p.merchant_id = $1)) where id = $2`,
    [merchant.id, link.body.id],
  )
  const full = await picture(200)
  expect([full.status, full.body.error.param, await count()]).toEqual([400, 'picture', 100])
  expect((await picture(100)).body.digest).toBe(digest)
})

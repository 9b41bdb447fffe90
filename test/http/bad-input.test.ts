import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sessionCookieOf } from '../../src/core/people/session-cookie.ts'
import { API_PREFIX, type Route } from '../../src/http/api/route.ts'
import { ROUTES } from '../../src/http/api/routes.ts'
import { openApiDocument } from '../../src/http/docs/openapi.ts'
import { BASE_URL, createTestApi, type TestAnswer, type TestApi, type TestMerchant } from '../support/api.ts'
import {
  type ResourceKind,
  type Resources,
  randomLitecoinAddress,
  seedResources,
} from '../support/resources.ts'
import { PICTURE } from '../support/route-matrix.ts'

type Schema = { readonly [keyword: string]: unknown }

/** A body that each route accepts, for mistakes to be made in; a route with a body and none here fails. */
const GOOD_BODIES: { readonly [operationId: string]: (own: Resources) => { [field: string]: unknown } } = {
  createInvoice: () => ({
    usd_amount: '10',
    asset: 'LTC',
    allow_asset_selection: false,
    customer_email: 'a@example.com',
    external_reference: 'x',
    description: 'x',
    metadata: {},
    return_url: 'https://shop.example/thanks',
  }),
  createDepositAddress: () => ({ customer_reference: 'customer-4711' }),
  createPaymentLink: () => ({
    name: 'Coffee',
    usd_amount: '10',
    asset: 'LTC',
    allow_dynamic_amount: true,
    duration_minutes: 30,
  }),
  uploadTillPicture: () => ({ picture: PICTURE }),
  updatePaymentLink: () => ({ active: true, name: 'Tea', duration_minutes: 60, usd_amount: '10' }),
  createCheckoutSession: () => ({
    order_reference: 'order 1',
    usd_amount: '10',
    expires_in_minutes: 30,
    return_url: 'https://shop.example/thanks',
  }),
  resolveInvoice: () => ({ resolution: 'accept', note: 'x' }),
  updateSavedViews: () => ({ list: 'invoices', name: 'Paid', query: { status: 'paid' } }),
  updateInvoiceNote: () => ({ text: 'x' }),
  payTestDeposit: () => ({ asset: 'LTC', amount: '0.5' }),
  payTestInvoice: () => ({ scenario: 'exact' }),
  createWebhookEndpoint: () => ({
    url: 'https://shop.example/hook',
    subscribed_events: ['*'],
    format: 'paylink',
    secret: 'ab'.repeat(16),
  }),
  requestWebhookEndpoint: () => ({
    url: 'https://shop.example/hook',
    subscribed_events: ['*'],
    format: 'paylink',
    secret: 'ab'.repeat(16),
  }),
  updateWebhookEndpoint: () => ({ url: 'https://shop.example/hook', subscribed_events: ['*'] }),
  createPayoutDestination: () => ({
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name: 'Treasury',
  }),
  createPayout: (own) => ({ destination_id: own.payoutDestination, amount: '0.01', asset: 'LTC' }),
  rotateWebhookSecret: () => ({ grace_seconds: 0, secret: 'ab'.repeat(16) }),
  queueEvent: (own) => ({ endpoint_id: own.webhookEndpoint }),
  recoverEvents: (own) => ({ endpoint_id: own.webhookEndpoint, since: '2026-01-01T00:00:00Z' }),
  approvePayout: () => ({
    passkey: {
      credential_id: 'AQID',
      authenticator_data: 'AQID',
      client_data_json: 'AQID',
      signature: 'AQID',
    },
    code: '123456',
  }),
  updateMerchant: () => ({
    brand_name: 'Coffee',
    brand_colour: '#1a73e8',
    logo: ONE_PIXEL,
    legal_name: 'Coffee Ltd.',
    postal_address: '1 High Street\nNorwich',
    tax_number: 'GB 123',
    home_currency: 'EUR',
  }),
  updateNotices: () => ({ paid: false, attention: true, endpoint_disabled: true, sign_in: true }),
  createApiKey: () => ({ name: 'Server', scopes: ['invoices:read'] }),
  updatePaymentRules: () => ({
    accepted_assets: ['BTC', 'LTC'],
    default_asset: 'LTC',
    window_minutes: 30,
    tolerance_under: { percent: '0.5', cap_usd: '1.00' },
    tolerance_over: { percent: '0', cap_usd: '0' },
    minimums: { LTC: '0.1' },
    confirmations: { LTC: [1, 2, 3] },
    reopen_expired: true,
    receipt_emails: true,
    buyer_link_emails: true,
    buyer_reminder_emails: true,
    buyer_receipt_emails: true,
    buyer_email_language: 'de',
    solana_funded_addresses: true,
    payout_daily_limits: { LTC: '5' },
  }),
}
/** A PNG of one dot, too small for a logo. */
const ONE_PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
/** Fields that a route knows besides those of its good body. */
const OTHER_FIELDS: { readonly [operationId: string]: readonly string[] } = { createInvoice: ['amount'] }

const HOSTILE_TEXTS = [
  "'; drop table invoice; --",
  "' or '1'='1",
  '$1',
  '%s%n',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '\r\nset-cookie: a=b',
  '\u001b[31m',
  '\u202egnp.exe',
  '=cmd|calc',
  '#{7*7}',
  '١٠',
  '１０',
  'NaN',
  'Infinity',
  '-1',
  '1e9',
  '0x10',
  ' 10',
  'true',
  'null',
  '[object Object]',
]
const BROKEN_TEXTS = ['a\u0000b', '\u0000', '\ud800', 'x\udfff']

/** Values that no field of a JSON Schema type takes. */
const WRONG_FOR: { readonly [type: string]: readonly unknown[] } = {
  string: [null, true, false, 0, 1, -1, 1.5, [], ['10'], {}, { a: 1 }, { toString: 'x' }],
  boolean: [null, 0, 1, '', 'true', 'false', [], [true], {}],
  integer: [null, true, '', '1', 1.5, -1, 1e15, [], [1], {}],
  object: [null, true, 0, '', '{}', [], [{}]],
  array: [null, true, 0, '', 'x', {}, { 0: 'x', length: 1 }, [null], [1], [['*']], [{}], ['']],
}

let api: TestApi
let merchant: TestMerchant
let own: Resources
const document = openApiDocument(ROUTES, '')
/** Somebody signed in, for routes that no key reaches; who signs in how is another test's. */
const SIGNED_IN = {
  cookie: `${sessionCookieOf(BASE_URL, 0)}=token`,
  origin: BASE_URL,
  'sec-fetch-site': 'same-origin',
}
beforeAll(async () => {
  const personId = 'person'
  const findSignIn = async () => ({ personId, merchantId: merchant.id, secondFactorAtMs: null })
  api = await createTestApi({ findSignIn })
  merchant = await api.addMerchant()
  await api.writeSealed(
    `insert into person (id, name, email, email_verified, created_at, updated_at) values ($1, 'P', 'p@example.com', true, now(), now())`,
    [personId],
  )
  await api.writeSealed(
    `insert into organization_member (id, organization_id, user_id, role, created_at) values ('m', $1, $2, 'owner', now())`,
    [merchant.id, personId],
  )
  own = await seedResources(api, { merchantId: merchant.id, livemode: false })
})
afterAll(() => api.drop())

async function rowCounts(): Promise<unknown> {
  const tables = await api.database.owner.query<{ name: string }>(
    `select format('%I', relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
  )
  const counts = tables.rows.map(({ name }) => `(select count(*)::int from ${name}) as ${name}`)
  return (await api.database.owner.query(`select ${counts.join(', ')}`)).rows[0]
}

const KINDS_OF_PATHS: { readonly [parent: string]: ResourceKind } = {
  invoices: 'invoice',
  events: 'event',
  'webhook-endpoints': 'webhookEndpoint',
  'payment-links': 'paymentLink',
  payouts: 'payout',
  'payout-destinations': 'payoutDestination',
  'checkout-sessions': 'checkoutSession',
  'deposit-addresses': 'depositAddress',
  deposits: 'deposit',
  'api-keys': 'apiKey',
  'request-logs': 'requestLog',
}
const pathOf = (route: Route): string => {
  const parent = route.path.slice(0, route.path.indexOf('/:id')).split('/').at(-1) ?? ''
  const kind = KINDS_OF_PATHS[parent]
  return kind === undefined ? route.path : route.path.replace(':id', own[kind])
}
const send = (
  route: Route,
  options: { body?: unknown; text?: string | Uint8Array<ArrayBuffer> },
  search = '',
) =>
  api.call(route.method.toUpperCase(), pathOf(route) + search, {
    ...(route.dashboardOnly === true ? { headers: SIGNED_IN } : { key: merchant.testKey }),
    ...options,
  })

function goodBody(route: Route): { [field: string]: unknown } {
  const make = GOOD_BODIES[route.operationId]
  if (make === undefined) throw new Error(`${route.operationId} has no good body to make mistakes in`)
  return make(own)
}

/** A 4xx that names the field, in the one shape of an error. */
function expectRefused(answer: TestAnswer, field: string | null, about: unknown): void {
  const shown = `${JSON.stringify(about)?.slice(0, 200)} → ${answer.status} ${answer.text.slice(0, 300)}`
  expect(answer.status, shown).toBe(400)
  expect(Object.keys(answer.body.error).sort(), shown).toEqual([
    'code',
    'doc_url',
    'message',
    'param',
    'request_id',
    'type',
  ])
  const named: string | null = answer.body.error.param
  if (field === null) expect(named, shown).toBeNull()
  else
    expect(named === field || named?.startsWith(`${field}.`) || named?.startsWith(`${field}[`), shown).toBe(
      true,
    )
}

function schemaOf(route: Route, field: string): Schema {
  const operation = document.paths[`${API_PREFIX}${route.path.replace(':id', '{id}')}`]?.[route.method]
  const ref = operation?.requestBody?.content['application/json'].schema.$ref
  const schema = document.components.schemas[String(ref).replace('#/components/schemas/', '')]
  return ((schema?.properties ?? {}) as { [name: string]: Schema })[field] ?? {}
}

/** Values that a field of this schema must refuse, without asking the schema itself. */
function badValues(schema: Schema): unknown[] {
  const type = String(schema.type)
  const values: unknown[] = [...(WRONG_FOR[type] ?? [])]
  if (type === 'string') {
    values.push(...BROKEN_TEXTS, 'x'.repeat(50_000))
    if (Array.isArray(schema.enum) || schema.pattern !== undefined || schema.format !== undefined) {
      values.push('', ...HOSTILE_TEXTS)
    }
    if (typeof schema.minLength === 'number' && schema.minLength > 0) values.push('')
    if (typeof schema.maxLength === 'number')
      values.push('ü'.repeat(schema.maxLength + 1), '😀'.repeat(schema.maxLength + 1))
  }
  if (type === 'array')
    values.push(
      HOSTILE_TEXTS,
      BROKEN_TEXTS,
      Array.from({ length: 5_000 }, () => '*'),
    )
  if (type === 'object') {
    values.push(
      { a: '\u0000' },
      { '\u0000': 1 },
      { '\ud800': 1 },
      { a: 'x'.repeat(9_000) },
      { ['k'.repeat(65)]: 1 },
    )
    values.push(Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 1])))
  }
  return values
}

const withBody = ROUTES.filter((route) => route.body !== undefined)
const named = (routes: readonly Route[]) =>
  routes.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const)

describe.each(named(withBody))('%s', (_name, route) => {
  test('every field refuses wrong, empty, huge, hostile and broken values by name, and nothing is written', async () => {
    const before = await rowCounts()
    const good = goodBody(route)
    for (const field of [...Object.keys(good), ...(OTHER_FIELDS[route.operationId] ?? [])]) {
      for (const value of badValues(schemaOf(route, field))) {
        const body = { ...good, [field]: value }
        if (field === 'amount') delete body.usd_amount
        expectRefused(await send(route, { body }), field, { [field]: value })
      }
    }
    expect(await rowCounts()).toEqual(before)
  })

  test('a field too large for any request is 413', async () => {
    const before = await rowCounts()
    const good = goodBody(route)
    for (const field of Object.keys(good)) {
      const answer = await send(route, { body: { ...good, [field]: 'x'.repeat(70_000) } })
      expect([answer.status, answer.body.error.code]).toEqual([413, 'body_too_large'])
    }
    expect(await rowCounts()).toEqual(before)
  })

  test('unknown, repeated and poisoned fields are refused by name', async () => {
    const before = await rowCounts()
    const good = goodBody(route)
    const text = JSON.stringify(good).slice(1, -1)
    for (const name of [
      'nonsense',
      'id',
      'merchant_id',
      'livemode',
      'status',
      'constructor',
      'toString',
      'hasOwnProperty',
      '',
    ]) {
      expectRefused(await send(route, { body: { ...good, [name]: 1 } }), name, name)
    }
    expectRefused(
      await send(route, { text: `{${text},"__proto__":{"admin":true}}` }),
      '__proto__',
      '__proto__',
    )
    for (const [field, value] of Object.entries(good)) {
      expectRefused(
        await send(route, { text: `{${text},${JSON.stringify(field)}:${JSON.stringify(value)}}` }),
        field,
        field,
      )
      expectRefused(
        await send(route, { body: { ...good, [field.toUpperCase()]: value } }),
        field.toUpperCase(),
        field,
      )
    }
    expect(await rowCounts()).toEqual(before)
  })

  test('a body that is not one JSON object is refused', async () => {
    const before = await rowCounts()
    const whole = JSON.stringify(goodBody(route))
    const bodies = [
      ' ',
      'null',
      '[]',
      `[${whole}]`,
      '"x"',
      '1',
      'true',
      '{',
      `${whole}${whole}`,
      `${whole}x`,
      `\ufeff${whole}`,
      whole.replace('{', '{,'),
      whole.replaceAll('"', "'"),
    ]
    for (const text of bodies) {
      expectRefused(await send(route, { text }), null, text)
    }
    const broken = Uint8Array.of(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d)
    expectRefused(await send(route, { text: broken }), null, 'broken UTF-8')
    const deep = `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    expect((await send(route, { text: deep })).status).toBe(400)
    expect(await rowCounts()).toEqual(before)
  })

  test('a missing field that is required is named', async () => {
    const operation = route.body?.safeParse({})
    if (operation?.success === true) return
    const answer = await send(route, { text: '{}' })
    expect([answer.status, answer.body.error.code]).toEqual([400, 'parameter_missing'])
    expect(Object.keys(goodBody(route))).toContain(answer.body.error.param)
  })
})

describe.each(named(ROUTES))('query of %s', (_name, route) => {
  const withFields = (search: string) =>
    send(route, route.body === undefined ? {} : { body: goodBody(route) }, search)

  test('unknown, repeated and malformed parameters are refused by name', async () => {
    const before = await rowCounts()
    for (const [search, field] of [
      ['?nonsense=1', 'nonsense'],
      ['?__proto__=1', '__proto__'],
      ['?constructor=1', 'constructor'],
      ['?limit[]=1', 'limit[]'],
      ['?%00=1', '\u0000'],
      [`?${'x'.repeat(150)}=1`, 'x'.repeat(150)],
    ] as const) {
      expectRefused(await withFields(search), field, search)
    }
    for (const search of ['?%ff=1', '?%zz=1', '?&', '?=', '?=1']) {
      expect((await withFields(search)).status).toBe(400)
    }
    expect(await rowCounts()).toEqual(before)
  })

  test('every parameter refuses wrong, empty, huge, hostile and broken values by name', async () => {
    const before = await rowCounts()
    for (const [name, field] of Object.entries(route.query?.shape ?? {})) {
      const operation = document.paths[`${API_PREFIX}${route.path.replace(':id', '{id}')}`]?.[route.method]
      const schema = operation?.parameters.find((parameter) => parameter.name === name)?.schema ?? {}
      const isFree =
        schema.type === 'string' &&
        schema.pattern === undefined &&
        schema.enum === undefined &&
        schema.const === undefined
      const ask = (value: string) => withFields(`?${name}=${value}`)
      for (const broken of ['%00', 'a%00b', '%ff', '%', '%ed%a0%80', '', 'x'.repeat(5_000)]) {
        expectRefused(await ask(broken), name, broken)
      }
      expectRefused(await withFields(`?${name}=1&${name}=1`), name, 'twice')
      for (const hostile of HOSTILE_TEXTS) {
        const answer = await ask(encodeURIComponent(hostile))
        if (isFree) expect(answer.status, `${name}=${hostile}`).toBe(200)
        else expectRefused(answer, name, hostile)
      }
      expect(field).toBeDefined()
    }
    expect(await rowCounts()).toEqual(before)
  })
})

test('amounts and limits keep to ASCII and to their grammar', async () => {
  const create = ROUTES.find((route) => route.operationId === 'createInvoice')
  if (create === undefined) throw new Error('no createInvoice')
  const before = await rowCounts()
  for (const usd of [
    '1e5',
    '0x10',
    '-0',
    '+1',
    '٤٩',
    '４９',
    '1_000',
    '1,000',
    '1.',
    '.5',
    '01',
    '1.999',
    'NaN',
    ' 1',
    '1\n',
  ]) {
    expectRefused(await send(create, { body: { usd_amount: usd, asset: 'LTC' } }), 'usd_amount', usd)
  }
  for (const [usd, code] of [
    ['0.49', 'amount_too_small'],
    ['0', 'amount_too_small'],
    ['100000.01', 'amount_too_large'],
    ['999999.99', 'amount_too_large'],
  ] as const) {
    const answer = await send(create, { body: { usd_amount: usd, asset: 'LTC' } })
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([
      400,
      code,
      'usd_amount',
    ])
  }
  for (const amount of ['1.0', '1e-3', '0.000000001', '01', '-1', '１']) {
    expectRefused(await send(create, { body: { amount, asset: 'LTC' } }), 'amount', amount)
  }
  expect(await rowCounts()).toEqual(before)
})

test('hostile text is kept and given back exactly, and stays one line in the log', async () => {
  const create = ROUTES.find((route) => route.operationId === 'createInvoice')
  if (create === undefined) throw new Error('no createInvoice')
  for (const hostile of [...HOSTILE_TEXTS, ' padded ', '', '😀'.repeat(255)]) {
    const metadata = { [hostile.slice(0, 40) || 'k']: hostile, constructor: { prototype: [hostile] } }
    const made = await send(create, {
      body: { usd_amount: '10', asset: 'LTC', external_reference: hostile, metadata },
    })
    expect(made.status).toBe(201)
    const read = await api.call('GET', `/invoices/${made.body.id}`, { key: merchant.testKey })
    expect(read.body).toMatchObject({ external_reference: hostile, metadata })
    expect(read.body.metadata).toEqual(metadata)
  }
  for (const line of api.logged) {
    for (const character of ['\r', '\n', '\u001b']) expect(line.trimEnd()).not.toContain(character)
  }
})

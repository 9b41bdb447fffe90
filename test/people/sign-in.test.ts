import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_ADDRESS_HEADER } from '../../src/http/api/client-address.ts'
import { BASE_URL } from '../support/api.ts'
import {
  addressNumber,
  codeOf,
  createTestPeople,
  PASSWORD,
  type TestBrowser,
  type TestPeople,
} from '../support/people.ts'
import { until } from '../support/until.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const assets = (browser: TestBrowser, headers = {}) =>
  browser.ask('GET', '/api/v1/assets', undefined, headers)

test('a newcomer signs up, opens a shop, and uses the API by cookie, in test mode unless live is named', async () => {
  const { browser, merchantId } = await people.signUp('Ada')
  expect(merchantId).toMatch(/^mer_/)
  const cookie = [...browser.cookies.keys()]
  expect(cookie).toEqual(['__Host-paylink.session_token'])
  expect((await assets(browser)).status).toBe(200)
  const made = await browser.ask('POST', '/api/v1/invoices', { usd_amount: '10', asset: 'LTC' })
  expect(made.status, made.text).toBe(201)
  expect(made.body.livemode).toBe(false)
  const live = await browser.ask(
    'POST',
    '/api/v1/invoices',
    { usd_amount: '10', asset: 'LTC' },
    { 'paylink-mode': 'live' },
  )
  expect([live.status, live.body.livemode]).toEqual([201, true])
  expect((await browser.ask('GET', `/api/v1/invoices/${live.body.id}`)).status).toBe(404)
  expect((await assets(browser, { 'paylink-mode': 'production' })).body.error.code).toBe('parameter_invalid')
})

test('the cookie is for this origin, its secure pages and no script', async () => {
  const browser = people.browser()
  const answer = await browser.ask('POST', '/api/auth/sign-up/email', {
    name: 'Bo',
    email: 'bo@example.com',
    password: PASSWORD,
  })
  const [line = ''] = answer.headers.getSetCookie()
  for (const part of [/^__Host-/, /; Secure/i, /; HttpOnly/i, /; SameSite=Lax/i, /; Path=\//i])
    expect(line).toMatch(part)
  expect(line).not.toMatch(/domain=/i)
})

test.each([{ 'content-length': '50' }, { 'transfer-encoding': 'chunked' }])(
  'a sign-in whose connection is cut off is no fault of the database: %o',
  async (length) => {
    const cutOff = new ReadableStream({
      start: (controller) => controller.error(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })),
    })
    const headers = { 'content-type': 'application/json', origin: BASE_URL, ...length }
    const init = { method: 'POST', headers, body: cutOff, duplex: 'half' } as RequestInit
    const answer = await people.fetch(new Request(`${BASE_URL}/api/auth/sign-in/email`, init))
    expect(answer.status).toBeLessThan(500)
    expect(people.api.logged.join('\n')).not.toContain('the database could not serve')
  },
)

test('the password is stored as argon2id and no session token, password or code stands in the log', async () => {
  const { browser } = await people.signUp('Cleo')
  const { rows } = await people.api.database.owner.query<{ password: string }>(
    'select password from person_account',
  )
  for (const { password } of rows) expect(password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  const token = [...browser.cookies.values()][0]?.split('.')[0] ?? ''
  expect(token.length).toBeGreaterThan(20)
  const log = people.api.logged.join('\n')
  expect(log).not.toContain(token)
  expect(log).not.toContain(PASSWORD)
})

describe('requests from elsewhere', () => {
  const forged: readonly { readonly [name: string]: string }[] = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: `${BASE_URL}.evil.example` },
  ]

  test('change nothing with a cookie, in the API and in sign-in', async () => {
    const { browser } = await people.signUp('Dora')
    for (const headers of forged) {
      const base = { origin: BASE_URL, 'sec-fetch-site': 'same-origin', ...headers }
      const made = await browser.ask('POST', '/api/v1/invoices', { usd_amount: '10', asset: 'LTC' }, base)
      expect([made.status, made.body.error.code]).toEqual([403, 'cross_origin_refused'])
      const out = await browser.ask('POST', '/api/auth/sign-out', {}, base)
      expect([out.status, out.body.code]).toEqual([403, 'CROSS_ORIGIN'])
    }
    expect((await assets(browser)).status).toBe(200)
    expect((await browser.ask('GET', '/api/v1/invoices')).body.data).toEqual([])
  })

  test('change nothing as a form either', async () => {
    const browser = people.browser()
    const answer = await browser.ask('POST', '/api/auth/sign-in/email', undefined, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(answer.status).toBe(415)
  })
})

test('only the listed endpoints of the library are reachable', async () => {
  const { browser } = await people.signUp('Eve')
  for (const path of [
    '/delete-user',
    '/update-session',
    '/sign-in/social',
    '/organization/create',
    '/organization/delete',
    '/two-factor/send-otp',
    '/error',
    '/ok',
    '/change-email',
    '/verify-password',
    '/list-accounts',
    '/sign-in/email/',
    '//sign-in/email',
    '/two-factor/../delete-user',
  ]) {
    const answer = await browser.ask('POST', `/api/auth${path}`, {})
    expect([path, answer.status]).toEqual([path, 404])
  }
})

test('ended sign-ins are dead: signed out, revoked, or after a password reset', async () => {
  const { browser, email } = await people.signUp('Finn')
  const second = people.browser()
  await second.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
  const kept = new Map(second.cookies)
  expect((await assets(second)).status).toBe(200)
  await second.ask('POST', '/api/auth/sign-out', {})
  for (const [name, value] of kept) second.cookies.set(name, value)
  expect((await assets(second)).status).toBe(401)
  await people.browser().ask('POST', '/api/auth/request-password-reset', { email })
  const message = people.emails.findLast((one) => one.to === email && one.subject.includes('new password'))
  const token = /token=(\S+)/.exec(message?.text ?? '')?.[1]
  const fresh = people.browser()
  const reset = { newPassword: 'another long password', token }
  expect((await fresh.ask('POST', '/api/auth/reset-password', reset)).status).toBe(200)
  expect((await assets(browser)).status).toBe(401)
  expect((await fresh.ask('POST', '/api/auth/reset-password', reset)).status).toBe(400)
})

test('a password that is easy to guess is refused at sign-up, at a change and at a reset', async () => {
  const { browser, email } = await people.signUp('Weak')
  const weak = 'password123'
  await people.browser().ask('POST', '/api/auth/request-password-reset', { email })
  const message = people.emails.findLast((one) => one.to === email && one.subject.includes('new password'))
  const token = /token=(\S+)/.exec(message?.text ?? '')?.[1]
  for (const [path, body] of [
    ['sign-up/email', { name: 'Weak', email: 'weaker@example.com', password: weak }],
    ['change-password', { currentPassword: PASSWORD, newPassword: weak, revokeOtherSessions: true }],
    ['reset-password', { newPassword: weak, token }],
  ] as const) {
    const { status, body: answer } = await browser.ask('POST', `/api/auth/${path}`, body)
    expect([path, status, answer.code]).toEqual([path, 400, 'PASSWORD_TOO_WEAK'])
  }
  const again = { email, password: PASSWORD }
  expect((await people.browser().ask('POST', '/api/auth/sign-in/email', again)).status).toBe(200)
})

test('a sign-in whose password was replaced meanwhile gives no session', async () => {
  const { email } = await people.signUp('Gus')
  await people.browser().ask('POST', '/api/auth/request-password-reset', { email })
  const message = people.emails.findLast((one) => one.to === email && one.subject.includes('new password'))
  const token = /token=(\S+)/.exec(message?.text ?? '')?.[1]
  const { owner } = people.api.database
  // The sign-in has found its password right, and waits before it writes its session.
  await owner.query(`create function wait_here() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(4711); return new; end';
    create trigger wait_here before insert on person_session for each row execute function wait_here()`)
  const gate = await owner.connect()
  const late = people.browser()
  try {
    await gate.query('select pg_advisory_lock(4711)')
    const answer = late.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
    await until(async () => {
      const { rows } = await owner.query(
        `select from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`,
      )
      return rows.length === 1
    })
    const reset = { newPassword: 'another long password', token }
    expect((await people.browser().ask('POST', '/api/auth/reset-password', reset)).status).toBe(200)
    await gate.query('select pg_advisory_unlock(4711)')
    expect((await answer).status).toBe(401)
    expect((await assets(late)).status).toBe(401)
    const kept = await owner.query(
      'select from person_session where user_id = (select id from person where email = $1)',
      [email],
    )
    expect(kept.rowCount).toBe(0)
  } finally {
    gate.release(true)
    await owner.query('drop trigger wait_here on person_session; drop function wait_here()')
  }
})

test('whether an address is known cannot be read from sign-in or reset', async () => {
  await people.signUp('Gil')
  const browser = people.browser()
  const answers = await Promise.all(
    ['gil@example.com', 'nobody@example.com'].flatMap((email) => [
      browser.ask('POST', '/api/auth/sign-in/email', { email, password: 'wrong wrong wrong' }),
      browser.ask('POST', '/api/auth/sign-in/email', { email, password: 'password123' }),
      browser.ask('POST', '/api/auth/request-password-reset', { email }),
    ]),
  )
  const read = answers.map(({ status, text }) => [status, text])
  expect(read.slice(0, 3)).toEqual(read.slice(3))
})

test('a thousand password guesses at once, in any spelling and from anywhere, are ten', async () => {
  const { email } = await people.signUp('Hana')
  const spellings = [email, email.toUpperCase(), `H${email.slice(1)}`]
  const guesses = Array.from({ length: 200 }, (_, at) =>
    people.browser(`198.51.${at}.1`).ask('POST', '/api/auth/sign-in/email', {
      email: spellings[at % spellings.length],
      password: `guess number ${at}`,
    }),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(10)
  expect(new Set(statuses)).toEqual(new Set([401, 429]))
})

describe('the second factor', () => {
  test('is asked at sign-in, and gives a new cookie; the one before it is dead', async () => {
    const { browser, email } = await people.signUp('Ida')
    const before = new Map(browser.cookies)
    const { secret } = await people.enableSecondFactor(browser)
    expect([...browser.cookies.values()]).not.toEqual([...before.values()])
    const old = people.browser()
    for (const [name, value] of before) old.cookies.set(name, value)
    expect((await assets(old)).status).toBe(401)
    const next = people.browser()
    const half = await next.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
    expect(half.body.twoFactorRedirect).toBe(true)
    expect((await assets(next)).status).toBe(401)
    const done = await next.ask('POST', '/api/auth/two-factor/verify-totp', { code: await codeOf(secret, 1) })
    expect(done.status, done.text).toBe(200)
    expect((await assets(next)).status).toBe(200)
  })

  test('takes no code twice', async () => {
    const { browser } = await people.signUp('Jo')
    const { secret } = await people.enableSecondFactor(browser)
    const code = await codeOf(secret, 1)
    const cookies = new Map(browser.cookies)
    expect((await browser.ask('POST', '/api/auth/two-factor/verify-totp', { code })).status).toBe(200)
    const again = await browser.ask('POST', '/api/auth/two-factor/verify-totp', { code })
    expect([again.status, again.body.code]).toEqual([401, 'CODE_USED'])
    expect([...browser.cookies.values()]).not.toEqual([...cookies.values()])
  })

  test('a thousand guesses at once are five, with a stolen cookie as well as at sign-in', async () => {
    const { browser, email } = await people.signUp('Kai')
    await people.enableSecondFactor(browser)
    const guess = (from: TestBrowser, at: number) =>
      from.ask(
        'POST',
        '/api/auth/two-factor/verify-totp',
        { code: String(100_000 + at) },
        { [CLIENT_ADDRESS_HEADER]: addressNumber(10_000 + at) },
      )
    const stolen = await Promise.all(Array.from({ length: 1_000 }, (_, at) => guess(browser, at)))
    const judged = stolen.filter(({ body }) => body?.code === 'INVALID_CODE')
    expect(judged).toHaveLength(5)
    const refusals = new Set(stolen.filter((one) => !judged.includes(one)).map(({ status }) => status))
    // How many waited too long for a connection of the database is the machine's affair.
    refusals.delete(503)
    expect([...refusals]).toEqual([429])
    const half = people.browser()
    await half.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
    const after = await Promise.all(Array.from({ length: 50 }, (_, at) => guess(half, at)))
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set([429]))
  })

  test('is proved again before it is turned off or the password is changed', async () => {
    const { browser } = await people.signUp('Lea')
    const { secret } = await people.enableSecondFactor(browser)
    await people.api.writeSealed(
      `update person_session set second_factor_at = second_factor_at - interval '301 seconds'`,
    )
    const off = () => browser.ask('POST', '/api/auth/two-factor/disable', { password: PASSWORD })
    const refused = await off()
    expect([refused.status, refused.body.code]).toEqual([403, 'SECOND_FACTOR_REQUIRED'])
    await browser.ask('POST', '/api/auth/two-factor/verify-totp', { code: await codeOf(secret, 1) })
    expect((await off()).status).toBe(200)
  })

  test('a backup code works once', async () => {
    const { browser, email } = await people.signUp('Mia')
    const { backupCodes } = await people.enableSecondFactor(browser)
    const code = backupCodes[0]
    for (const expected of [200, 401]) {
      const next = people.browser()
      await next.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD })
      expect((await next.ask('POST', '/api/auth/two-factor/verify-backup-code', { code })).status).toBe(
        expected,
      )
    }
  })
})

test('what an owner does in live mode needs a second factor of the last five minutes', async () => {
  const { browser } = await people.signUp('Nia')
  const live = { 'paylink-mode': 'live' }
  const create = () =>
    browser.ask(
      'POST',
      '/api/v1/webhook-endpoints',
      { url: 'https://shop.example/hook', subscribed_events: ['*'] },
      live,
    )
  expect((await create()).body.error.code).toBe('second_factor_required')
  await people.enableSecondFactor(browser)
  const made = await create()
  expect(made.status, made.text).toBe(201)
  await people.api.writeSealed(
    `update person_session set second_factor_at = second_factor_at - interval '301 seconds'`,
  )
  expect((await create()).body.error.code).toBe('second_factor_required')
})

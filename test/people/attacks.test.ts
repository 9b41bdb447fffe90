import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CLIENT_ADDRESS_HEADER } from '../../src/http/api/client-address.ts'
import { BASE_URL } from '../support/api.ts'
import { codeOf, createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const post = (browser: TestBrowser, path: string, body: object, headers = {}) =>
  browser.ask('POST', `/api/auth${path}`, body, headers)
const owner = (sql: string, values: unknown[] = []) => people.api.writeSealed(sql, values)
/** As if so much time had gone by since. */
const age = (column: 'created_at' | 'second_factor_at', email: string, interval: string) =>
  owner(
    `update person_session set ${column} = ${column} - $2::interval
     where user_id = (select id from person where email = $1)`,
    [email, interval],
  )
const createLiveEndpoint = (browser: TestBrowser) =>
  browser.ask(
    'POST',
    '/api/v1/webhook-endpoints',
    { url: 'https://shop.example/hook', subscribed_events: ['*'] },
    { 'paylink-mode': 'live' },
  )

describe('where to go on afterwards', () => {
  const elsewhere = [
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/%0d%0alocation:https://evil.example',
    `${BASE_URL}@evil.example`,
    `${BASE_URL}.evil.example`,
    '/dashboard',
  ]

  test('can be set by no request, in the body or in the URL', async () => {
    const browser = people.browser()
    for (const target of elsewhere) {
      for (const [path, body] of [
        ['/sign-in/email', { email: 'a@example.com', password: PASSWORD, callbackURL: target }],
        ['/sign-up/email', { name: 'A', email: 'a@example.com', password: PASSWORD, callbackURL: target }],
        ['/request-password-reset', { email: 'a@example.com', redirectTo: target }],
        ['/send-verification-email', { email: 'a@example.com', callbackURL: target }],
      ] as const) {
        const answer = await post(browser, path, body)
        expect([path, answer.status, answer.body.code]).toEqual([path, 400, 'REQUEST_INVALID'])
      }
      for (const token of ['none', '']) {
        const query = new URLSearchParams({ token, callbackURL: target })
        const answer = await browser.ask('GET', `/api/auth/verify-email?${query}`)
        expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
      }
      const path = `/api/auth/reset-password/token?callbackURL=${encodeURIComponent(target)}`
      const answer = await browser.ask('GET', path)
      expect([answer.status, answer.headers.get('location')]).toEqual([404, null])
    }
    expect((await owner(`select from person where email = 'a@example.com'`)).rows).toEqual([])
  })
})

describe('emails', () => {
  test('lead to BASE_URL, whatever host the caller names', async () => {
    const browser = people.browser()
    const forged = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      'x-forwarded-server': 'evil.example',
      'x-original-host': 'evil.example',
      forwarded: 'host=evil.example;proto=http',
      referer: 'https://evil.example/',
    }
    const email = 'host@example.com'
    const sent = [
      await post(browser, '/sign-up/email', { name: 'Host', email, password: PASSWORD }, forged),
      await post(browser, '/send-verification-email', { email }, forged),
      await post(browser, '/request-password-reset', { email }, forged),
    ]
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200])
    const emails = people.emails.filter(({ to }) => to === email)
    expect(emails).toHaveLength(3)
    for (const { text } of emails) {
      const links = text.match(/\S+:\/\/\S+/g) ?? []
      expect(links.map((link) => new URL(link).origin)).toEqual([BASE_URL])
      expect(text).not.toContain('evil')
    }
  })

  test('that anybody can have sent to any address hold no word of theirs', async () => {
    const browser = people.browser()
    const email = 'victim@example.com'
    const name = 'Your account is locked: evil.example'
    await post(browser, '/sign-up/email', { name, email, password: PASSWORD })
    await post(browser, '/request-password-reset', { email })
    const emails = people.emails.filter(({ to }) => to === email)
    expect(emails).toHaveLength(2)
    for (const { text, subject } of emails) expect(subject + text).not.toContain('evil')
  })
})

test('what the database cannot hold, and what is not asked for, is answered 400 and never 500', async () => {
  const { browser, merchantId: organizationId, email } = await people.signUp('Odd')
  await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
  const hostile: readonly (readonly [string, object])[] = [
    ['/sign-up/email', { name: 'a\u0000b', email: 'nul@example.com', password: PASSWORD }],
    ['/sign-up/email', { name: 'a\r\nBcc: x', email: 'nul@example.com', password: PASSWORD }],
    ['/sign-up/email', { name: 'a'.repeat(121), email: 'nul@example.com', password: PASSWORD }],
    ['/sign-up/email', { name: { a: 1 }, email: 'nul@example.com', password: PASSWORD }],
    ['/sign-in/email', { email: ['a@example.com'], password: PASSWORD }],
    ['/sign-in/email', { email, password: `${PASSWORD}\u0000` }],
    ['/update-user', { name: 'Odd', image: 'https://evil.example/x.png' }],
    ['/update-user', { name: 'Odd', emailVerified: true }],
    ['/update-user', { name: 'Odd', twoFactorEnabled: true }],
    ['/two-factor/enable', { password: PASSWORD, method: 'otp' }],
    ['/two-factor/verify-totp', { code: '000000', trustDevice: true }],
    ['/two-factor/verify-backup-code', { code: 'x', disableSession: true }],
    ['/change-password', { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` }],
    ['/organization/set-active', { organizationId: '\u0000' }],
    ['/organization/set-active', { organizationId: null }],
    ['/organization/set-active', { organizationSlug: 'x', organizationId }],
    ['/organization/accept-invitation', { invitationId: '\u0000' }],
    ['/organization/invite-member', { email: 'x@example.com', role: 'viewer', organizationId, teamId: 'x' }],
    ['/organization/remove-member', { memberIdOrEmail: email, organizationId }],
    ['/passkey/delete-passkey', { id: '\u0000' }],
    ['/passkey/verify-authentication', { response: { id: '\u0000' } }],
    ['/passkey/verify-authentication', { response: null }],
    ['/sign-out', []],
  ]
  for (const [path, body] of hostile) {
    const answer = await post(browser, path, body)
    expect([path, body, answer.status]).toEqual([path, body, 400])
  }
  for (const path of [
    '/organization/list-members?organizationId=%00',
    `/organization/list-members?organizationId=${organizationId}&limit=abc`,
    `/organization/list-members?organizationId=${organizationId}&sortBy=password`,
    `/organization/list-members?organizationId=${organizationId}&filterField=x&filterValue=y`,
    '/organization/get-invitation?id=%00',
    '/verify-email?token=%00',
    '/get-session?disableRefresh=true',
  ]) {
    expect([path, (await browser.ask('GET', `/api/auth${path}`)).status]).toEqual([path, 400])
  }
  const { rows } = await owner(
    'select email_verified, two_factor_enabled, image from person where email = $1',
    [email],
  )
  expect(rows).toMatchObject([{ email_verified: false, image: null }])
  expect(rows).not.toMatchObject([{ two_factor_enabled: true }])
})

describe('guesses', () => {
  test('at the password by a stolen cookie are ten, wherever they are tried, and its owner can still sign in', async () => {
    const { browser, email } = await people.signUp('Oracle')
    const tries = Array.from({ length: 40 }, (_, at) => {
      const password = `guess number ${at}`
      const from = { [CLIENT_ADDRESS_HEADER]: `198.18.${at}.1` }
      const paths = [
        '/two-factor/enable',
        '/two-factor/disable',
        '/two-factor/generate-backup-codes',
      ] as const
      const path = paths[at % 4]
      if (path !== undefined) return post(browser, path, { password }, from)
      const change = { currentPassword: password, newPassword: 'my own password', revokeOtherSessions: true }
      return post(browser, '/change-password', change, from)
    })
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
    const right = await post(people.browser(), '/sign-in/email', { email, password: PASSWORD })
    expect(right.status).toBe(200)
  })

  test('from elsewhere, however many, keep nobody out where they signed in before', async () => {
    const home = '198.20.0.1'
    const email = 'otto@example.com'
    const otto = people.browser(home)
    await post(otto, '/sign-up/email', { name: 'Otto', email, password: PASSWORD })
    const guess = (address: string, password: string) =>
      post(people.browser(address), '/sign-in/email', { email, password })
    const from = Array.from({ length: 30 }, (_, at) => guess(`198.21.${at}.1`, `guess number ${at}`))
    const statuses = (await Promise.all(from)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    // From a strange place the right password is not even looked at now; from home it opens.
    expect((await guess('198.22.0.1', PASSWORD)).status).toBe(429)
    expect((await guess(home, PASSWORD)).status).toBe(200)
    expect((await guess('198.22.0.1', PASSWORD)).status).toBe(429)
  })

  test('from where somebody signed in before are ten there as well', async () => {
    const home = '2001:db8:20::1'
    const email = 'pia@example.com'
    await post(people.browser(home), '/sign-up/email', { name: 'Pia', email, password: PASSWORD })
    const statuses: number[] = []
    for (let at = 0; at < 12; at++) {
      const browser = people.browser(`2001:db8:20::${at + 1}`)
      statuses.push(
        (await post(browser, '/sign-in/email', { email, password: `guess ${at} of mine` })).status,
      )
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
  })

  test('that shut a new place are undone by the message for a new password', async () => {
    const { email } = await people.signUp('Quin')
    const away = people.browser('198.23.0.1')
    for (let at = 0; at < 11; at++) {
      const from = people.browser(`198.24.${at}.1`)
      await post(from, '/sign-in/email', { email, password: `guess number ${at}` })
    }
    expect((await post(away, '/sign-in/email', { email, password: PASSWORD })).status).toBe(429)
    await post(away, '/request-password-reset', { email })
    const message = people.emails.findLast(({ to }) => to === email)
    const token = /token=([\w-]+)/.exec(message?.text ?? '')?.[1]
    const newPassword = 'another horse battery'
    expect((await post(away, '/reset-password', { token, newPassword })).status).toBe(200)
    expect((await post(away, '/sign-in/email', { email, password: newPassword })).status).toBe(200)
  })

  test('that came before the right password from a new place are forgotten with it', async () => {
    const { email } = await people.signUp('Rosa')
    const enter = async (address: string, password: string) =>
      (await post(people.browser(address), '/sign-in/email', { email, password })).status
    for (let at = 0; at < 9; at++) expect(await enter(`198.25.${at}.1`, `guess number ${at}`)).toBe(401)
    expect(await enter('198.26.0.1', PASSWORD)).toBe(200)
    for (let at = 0; at < 10; at++) expect(await enter(`198.27.${at}.1`, `guess number ${at}`)).toBe(401)
    expect(await enter('198.28.0.1', PASSWORD)).toBe(429)
  })

  test('from one household’s addresses are one caller’s, however they are written', async () => {
    const spell = (at: number): string =>
      [
        `2001:db8:7:7::${at + 1}`,
        `2001:DB8:7:7:${at + 1}::`,
        `2001:0db8:0007:0007:ffff:0:0:${at + 1}`,
        `2001:db8:7:7:0:0:0:${(at + 1).toString(16)}`,
      ][at % 4] ?? ''
    const ask = (address: string, at: number) =>
      post(people.browser(address), '/request-password-reset', { email: `nobody-${at}@example.com` })
    const statuses: number[] = []
    for (let at = 0; at < 16; at++) statuses.push((await ask(spell(at), at)).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(6)
    expect((await ask('2001:db8:7:8::1', 99)).status).toBe(200)
    const mapped = ['198.19.0.1', '::ffff:198.19.0.1', '::ffff:c613:1']
    const mixed: number[] = []
    for (let at = 0; at < 12; at++) mixed.push((await ask(mapped[at % 3] ?? '', at)).status)
    expect(mixed.filter((status) => status === 429)).toHaveLength(2)
  })
})

describe('a sign-in', () => {
  test('takes no cookie that was there before it, made up or of somebody else', async () => {
    const { browser: thief } = await people.signUp('Fixer')
    const { email } = await people.signUp('Fixed')
    const [name = '', planted = ''] = [...thief.cookies][0] ?? []
    for (const value of [planted, 'made-up.signature']) {
      const victim = people.browser()
      victim.cookies.set(name, value)
      expect((await post(victim, '/sign-in/email', { email, password: PASSWORD })).status).toBe(200)
      expect(victim.cookies.get(name)).not.toBe(value)
      const session = await victim.ask('GET', '/api/auth/get-session')
      expect(session.body.user.email).toBe(email)
    }
    expect((await thief.ask('GET', '/api/auth/get-session')).body.user.email).toBe('fixer@example.com')
  })

  test('cannot be made of a token as the database holds it', async () => {
    const { browser } = await people.signUp('Dump')
    const [name = '', value = ''] = [...browser.cookies][0] ?? []
    const token = decodeURIComponent(value).split('.')[0] ?? ''
    const thief = people.browser()
    for (const forged of [token, `${token}.`, `${token}.AAAA`]) {
      thief.cookies.set(name, encodeURIComponent(forged))
      expect((await thief.ask('GET', '/api/v1/assets')).status).toBe(401)
    }
  })

  test('is renewed together with its cookie: a request to the API leaves that to the dashboard', async () => {
    const { browser, email } = await people.signUp('Renewed')
    await owner(
      `update person_session set expires_at = now() + interval '6 days'
       where user_id = (select id from person where email = $1)`,
      [email],
    )
    expect((await browser.ask('GET', '/api/v1/assets')).status).toBe(200)
    const renewed = await browser.ask('GET', '/api/auth/get-session')
    expect(renewed.headers.getSetCookie().join()).toMatch(/max-age=604800/i)
  })

  test('in test mode reads and changes nothing of live mode, and the other way round', async () => {
    const { browser } = await people.signUp('Moded')
    const create = (mode: string) =>
      browser.ask('POST', '/api/v1/invoices', { usd_amount: '10', asset: 'LTC' }, { 'paylink-mode': mode })
    for (const [mine, other] of [
      ['test', 'live'],
      ['live', 'test'],
    ] as const) {
      const { id } = (await create(mine)).body
      const headers = { 'paylink-mode': other }
      expect((await browser.ask('GET', `/api/v1/invoices/${id}`, undefined, headers)).status).toBe(404)
      const cancelled = await browser.ask('POST', `/api/v1/invoices/${id}/cancel`, undefined, headers)
      expect(cancelled.status).toBe(404)
    }
  })

  test('ends wherever the password is changed from elsewhere', async () => {
    const { browser, email } = await people.signUp('Changed')
    const thief = people.browser()
    await post(thief, '/sign-in/email', { email, password: PASSWORD })
    const change = {
      currentPassword: PASSWORD,
      newPassword: 'a new long password',
      revokeOtherSessions: true,
    }
    expect((await post(browser, '/change-password', change)).status).toBe(200)
    expect((await thief.ask('GET', '/api/v1/assets')).status).toBe(401)
    expect((await browser.ask('GET', '/api/v1/assets')).status).toBe(200)
  })
})

describe('a second factor', () => {
  test('that was taken away proves nothing any more, in this sign-in and in every other', async () => {
    const { browser, email } = await people.signUp('Revoker')
    const { backupCodes } = await people.enableSecondFactor(browser)
    const other = people.browser()
    await post(other, '/sign-in/email', { email, password: PASSWORD })
    await post(other, '/two-factor/verify-backup-code', { code: backupCodes[0] })
    expect((await createLiveEndpoint(other)).status).toBe(201)
    expect((await post(browser, '/two-factor/disable', { password: PASSWORD })).status).toBe(200)
    for (const one of [browser, other]) {
      expect((await createLiveEndpoint(one)).body.error.code).toBe('second_factor_required')
    }
    const { rows } = await owner(
      'select from person_two_factor where user_id = (select id from person where email = $1)',
      [email],
    )
    expect(rows).toEqual([])
  })

  test('begun many times at once is one, and its own code proves it', async () => {
    const { browser, email } = await people.signUp('Eager')
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, at) =>
        post(
          browser,
          '/two-factor/enable',
          { password: PASSWORD },
          { [CLIENT_ADDRESS_HEADER]: `198.18.199.${at}` },
        ),
      ),
    )
    expect(new Set(answers.map(({ status }) => status)).has(500)).toBe(false)
    const { rows } = await owner(
      'select from person_two_factor where user_id = (select id from person where email = $1)',
      [email],
    )
    expect(rows).toHaveLength(1)
    const last = await post(
      browser,
      '/two-factor/enable',
      { password: PASSWORD },
      {
        [CLIENT_ADDRESS_HEADER]: '198.18.200.1',
      },
    )
    const secret = new URL(last.body.totpURI).searchParams.get('secret') ?? ''
    expect((await post(browser, '/two-factor/verify-totp', { code: await codeOf(secret) })).status).toBe(200)
  })

  test('is asked at every sign-in: no browser is trusted without it', async () => {
    const { browser, email } = await people.signUp('Untrusted')
    await people.enableSecondFactor(browser)
    await post(browser, '/sign-out', {})
    const again = await post(browser, '/sign-in/email', { email, password: PASSWORD })
    expect(again.body.twoFactorRedirect).toBe(true)
    expect((await browser.ask('GET', '/api/v1/assets')).status).toBe(401)
  })

  test('cannot be made by a stolen cookie alone: a first passkey needs a confirmed address and a new sign-in', async () => {
    const { browser, email } = await people.signUp('Cookie')
    const options = () => browser.ask('GET', '/api/auth/passkey/generate-register-options')
    await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
    expect((await options()).body.code).toBe('EMAIL_UNVERIFIED')
    await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
    expect((await options()).status).toBe(200)
    await age('created_at', email, '301 seconds')
    expect((await options()).body.code).toBe('SIGN_IN_AGAIN')
    const register = await post(browser, '/passkey/verify-registration', { response: { id: 'x' } })
    expect([register.status, register.body.code]).toEqual([403, 'SIGN_IN_AGAIN'])
  })

  test('of five minutes ago makes no passkey', async () => {
    const { browser, email } = await people.signUp('Stale')
    await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
    await people.enableSecondFactor(browser)
    await age('second_factor_at', email, '301 seconds')
    const refused = await browser.ask('GET', '/api/auth/passkey/generate-register-options')
    expect([refused.status, refused.body.code]).toEqual([403, 'SECOND_FACTOR_REQUIRED'])
  })
})

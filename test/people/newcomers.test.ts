import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { auditAccess } from '../../src/audit/audit-access.ts'
import { createMerchant } from '../../src/flows/create-merchant.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { codeOf, createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const post = (browser: TestBrowser, path: string, body: object) =>
  browser.ask('POST', `/api/auth${path}`, body)
const NEW_PASSWORD = 'another good password'
const owner = (sql: string, values: unknown[] = []) => people.api.database.owner.query(sql, values)

async function newcomer(email: string, name = 'Somebody') {
  const browser = people.browser()
  expect((await post(browser, '/sign-up/email', { name, email, password: PASSWORD })).status).toBe(200)
  return browser
}

/** The token of the newest email that leads to this page. */
function tokenFor(email: string, page: string): string {
  const mail = people.emails.findLast(({ to, text }) => to === email && text.includes(`/dashboard/${page}?`))
  return /token=(\S+)/.exec(mail?.text ?? '')?.[1] ?? ''
}

const confirm = (email: string, browser: TestBrowser) =>
  browser.ask('GET', `/api/auth/verify-email?token=${tokenFor(email, 'verify-email')}`)

async function choosePassword(email: string, newPassword: string): Promise<void> {
  const browser = people.browser()
  expect((await post(browser, '/request-password-reset', { email })).status).toBe(200)
  const token = tokenFor(email, 'reset-password')
  expect((await post(browser, '/reset-password', { newPassword, token })).status).toBe(200)
}

describe('somebody who signed up with an address of another’s', () => {
  test('is confirmed by nobody who does not know the password, also not by the mailbox’s owner', async () => {
    const email = 'pressed@example.com'
    const stranger = await newcomer(email)
    const owner = await newcomer('somebody-else@example.com')
    for (const browser of [people.browser(), owner]) {
      const answer = await confirm(email, browser)
      expect([answer.status, answer.body.code]).toEqual([401, 'SIGN_IN_FIRST'])
    }
    const { user } = (await stranger.ask('GET', '/api/auth/get-session')).body
    expect(user.emailVerified).toBe(false)
    // Who chose a new password by the mailbox signs in with it, and confirms.
    await choosePassword(email, NEW_PASSWORD)
    const signedIn = people.browser()
    await post(signedIn, '/sign-in/email', { email, password: NEW_PASSWORD })
    expect((await confirm(email, signedIn)).status).toBe(200)
    expect((await stranger.ask('GET', '/api/auth/get-session')).body).toBe(null)
  })

  test('enrols no second factor before the address is confirmed', async () => {
    const email = 'unconfirmed@example.com'
    const browser = await newcomer(email)
    const enable = () => post(browser, '/two-factor/enable', { password: PASSWORD })
    const refused = await enable()
    expect([refused.status, refused.body.code]).toEqual([403, 'EMAIL_UNVERIFIED'])
    expect((await confirm(email, browser)).status).toBe(200)
    expect((await enable()).status).toBe(200)
  })

  test('ends no enrolment that an earlier release began', async () => {
    const email = 'begun@example.com'
    const browser = await newcomer(email)
    await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
    const begun = await post(browser, '/two-factor/enable', { password: PASSWORD })
    await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
    const secret = new URL(begun.body.totpURI).searchParams.get('secret') ?? ''
    const ended = await post(browser, '/two-factor/verify-totp', { code: await codeOf(secret) })
    expect([ended.status, ended.body.code]).toEqual([403, 'EMAIL_UNVERIFIED'])
  })

  test('has no second factor and no sign-in left once the mailbox’s owner chooses a new password', async () => {
    const email = 'squatted@example.com'
    const squatter = await newcomer(email)
    const { secret } = await people.enableSecondFactor(squatter)
    // As an earlier release had it, or SQL that the operator accepted.
    await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
    await people.api.writeSealed(
      `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
       select 'squatted', id, 'AA', 'squatted', 0, 'singleDevice', false from person where email = $1`,
      [email],
    )
    const pending = people.browser()
    expect((await post(pending, '/sign-in/email', { email, password: PASSWORD })).status).toBe(200)
    await choosePassword(email, NEW_PASSWORD)
    expect((await squatter.ask('GET', '/api/auth/get-session')).body).toBe(null)
    const code = await codeOf(secret, 1)
    expect((await post(pending, '/two-factor/verify-totp', { code })).status).not.toBe(200)
    expect((await post(people.browser(), '/sign-in/email', { email, password: PASSWORD })).status).toBe(401)
    // Nothing keeps the owner out: no code is asked for, and the address can be confirmed.
    const owner = people.browser()
    const signedIn = await post(owner, '/sign-in/email', { email, password: NEW_PASSWORD })
    expect([signedIn.status, signedIn.body.twoFactorRedirect]).toEqual([200, undefined])
    expect((await owner.ask('GET', '/api/auth/passkey/list-user-passkeys')).body).toEqual([])
    expect((await post(owner, '/send-verification-email', { email })).status).toBe(200)
    expect((await confirm(email, owner)).status).toBe(200)
    expect((await post(owner, '/two-factor/enable', { password: NEW_PASSWORD })).status).toBe(200)
    const { seals } = people.api.deps
    const findings = await withSystemTransaction(people.api.database.owner, (tx) =>
      auditAccess(tx, seals, 100),
    )
    expect(findings).toEqual([])
  })

  test('has no second factor left once the address is confirmed', async () => {
    const email = 'confirmed-later@example.com'
    const squatter = await newcomer(email)
    await people.enableSecondFactor(squatter)
    await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
    expect((await confirm(email, squatter)).status).toBe(200)
    const { user } = (await squatter.ask('GET', '/api/auth/get-session')).body
    expect([user.emailVerified, user.twoFactorEnabled]).toEqual([true, false])
  })

  test('is made no owner of a shop by the operator’s command', async () => {
    const email = 'asked-for@example.com'
    const browser = await newcomer(email)
    const { seals } = people.api.deps
    const make = () =>
      createMerchant(
        { pool: people.api.database.owner, clock: () => new Date(), seals },
        { name: 'Shop', email },
      )
    await expect(make()).rejects.toThrow('has not confirmed it')
    expect((await confirm(email, browser)).status).toBe(200)
    expect((await make()).passwordToken).toBe(null)
  })

  test('a second factor of a confirmed address stays when its owner chooses a new password', async () => {
    const email = 'kept@example.com'
    const browser = await newcomer(email)
    await confirm(email, browser)
    await people.enableSecondFactor(browser)
    await choosePassword(email, NEW_PASSWORD)
    const signedIn = await post(people.browser(), '/sign-in/email', {
      email,
      password: 'another good password',
    })
    expect([signedIn.status, signedIn.body.twoFactorRedirect]).toEqual([200, true])
  })

  test('has no word of theirs sent there, by signing in from many places either', async () => {
    const email = 'phished@example.com'
    await newcomer(email, 'Pay at evil.example')
    await post(people.browser(), '/sign-in/email', { email, password: PASSWORD })
    const mails = people.emails.filter(({ to }) => to === email)
    expect(mails.length).toBeGreaterThan(0)
    for (const { subject, text } of mails) expect(subject + text).not.toContain('evil')
  })
})

describe('invitations', () => {
  const invite = (browser: TestBrowser, organizationId: string, email: string) =>
    post(browser, '/organization/invite-member', { email, role: 'member', organizationId })

  test('are sent by whoever confirmed an address of their own', async () => {
    const { browser, email, merchantId } = await people.signUp('Unsure Inviter')
    await people.api.writeSealed('update person set email_verified = false where email = $1', [email])
    const refused = await invite(browser, merchantId, 'guest@example.com')
    expect([refused.status, refused.body.code]).toEqual([403, 'EMAIL_UNVERIFIED'])
    expect(people.emails.filter(({ to }) => to === 'guest@example.com')).toEqual([])
  })

  test('carry the names of people and shops quoted, short and without links, and none in the subject', async () => {
    const { browser, merchantId } = await people.signUp('Relay')
    const evil = `Your account is locked: https://evil.example/login evil.example ${'x'.repeat(50)}`
    await post(browser, '/update-user', { name: evil })
    await owner('update organization set name = $2 where id = $1', [merchantId, evil])
    await invite(browser, merchantId, 'victim@example.com')
    const mail = people.emails.findLast(({ to }) => to === 'victim@example.com')
    expect(mail?.subject).toBe('You are invited to a shop on Paylink')
    expect(mail?.text).not.toMatch(/evil\.example|https:\/\/evil/)
    expect(mail?.text).toContain('“Your account is locked')
    expect(mail?.text.match(/x+…”/g)).toHaveLength(2)
  })

  test('to one mailbox are three in a day, from all shops and in any spelling', async () => {
    const shops = [await people.signUp('Many One'), await people.signUp('Many Two')]
    const spellings = [
      'Victim2@example.com',
      'victim2+a@example.com',
      'victim2+b@example.com',
      'VICTIM2+c@example.com',
    ]
    const answers = []
    for (const [index, email] of spellings.entries()) {
      const shop = shops[index % 2]
      if (shop !== undefined) answers.push(await invite(shop.browser, shop.merchantId, email))
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(answers[3]?.body.code).toBe('TOO_MANY_INVITATIONS')
    expect(answers[3]?.headers.get('retry-after')).toMatch(/^[1-9]/)
    expect(people.emails.filter(({ to }) => to.toLowerCase().startsWith('victim2'))).toHaveLength(3)
  })

  test('of one person are thirty in a day', async () => {
    const { browser, merchantId } = await people.signUp('Prolific')
    for (let sent = 0; sent < 30; sent++)
      expect((await invite(browser, merchantId, `guest${sent}@example.com`)).status).toBe(200)
    expect((await invite(browser, merchantId, 'guest30@example.com')).body.code).toBe('TOO_MANY_INVITATIONS')
  })
})

describe('sign-up', () => {
  const signUp = (browser: TestBrowser, email: string) =>
    post(browser, '/sign-up/email', { name: 'New', email, password: PASSWORD })

  test('that is closed takes nobody, opens no shop, and says so', async () => {
    const closed = await createTestPeople({}, { signUp: 'closed' })
    try {
      const browser = closed.browser()
      const refused = await signUp(browser, 'new@example.com')
      expect([refused.status, refused.body.code]).toEqual([403, 'SIGN_UP_CLOSED'])
      expect((await browser.ask('GET', '/api/auth/sign-up')).body).toEqual({
        mode: 'closed',
        message: refused.body.message,
      })
      const { rows } = await closed.api.database.owner.query('select from person')
      expect(rows).toEqual([])
    } finally {
      await closed.drop()
    }
  })

  test('for invited people takes them, while their invitation lasts, and lets them open no shop', async () => {
    const invited = await createTestPeople({}, { signUp: 'invite' })
    try {
      await invited.api.addMerchant()
      await invited.api.database.owner.query(
        `insert into organization_invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at)
         select email, (select id from organization), email, 'member', 'pending', (select id from person),
           now() + lasts, now()
         from (values ('in@example.com', interval '1 day'), ('late@example.com', interval '-1 day')) as asked (email, lasts)`,
      )
      const browser = invited.browser()
      expect((await signUp(browser, 'late@example.com')).body.code).toBe('SIGN_UP_CLOSED')
      expect((await signUp(browser, 'other@example.com')).body.code).toBe('SIGN_UP_CLOSED')
      expect((await signUp(browser, 'In@example.com')).status).toBe(200)
      const shop = await post(browser, '/open-shop', { name: 'Own' })
      expect([shop.status, shop.body.code]).toEqual([403, 'SHOPS_CLOSED'])
    } finally {
      await invited.drop()
    }
  })

  test('that is not open tells no stranger who has an account, nor does a forgotten password', async () => {
    const invited = await createTestPeople({}, { signUp: 'invite' })
    try {
      await invited.api.addMerchant()
      const { owner } = invited.api.database
      await owner.query(
        `insert into organization_invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at)
         select 'one', (select id from organization), 'in@example.com', 'member', 'pending', (select id from person),
           now() + interval '1 day', now()`,
      )
      expect((await signUp(invited.browser(), 'in@example.com')).status).toBe(200)
      await owner.query('delete from organization_invitation')
      const told = async (path: string, email: string) => {
        const { status, body } = await post(invited.browser(), path, {
          name: 'New',
          email,
          password: PASSWORD,
        })
        return { status, body }
      }
      for (const path of ['/sign-up/email', '/request-password-reset'])
        expect(await told(path, 'in@example.com'), path).toEqual(await told(path, 'nobody@example.com'))
    } finally {
      await invited.drop()
    }
  })
})

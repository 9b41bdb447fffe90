import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMerchant } from '../../src/flows/create-merchant.ts'
import { hashPassword } from '../../src/people/hash-password.ts'
import { hashApiKey, newApiKey } from '../../src/secrets/new-api-key.ts'
import { codeOf, createTestPeople, PASSWORD, type TestBrowser, type TestPeople } from '../support/people.ts'

/**
 * What a thief with the password of the API's database role, and no SECRET_KEY, tries to be somebody. Each theft is
 * shown to be one: with the seals that only the key makes, the same rows let them in.
 */
let people: TestPeople
beforeAll(async () => {
  people = await createTestPeople()
})
afterAll(() => people.drop())

const steal = (sql: string, values: unknown[] = []) => people.api.database.pools.api.query(sql, values)
/** What the rows would be worth if the thief could seal them. */
const withTheKey = () => people.api.writeSealed('select')
const ask = (browser: TestBrowser, path: string, body: object) =>
  browser.ask('POST', `/api/auth${path}`, body)
const idOf = async (email: string): Promise<string> =>
  (await people.api.database.owner.query<{ id: string }>('select id from person where email = $1', [email]))
    .rows[0]?.id ?? ''
const confirm = (email: string) =>
  people.api.writeSealed('update person set email_verified = true where email = $1', [email])

async function shopOf(name: string, { withSecondFactor = false } = {}) {
  const one = await people.signUp(`${name} ${randomUUID()}`)
  const factor = withSecondFactor ? await people.enableSecondFactor(one.browser) : null
  return { ...one, id: await idOf(one.email), secret: factor?.secret ?? '' }
}

const createLiveEndpoint = async (browser: TestBrowser, merchantId: string) => {
  const cookies = [...browser.cookies]
  await ask(browser, '/organization/set-active', { organizationId: merchantId })
  const body = { url: 'https://thief.example/hook', subscribed_events: ['*'] }
  const { status } = await browser.ask('POST', '/api/v1/webhook-endpoints', body, { 'paylink-mode': 'live' })
  // Who is taken for nobody loses the cookie; a thief has kept it.
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return status
}
const signIn = async (email: string, password: string) =>
  (await ask(people.browser(), '/sign-in/email', { email, password })).status

test('a membership put in, and a role raised, with SQL count for nothing', async () => {
  const [victim, thief] = [await shopOf('Vic'), await shopOf('Mal', { withSecondFactor: true })]
  const member = randomUUID()
  await steal(
    `insert into organization_member (id, organization_id, user_id, role, created_at) values ($1, $2, $3, 'owner', now())`,
    [member, victim.merchantId, thief.id],
  )
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).not.toBe(201)
  await withTheKey()
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).toBe(201)

  await people.api.writeSealed(`update organization_member set role = 'viewer' where id = $1`, [member])
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).toBe(403)
  await steal(`update organization_member set role = 'owner' where id = $1`, [member])
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).toBe(401)
})

test('the seal of a membership does not serve another shop', async () => {
  const [victim, thief] = [await shopOf('Vic'), await shopOf('Mal', { withSecondFactor: true })]
  await steal('update organization_member set organization_id = $1 where user_id = $2', [
    victim.merchantId,
    thief.id,
  ])
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).not.toBe(201)
})

test('a second factor that was not proved, and a sign-in turned to somebody else, count for nothing', async () => {
  const [victim, thief] = [await shopOf('Vic'), await shopOf('Mal', { withSecondFactor: true })]
  await steal('update person_session set second_factor_at = now() where user_id = $1', [victim.id])
  expect(await createLiveEndpoint(victim.browser, victim.merchantId)).toBe(401)
  await withTheKey()
  expect(await createLiveEndpoint(victim.browser, victim.merchantId)).toBe(201)

  await steal('update person_session set user_id = $1 where user_id = $2', [victim.id, thief.id])
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).toBe(401)
  await withTheKey()
  expect(await createLiveEndpoint(thief.browser, victim.merchantId)).toBe(201)
})

test('an API key put in, or brought back after it was revoked, with SQL opens nothing, and is logged once', async () => {
  const { merchantId, browser } = await shopOf('Vic', { withSecondFactor: true })
  const key = newApiKey(true)
  const id = `key_${randomUUID()}`
  await steal(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at)
     values ($1, $2, true, $3, '{invoices:read}', now())`,
    [merchantId, id, hashApiKey(key)],
  )
  const list = async (one: string) => {
    people.api.time.advance(2_000)
    return (await people.api.call('GET', '/invoices', { key: one })).status
  }
  expect([await list(key), await list(key)]).toEqual([401, 401])
  expect(people.api.logged.filter((line) => line.includes(id))).toHaveLength(1)
  expect(people.api.deps.seals.refusals.count).toBeGreaterThan(1)
  await withTheKey()
  expect(await list(key)).toBe(200)

  const made = await browser.ask('POST', '/api/v1/api-keys', { name: 'Till', scopes: ['invoices:read'] })
  expect(await list(made.body.key)).toBe(200)
  expect((await browser.ask('POST', `/api/v1/api-keys/${made.body.id}/revoke`)).status).toBe(200)
  const undo = steal('update api_key set revoked_at = null where id = $1', [made.body.id])
  await expect(undo).rejects.toThrow('was revoked')
  expect(await list(made.body.key)).toBe(401)
})

test("a password, and an email address, that a thief wrote over somebody's let nobody in", async () => {
  const victim = await shopOf('Vic')
  const hash = await hashPassword('a password of the thief')
  await steal('update person_account set password = $1 where user_id = $2', [hash, victim.id])
  expect(await signIn(victim.email, 'a password of the thief')).toBe(401)
  await withTheKey()
  expect(await signIn(victim.email, 'a password of the thief')).toBe(200)

  const address = `thief-${randomUUID()}@example.com`
  await steal('update person set email = $1 where id = $2', [address, victim.id])
  const letters = () => people.emails.filter(({ to }) => to === address).length
  await ask(people.browser(), '/request-password-reset', { email: address })
  expect(letters()).toBe(0)
  await withTheKey()
  await ask(people.browser(), '/request-password-reset', { email: address })
  expect(letters()).toBe(1)
})

test('a link for a new password can be neither put in nor read from the table', async () => {
  const victim = await shopOf('Vic')
  const token = randomUUID()
  const identifier = createHash('sha256').update(`reset-password:${token}`).digest('base64url')
  for (const planted of [identifier, `reset-password:${token}`]) {
    await steal(
      `insert into person_verification (id, identifier, value, expires_at, created_at, updated_at)
       values ($1, $2, $3, now() + interval '1 hour', now(), now())`,
      [randomUUID(), planted, victim.id],
    )
  }
  const choose = async (given: string) =>
    (await ask(people.browser(), '/reset-password', { token: given, newPassword: 'a new password' })).status
  expect(await choose(token)).toBe(400)

  await ask(people.browser(), '/request-password-reset', { email: victim.email })
  const sent =
    /token=([\w-]+)/.exec(people.emails.findLast(({ to }) => to === victim.email)?.text ?? '')?.[1] ?? ''
  const { rows } = await steal('select identifier from person_verification where value = $1', [victim.id])
  expect(rows.length).toBeGreaterThan(0)
  expect(JSON.stringify(rows)).not.toContain(sent)
  for (const { identifier: read } of rows) expect(await choose(String(read))).toBe(400)
  expect(await choose(sent)).toBe(200)
})

test("a thief's authenticator and passkey, copied to somebody's, prove nothing", async () => {
  const [victim, thief] = [
    await shopOf('Vic', { withSecondFactor: true }),
    await shopOf('Mal', { withSecondFactor: true }),
  ]
  await steal(
    `update person_two_factor as mine set secret = theirs.secret, backup_codes = theirs.backup_codes, seal = theirs.seal
     from person_two_factor as theirs where mine.user_id = $1 and theirs.user_id = $2`,
    [victim.id, thief.id],
  )
  const prove = async () =>
    (await ask(victim.browser, '/two-factor/verify-totp', { code: await codeOf(thief.secret) })).status
  expect(await prove()).not.toBe(200)
  await withTheKey()
  await steal('delete from presented_code')
  expect(await prove()).toBe(200)

  await steal(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     values ($1, $2, 'key', $1, 0, 'singleDevice', false)`,
    [randomUUID(), victim.id],
  )
  const passkeys = async () => (await victim.browser.ask('GET', '/api/auth/passkey/list-user-passkeys')).body
  expect(await passkeys()).toEqual([])
  await withTheKey()
  expect(await passkeys()).toHaveLength(1)
})

test('an invitation put in, or raised, with SQL makes nobody a member', async () => {
  const [victim, thief] = [await shopOf('Vic', { withSecondFactor: true }), await shopOf('Mal')]
  await confirm(thief.email)
  const invitationId = randomUUID()
  await steal(
    `insert into organization_invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at)
     values ($1, $2, $3, 'admin', 'pending', $4, now() + interval '1 day', now())`,
    [invitationId, victim.merchantId, thief.email, victim.id],
  )
  const accept = async (id: string) =>
    (await ask(thief.browser, '/organization/accept-invitation', { invitationId: id })).status
  expect(await accept(invitationId)).toBe(400)

  const invitation = { email: thief.email, role: 'viewer', organizationId: victim.merchantId }
  const invited = await ask(victim.browser, '/organization/invite-member', invitation)
  expect(invited.status, invited.text).toBe(200)
  await steal(`update organization_invitation set role = 'admin' where id = $1`, [invited.body.id])
  expect(await accept(invited.body.id)).toBe(400)
  await withTheKey()
  expect(await accept(invited.body.id)).toBe(200)
})

test('a row of a thief before the one that counts does not hide it', async () => {
  const victim = await shopOf('Vic')
  await steal(
    `insert into person_account (id, user_id, account_id, provider_id, password, created_at, updated_at)
     values ('0', $1, $1, 'credential', 'x', now() - interval '1 year', now())`,
    [victim.id],
  )
  expect(await signIn(victim.email, PASSWORD)).toBe(200)
  const changed = { currentPassword: PASSWORD, newPassword: 'another password', revokeOtherSessions: true }
  expect((await ask(victim.browser, '/change-password', changed)).status).toBe(200)
  expect(await signIn(victim.email, 'another password')).toBe(200)
})

test('a passkey deleted with SQL leaves its owner no password-only way to a new one', async () => {
  const victim = await shopOf('Vic')
  await people.api.writeSealed(
    `insert into person_passkey (id, user_id, public_key, credential_id, counter, device_type, backed_up)
     values ($1, $1, 'key', $1, 0, 'singleDevice', false)`,
    [victim.id],
  )
  await confirm(victim.email)
  await steal('delete from person_passkey where user_id = $1', [victim.id])
  const thief = people.browser()
  expect((await ask(thief, '/sign-in/email', { email: victim.email, password: PASSWORD })).status).toBe(200)
  const add = () => thief.ask('GET', '/api/auth/passkey/generate-register-options')
  const enable = () => ask(thief, '/two-factor/enable', { password: PASSWORD })
  expect([(await add()).status, (await enable()).status]).toEqual([403, 403])
  await steal(`update access_set set entries = '{}' where owner_id = $1`, [victim.id])
  expect([(await add()).status, (await enable()).status]).toEqual([403, 403])
  // The operator looked, and accepts that there is none.
  await withTheKey()
  expect((await add()).status).toBe(200)
})

test("an account that took a new owner's address with SQL is made the owner of nothing", async () => {
  const thief = await shopOf('Mal')
  const email = `new-${randomUUID()}@example.com`
  await steal('update person set email = $1 where id = $2', [email, thief.id])
  const deps = { pool: people.api.database.owner, clock: () => new Date(), seals: people.api.deps.seals }
  const make = () => createMerchant(deps, { name: 'New', email })
  await expect(make()).rejects.toThrow('paylink access check')
  await steal('update person set email = $1 where id = $2', [thief.email, thief.id])
  const { id } = await make()
  expect(await createLiveEndpoint(thief.browser, id)).not.toBe(201)
})

test('counts of guesses taken back with SQL give no more guesses', async () => {
  const victim = await shopOf('Vic', { withSecondFactor: true })
  const guess = async (at: number) => {
    await steal('delete from secret_guess')
    await steal('delete from sign_in_rate')
    const code = String(100_000 + at)
    return (await ask(victim.browser, '/two-factor/verify-totp', { code })).status
  }
  const codes: number[] = []
  for (let at = 0; at < 7; at++) codes.push(await guess(at))
  expect(codes).toEqual([401, 401, 401, 401, 401, 429, 429])

  const passwords: number[] = []
  for (let at = 0; at < 12; at++) {
    await steal('delete from secret_guess')
    passwords.push(await signIn(victim.email, `guess number ${at}`))
  }
  expect(passwords).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429])
})

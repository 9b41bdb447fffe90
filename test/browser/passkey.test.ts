// @module-tag chromium
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE_URL } from '../support/api.ts'
import { type Authenticator, addAuthenticator, launchBrowser } from '../support/browser.ts'
import { createTestPeople, type TestBrowser, type TestPeople } from '../support/people.ts'

/** Passkeys from end to end: Chromium's own WebAuthn with an authenticator of its making, against the sign-in. */
let people: TestPeople
let chromium: Browser
beforeAll(async () => {
  people = await createTestPeople()
  chromium = await launchBrowser()
})
afterAll(async () => {
  await chromium.close()
  await people.drop()
})

/** A page of ours with an authenticator that its owner unlocks, or does not. */
async function openAuthenticator(): Promise<Authenticator & { page: Page }> {
  const page = await chromium.newPage()
  await page.route(`${BASE_URL}/**`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Paylink</title>' }),
  )
  await page.goto(`${BASE_URL}/dashboard/`)
  return { page, ...(await addAuthenticator(page)) }
}

const register = (page: Page, options: PublicKeyCredentialCreationOptionsJSON) =>
  page.evaluate(async (given) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(given)
    const made = await navigator.credentials.create({ publicKey })
    return made instanceof PublicKeyCredential ? made.toJSON() : null
  }, options)

const assert = (page: Page, options: PublicKeyCredentialRequestOptionsJSON) =>
  page.evaluate(async (given) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(given)
    const found = await navigator.credentials.get({ publicKey })
    return found instanceof PublicKeyCredential ? found.toJSON() : null
  }, options)

const optionsFor = async (browser: TestBrowser, act: 'register' | 'authenticate') =>
  (await browser.ask('GET', `/api/auth/passkey/generate-${act}-options`)).body
const prove = async (browser: TestBrowser, response: unknown) =>
  browser.ask('POST', '/api/auth/passkey/verify-authentication', { response })
const proveWith = async (page: Page, browser: TestBrowser) =>
  prove(browser, await assert(page, await optionsFor(browser, 'authenticate')))

async function addPasskey(page: Page, browser: TestBrowser, email: string) {
  await people.api.writeSealed('update person set email_verified = true where email = $1', [email])
  const made = await register(page, await optionsFor(browser, 'register'))
  const added = await browser.ask('POST', '/api/auth/passkey/verify-registration', {
    name: 'Laptop',
    response: made,
  })
  expect(added.status, added.text).toBe(200)
  return { id: String(added.body.id), response: made }
}
const createLiveEndpoint = (browser: TestBrowser) =>
  browser.ask(
    'POST',
    '/api/v1/webhook-endpoints',
    { url: 'https://shop.example/hook', subscribed_events: ['*'] },
    { 'paylink-mode': 'live' },
  )

test('a passkey signs in, is a second factor for live mode, renews the cookie, and is useless once removed', async () => {
  const { page } = await openAuthenticator()
  const { browser, email, merchantId } = await people.signUp('Key')
  const { id } = await addPasskey(page, browser, email)
  expect((await createLiveEndpoint(browser)).body.error.code).toBe('second_factor_required')
  const before = people.browser()
  for (const [name, value] of browser.cookies) before.cookies.set(name, value)
  const proved = await proveWith(page, browser)
  expect(proved.status, proved.text).toBe(200)
  expect((await before.ask('GET', '/api/v1/assets')).status).toBe(401)
  expect((await createLiveEndpoint(browser)).status).toBe(201)
  const fresh = people.browser()
  expect((await proveWith(page, fresh)).status).toBe(200)
  expect((await fresh.ask('GET', '/api/auth/get-session')).body.session.activeOrganizationId).toBe(merchantId)
  const removed = await fresh.ask('POST', '/api/auth/passkey/delete-passkey', { id })
  expect(removed.status, removed.text).toBe(200)
  expect((await createLiveEndpoint(browser)).body.error.code).toBe('second_factor_required')
  expect((await proveWith(page, people.browser())).status).toBe(401)
})

test("a passkey's answer works once, for the browser that asked, and only where its owner unlocked it", async () => {
  const { page, cdp, authenticatorId } = await openAuthenticator()
  const { browser, email } = await people.signUp('Once')
  await addPasskey(page, browser, email)
  const asking = people.browser()
  const answer = await assert(page, await optionsFor(asking, 'authenticate'))
  const other = people.browser()
  await optionsFor(other, 'authenticate')
  expect((await prove(other, answer)).status).toBe(400)
  expect((await prove(people.browser(), answer)).status).toBe(400)
  expect((await prove(asking, answer)).status).toBe(200)
  expect((await prove(asking, answer)).status).toBe(400)
  const unlocked = await optionsFor(asking, 'authenticate')
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  const locked = await assert(page, { ...unlocked, userVerification: 'discouraged' })
  const refused = await prove(asking, locked)
  expect([refused.status, refused.body.code]).toEqual([401, 'PASSKEY_NOT_UNLOCKED'])
})

test('a passkey is for the person who asked for it, and nobody else can remove it', async () => {
  const { page } = await openAuthenticator()
  const mine = await people.signUp('Mine')
  const { id } = await addPasskey(page, mine.browser, mine.email)
  const thief = await people.signUp('Thief')
  await people.api.writeSealed('update person set email_verified = true where email = $1', [thief.email])
  const { page: other } = await openAuthenticator()
  const made = await register(other, await optionsFor(thief.browser, 'register'))
  const victim = await people.signUp('Victim')
  await people.api.writeSealed('update person set email_verified = true where email = $1', [victim.email])
  // Signed in as the victim, with the thief's ceremony.
  for (const [name, value] of thief.browser.cookies)
    if (!name.endsWith('session_token')) victim.browser.cookies.set(name, value)
  const planted = await victim.browser.ask('POST', '/api/auth/passkey/verify-registration', {
    response: made,
  })
  expect(planted.status).toBe(401)
  const removed = await thief.browser.ask('POST', '/api/auth/passkey/delete-passkey', { id })
  expect(removed.status).toBeGreaterThanOrEqual(400)
  expect((await mine.browser.ask('GET', '/api/auth/passkey/list-user-passkeys')).body).toHaveLength(1)
})

import { setTimeout } from 'node:timers/promises'
import { createOTP } from '@better-auth/utils/otp'
import type { SignInDirectory } from '../../src/directory/sign-in-directory.ts'
import { createApiApp } from '../../src/http/api/app.ts'
import { CLIENT_ADDRESS_HEADER } from '../../src/http/api/client-address.ts'
import type { Email } from '../../src/mail/mail.ts'
import { findSignIn } from '../../src/people/find-sign-in.ts'
import { openAuthentication, type People } from '../../src/people/open-authentication.ts'
import { createPeopleApp } from '../../src/people/people-app.ts'
import type { SignUp } from '../../src/people/sign-up.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { BASE_URL, createTestApi, type TestApi } from './api.ts'
import { withDeclaredAnswers } from './declared-answers.ts'

/** A browser at the dashboard: keeps its cookies, and sends what a browser sends of itself. */
export type TestBrowser = {
  readonly cookies: Map<string, string>
  /** A request to `/api/auth` or `/api/v1`, from the dashboard's own page unless other headers say so. */
  ask(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: { readonly [name: string]: string },
  ): Promise<{ status: number; headers: Headers; text: string; body: PlainJson }>
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
type PlainJson = any

export const PASSWORD = 'correct horse battery'

export type TestPeople = {
  readonly api: TestApi
  readonly emails: Email[]
  /** The sign-in itself. */
  readonly signIn: People
  browser(address?: string): TestBrowser
  fetch(request: Request): Response | Promise<Response>
  /** Signs up a new person, whose address is confirmed, with a shop of their own. */
  signUp(name: string): Promise<{ browser: TestBrowser; email: string; merchantId: string }>
  /** Turns on a second factor; what it returns tells codes. */
  enableSecondFactor(browser: TestBrowser): Promise<{ secret: string; backupCodes: string[] }>
  drop(): Promise<void>
}

/** Sign-in and the API together on one database, as one server serves them. */
export async function createTestPeople(
  changes: { pool?: Pool; signerSealKey?: () => Promise<Uint8Array | null> } = {},
  { signUp = 'open', directory = null }: { signUp?: SignUp; directory?: SignInDirectory | null } = {},
): Promise<TestPeople> {
  const { signerSealKey = async () => null, ...ofApi } = changes
  const api = await createTestApi(ofApi)
  const confirm = (email: string) =>
    api.writeSealed('update person set email_verified = true where email = $1', [email])
  const emails: Email[] = []
  const { pool, log, seals } = api.deps
  const clock = () => new Date()
  const people = openAuthentication({
    pool,
    seals,
    clock,
    log,
    baseUrl: BASE_URL,
    secret: 'a secret of this test, long enough',
    mail: { send: async (message) => void emails.push(message) },
    signUp,
    directory,
  })
  const auth = createPeopleApp({ people, pool, seals, clock, log, baseUrl: BASE_URL, signUp, directory })
  const app = withDeclaredAnswers(
    createApiApp({
      ...api.deps,
      clock,
      signerSealKey,
      findSignIn: (headers) => findSignIn(people, pool, headers),
    }),
  )
  const fetch = (request: Request) =>
    new URL(request.url).pathname.startsWith('/api/auth/') ? auth.fetch(request) : app.fetch(request)
  let browsers = 0
  const browser = (address = addressNumber(browsers++)) => createBrowser(fetch, address)
  return {
    api,
    emails,
    signIn: people,
    browser,
    fetch,
    signUp: async (name) => {
      const one = browser()
      const email = `${name.toLowerCase().replaceAll(' ', '.')}@example.com`
      await expectOk(one.ask('POST', '/api/auth/sign-up/email', { name, email, password: PASSWORD }))
      await confirm(email)
      const shop = await expectOk(one.ask('POST', '/api/auth/open-shop', { name: `Shop of ${name}` }))
      return { browser: one, email, merchantId: shop.body.merchant_id }
    },
    enableSecondFactor: async (one) => {
      await confirm((await one.ask('GET', '/api/auth/get-session')).body.user.email)
      const enabled = await expectOk(one.ask('POST', '/api/auth/two-factor/enable', { password: PASSWORD }))
      const secret = new URL(enabled.body.totpURI).searchParams.get('secret') ?? ''
      await expectOk(one.ask('POST', '/api/auth/two-factor/verify-totp', { code: await codeOf(secret) }))
      return { secret, backupCodes: enabled.body.backupCodes }
    },
    drop: () => api.drop(),
  }
}

/** An address of its own for each browser: the sign-in's limits count by address too. */
export const addressNumber = (number: number): string => `203.${number >> 8}.${number & 255}.7`

const PERIOD_MS = 30_000

/** The one-time code of a secret, some periods of 30 seconds from now (RFC 6238). */
export async function codeOf(secretBase32: string, periods = 0): Promise<string> {
  const left = PERIOD_MS - (Date.now() % PERIOD_MS)
  // An earlier period's code is refused once this one ends: it is taken where there is time to type it. A timer may fire
  // a millisecond before the clock has come that far.
  if (periods < 0 && left < PERIOD_MS / 2) await setTimeout(left + 100)
  const counter = Math.floor(Date.now() / PERIOD_MS) + periods
  return createOTP(decodeBase32(secretBase32), { digits: 6 }).hotp(counter)
}

function decodeBase32(text: string): string {
  let bits = 0n
  let length = 0
  for (const letter of text.replaceAll('=', '')) {
    bits = (bits << 5n) | BigInt('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter))
    length += 5
  }
  bits >>= BigInt(length % 8)
  const bytes = Buffer.alloc(Math.floor(length / 8))
  for (let at = bytes.length - 1; at >= 0; at--) {
    bytes[at] = Number(bits & 255n)
    bits >>= 8n
  }
  return bytes.toString('utf8')
}

async function expectOk<Answer extends { status: number; text: string }>(
  asked: Promise<Answer>,
): Promise<Answer> {
  const answer = await asked
  if (answer.status < 300) return answer
  throw new Error(`answered ${answer.status}: ${answer.text}`)
}

/** A browser whose requests are answered by `fetch`: the sign-in and the API of a test, or a server. */
export function createBrowser(
  fetch: (request: Request) => Response | Promise<Response>,
  address: string,
): TestBrowser {
  const cookies = new Map<string, string>()
  return {
    cookies,
    ask: async (method, path, body, headers = {}) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(
        new Request(new URL(path, BASE_URL), {
          method,
          headers: {
            [CLIENT_ADDRESS_HEADER]: address,
            ...(cookie === '' ? {} : { cookie }),
            ...(method === 'GET' ? {} : { origin: BASE_URL, 'sec-fetch-site': 'same-origin' }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === '' || /max-age=0/i.test(line)) cookies.delete(name)
        else cookies.set(name, value)
      }
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json') === true
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson && text !== '' ? JSON.parse(text) : null,
      }
    },
  }
}

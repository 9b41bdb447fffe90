import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { cellTag } from '../../src/core/cells.ts'
import { PASSWORD } from '../support/people.ts'
import { type Attempt, INSIST_MS_MAX, REQUEST_MS_MAX } from './shop.ts'

/** People of a test who sign in through the one address, again and again. */

const BETWEEN_SIGN_INS_MS = 3_000
const BETWEEN_TRIES_MS = 500

export type Person = {
  readonly cell: number
  readonly email: string
  /** Sign-ins of browsers with the cookie of their cell. */
  readonly known: Attempt[]
  /** Of browsers that were never here: from the first request until it is done, however often that had to be tried. */
  readonly anew: Attempt[]
}

/** Somebody new, at a process of the cell. */
export async function signUp(cell: number, cellUrl: string, site: string): Promise<Person> {
  const email = `person${cell}@example.com`
  const response = await fetch(`${cellUrl}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: site },
    body: JSON.stringify({ name: 'P', email, password: PASSWORD, here: true }),
  })
  if (!response.ok) throw new Error(`signing up: ${response.status} ${await response.text()}`)
  return { cell, email, known: [], anew: [] }
}

export type SignInSite = {
  readonly url: string
  /** Addresses of the test: an address signs in twenty times a minute at most. */
  readonly callers: readonly string[]
  isOver(): boolean
}

/** Signs in every few seconds, with a browser of each kind. */
export async function keepSigningIn(site: SignInSite, person: Person): Promise<void> {
  const loop = async (signInOnce: () => Promise<void>) => {
    while (!site.isOver()) {
      await signInOnce()
      await pause(BETWEEN_SIGN_INS_MS)
    }
  }
  const cookie = `paylink_cell=${cellTag(person.cell)}`
  await Promise.all([
    loop(async () => {
      const startedAt = Date.now()
      const answer = await signIn(site, person, cookie)
      person.known.push({ startedAt, endedAt: Date.now(), ...answer })
    }),
    loop(async () => {
      const startedAt = Date.now()
      while ((await signIn(site, person, null)).status !== 200) {
        if (Date.now() - startedAt > INSIST_MS_MAX) throw new Error(`${person.email} cannot sign in`)
        await pause(BETWEEN_TRIES_MS)
      }
      person.anew.push({ startedAt, endedAt: Date.now(), status: 200 })
    }),
  ])
}

let browsers = 0

/** As the dashboard does: what belongs to another cell is asked for once more, with the cookie of the refusal. */
async function signIn(
  { url, callers }: SignInSite,
  { email }: Person,
  cookie: string | null,
): Promise<Pick<Attempt, 'status' | 'refusal'>> {
  browsers += 1
  const dispatcher = new Agent({ localAddress: callers[browsers % callers.length] ?? '' })
  const ask = async (sent: string | null) => {
    const { statusCode, headers, body } = await request(`${url}/api/auth/sign-in/email`, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        origin: url,
        ...(sent === null ? {} : { cookie: sent }),
      },
      body: JSON.stringify({ email, password: PASSWORD }),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    })
    const text = await body.text()
    const refusal = statusCode < 300 ? '' : `with ${sent}: ${text}`
    return { status: statusCode, refusal, cookies: [headers['set-cookie'] ?? []].flat() }
  }
  try {
    const { cookies, ...first } = await ask(cookie)
    if (first.status !== 421) return first
    const { status, refusal } = await ask(cookies[0]?.split(';')[0] ?? null)
    return { status, refusal }
  } catch (error) {
    // The connection broke, or nobody answered in time.
    return { status: null, refusal: String(error) }
  } finally {
    await dispatcher.destroy()
  }
}

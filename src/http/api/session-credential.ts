import { parse } from 'hono/utils/cookie'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import { sessionCookieOf } from '../../core/people/session-cookie.ts'
import type { MemberRole } from '../../db/people/people.ts'
import { findMemberRole } from '../../flows/member-role.ts'
import type { Pool } from '../../postgres/pool.ts'
import { ownCell } from '../../runtime/own-cell.ts'
import type { Slots } from '../../runtime/slots.ts'
import { SCOPES, type Scope } from '../../wire/scopes.ts'
import type { Credential } from './credentials.ts'
import { ApiProblem } from './problem.ts'

/** Reads the dashboard's cookie; null where nobody is signed in. Throws the 403 of a request from elsewhere. */
export type ReadSession = (request: Request) => Promise<Credential | null>

/** Finds whose sign-in a cookie is, as the sign-in library says. */
export type FindSignIn = (headers: Headers) => Promise<{
  readonly personId: string
  readonly merchantId: string | null
  readonly secondFactorAtMs: number | null
} | null>

/**
 * The mode the dashboard shows. If the header is missing it is test, so that a forgotten header never touches live.
 */
const MODE_HEADER = 'paylink-mode'

const READ_SCOPES = SCOPES.filter((scope) => scope.endsWith(':read'))
const MEMBER_SCOPES: readonly Scope[] = [
  ...READ_SCOPES,
  'invoices:write',
  'payment_links:write',
  'checkout_sessions:write',
  'deposits:write',
  'webhooks:write',
  'events:write',
  'payouts:write',
]
const SCOPES_OF_ROLE: { readonly [role in MemberRole]: ReadonlySet<Scope> } = {
  viewer: new Set(READ_SCOPES),
  member: new Set(MEMBER_SCOPES),
  admin: new Set(SCOPES),
  owner: new Set(SCOPES),
}

/**
 * The dashboard's credential: the organization that the sign-in has chosen, in the mode that the request names,
 * with the role that the person has there now. Each reads the database before it is known whose it is: those of one
 * sign-in take turns.
 */
export function createReadSession(options: {
  pool: Pool
  seals: AccessSeals
  baseUrl: string
  findSignIn: FindSignIn
  slots: Slots
}): ReadSession {
  const { pool, seals, baseUrl, findSignIn, slots } = options
  const name = sessionCookieOf(baseUrl, ownCell())
  return async (request) => {
    const cookie = parse(request.headers.get('cookie') ?? '', name)[name]
    if (cookie === undefined) return null
    // Whatever else the browser sent would be another queue of the same sign-in.
    const headers = new Headers({ cookie: `${name}=${encodeURIComponent(cookie)}` })
    const token = cookie.slice(0, cookie.lastIndexOf('.'))
    const signIn = await slots.run(`sign-in ${token}`, () => findSignIn(headers))
    if (signIn === null || signIn.merchantId === null) return null
    const { personId, merchantId, secondFactorAtMs } = signIn
    const role = await findMemberRole(pool, seals, { userId: personId, merchantId })
    if (role === null) return null
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseCrossOrigin(request.headers, baseUrl)
    return {
      callerId: personId,
      tenant: { merchantId, livemode: readMode(request.headers) },
      scopes: SCOPES_OF_ROLE[role],
      person: { personId, role, secondFactorAtMs },
    }
  }
}

function readMode(headers: Headers): boolean {
  const mode = headers.get(MODE_HEADER) ?? 'test'
  if (mode !== 'live' && mode !== 'test') throw new ApiProblem('parameter_invalid', { param: MODE_HEADER })
  return mode === 'live'
}

/**
 * A browser sends its cookies with anyone's request; Origin and Sec-Fetch-Site say whose it is, and no page can forge
 * them.
 */
function refuseCrossOrigin(headers: Headers, baseUrl: string): void {
  const origin = headers.get('origin')
  const site = headers.get('sec-fetch-site')
  const isOurs = origin === null ? site === 'same-origin' : origin === baseUrl
  if (!isOurs || (site !== null && site !== 'same-origin')) throw new ApiProblem('cross_origin_refused')
}

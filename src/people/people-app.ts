import { type Context, Hono } from 'hono'
import { DatabaseError } from 'pg'
import { z } from 'zod'
import { cellTag } from '../core/cells.ts'
import { merchantAway } from '../core/merchant-away.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import type { SignInDirectory } from '../directory/sign-in-directory.ts'
import { openShop } from '../flows/open-shop.ts'
import { isDatabaseAway } from '../postgres/database-away.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { limitBody } from '../web/limit-body.ts'
import { findSignIn } from './find-sign-in.ts'
import type { People } from './open-authentication.ts'
import { AUTH_PREFIX } from './paths.ts'
import { SIGN_UP_MESSAGES, type SignUp } from './sign-up.ts'
import { withTeamAudit } from './team-audit.ts'

const BODY_BYTES_MAX = 16 * 1_024
const RETRY_AFTER_SECONDS = '1'
/** After too many guesses; the library itself says how long its own limits last. */
const GUESS_RETRY_SECONDS = '900'
const NO_STORE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/**
 * Sign-in and everything around it, for the dashboard: the library's endpoints, those that are listed and no
 * other, asked in JSON and from the dashboard's own pages.
 */
export function createPeopleApp(options: {
  people: People
  pool: Pool
  seals: AccessSeals
  clock: Clock
  log: Log
  baseUrl: string
  signUp: SignUp
  directory?: SignInDirectory | null
}): Hono {
  const { people, baseUrl, signUp } = options
  const app = new Hono()
  app.use(
    `${AUTH_PREFIX}/*`,
    limitBody(BODY_BYTES_MAX, (c) => c.json(problem('BODY_TOO_LARGE'), 413, NO_STORE)),
  )
  app.post(`${AUTH_PREFIX}/*`, async (c, next) => {
    if (!isJson(c.req.header('content-type'))) return c.json(problem('JSON_ONLY'), 415, NO_STORE)
    if (!isOwnPage(c.req.raw.headers, baseUrl)) return c.json(problem('CROSS_ORIGIN'), 403, NO_STORE)
    return next()
  })
  app.get(`${AUTH_PREFIX}/sign-up`, (c) =>
    c.json({ mode: signUp, message: signUp === 'open' ? null : SIGN_UP_MESSAGES[signUp] }, 200, NO_STORE),
  )
  app.get(`${AUTH_PREFIX}/other-cells`, async (c) => {
    const signIn = await findSignIn(people, options.pool, c.req.raw.headers)
    if (signIn === null) return c.json(problem('SIGN_IN'), 401, NO_STORE)
    // Who has not confirmed an address learns nothing about it.
    const cells = signIn.isEmailVerified ? await options.directory?.otherCellsOf(signIn.email) : null
    const named = (cells ?? []).map((number) => ({ number, tag: cellTag(number) }))
    return c.json({ cells: named }, 200, NO_STORE)
  })
  app.post(`${AUTH_PREFIX}/open-shop`, async (c) => {
    const signIn = await findSignIn(people, options.pool, c.req.raw.headers)
    if (signIn === null) return c.json(problem('SIGN_IN'), 401, NO_STORE)
    if (signUp !== 'open') return c.json(problem('SHOPS_CLOSED'), 403, NO_STORE)
    const input = shopShape.safeParse(await c.req.json().catch(() => null))
    if (!input.success) return c.json(problem('NAME_INVALID'), 400, NO_STORE)
    const opened = await openShop(options, { ...signIn, name: input.data.name })
    if (opened.kind === 'too_many') return c.json(problem('TOO_MANY_SHOPS'), 409, NO_STORE)
    return c.json({ merchant_id: opened.merchantId }, 201, NO_STORE)
  })
  app.on(['GET', 'POST'], `${AUTH_PREFIX}/*`, async (c) => {
    const path = c.req.path.slice(AUTH_PREFIX.length)
    const shape = SERVED_REQUESTS.get(`${c.req.method} ${path}`)
    if (shape === undefined) return c.json(problem('NOT_FOUND'), 404, NO_STORE)
    const given = shape.safeParse(c.req.method === 'GET' ? c.req.query() : await readJson(c.req.raw))
    if (!given.success) return c.json(problem('REQUEST_INVALID'), 400, NO_STORE)
    const { headers } = c.req.raw
    const ask = () => people.handler(requestOf(c.req.raw, baseUrl + c.req.path, given.data))
    const response = await withTeamAudit(options, { path, body: given.data, headers }, ask)
    if (await isMistaken(options, response, headers)) return unavailable(c)
    for (const [name, value] of Object.entries(NO_STORE)) response.headers.set(name, value)
    if (response.status === 429 && !response.headers.has('retry-after'))
      response.headers.set('retry-after', response.headers.get('x-retry-after') ?? GUESS_RETRY_SECONDS)
    return response
  })
  app.all('*', (c) => c.json(problem('NOT_FOUND'), 404, NO_STORE))
  app.onError((error, c) => {
    // Of two that do the same at once, or undo each other, the database lets one.
    if (error instanceof DatabaseError && CONFLICTS.has(error.code ?? '')) {
      return c.json(problem('CONFLICT'), 409, NO_STORE)
    }
    const { path } = c.req
    if (isDatabaseAway(error) || merchantAway(error) !== null) {
      options.log.warn({ err: error, path }, 'the database could not serve a sign-in request')
      return unavailable(c)
    }
    options.log.error({ err: error, path }, 'a sign-in request failed')
    return c.json(problem('FAILED'), 500, NO_STORE)
  })
  return app
}

const unavailable = (c: Context): Response =>
  c.json(problem('UNAVAILABLE'), 503, { ...NO_STORE, 'retry-after': RETRY_AFTER_SECONDS })

/**
 * Whether the library took somebody for nobody, as it does while the database is away. Throws what the database
 * says where it still is.
 */
async function isMistaken(
  { people, pool }: { people: People; pool: Pool },
  response: Response,
  headers: Headers,
): Promise<boolean> {
  const saysNobody = response.status >= 500 || (response.status === 401 && NOBODY.has(await codeOf(response)))
  if (!saysNobody || !headers.has('cookie')) return false
  return (await findSignIn(people, pool, headers)) !== null
}

/** The codes by which an endpoint that wants a sign-in says that there is none. */
const NOBODY = new Set(['UNAUTHORIZED', 'SIGN_IN'])

async function codeOf(response: Response): Promise<string> {
  const text = await response.clone().text()
  return /"code":"([A-Z_]+)"/.exec(text)?.[1] ?? 'UNAUTHORIZED'
}

/** unique_violation and check_violation. */
const CONFLICTS = new Set(['23505', '23514'])

/** The body, or null where it was cut off, or is none that the database could hold. */
async function readJson(request: Request): Promise<unknown> {
  try {
    const text = await request.text()
    return text.includes('\\u0000') ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** What the library is asked: on `BASE_URL`, whatever name the caller knows us by, with what was understood and no more. */
function requestOf(raw: Request, address: string, given: { [field: string]: unknown }): Request {
  const { method, headers } = raw
  if (method !== 'GET') return new Request(address, { method, headers, body: JSON.stringify(given) })
  const query = Object.entries(given).map(([name, value]) => [name, String(value)])
  return new Request(`${address}?${new URLSearchParams(query)}`, { method, headers })
}

const isJson = (type: string | undefined): boolean => /^application\/json(?:;|$)/i.test(type ?? '')

/** No page of another site can forge these two headers; a caller without a browser must send Origin. */
function isOwnPage(headers: Headers, baseUrl: string): boolean {
  const site = headers.get('sec-fetch-site')
  return headers.get('origin') === baseUrl && (site === null || site === 'same-origin')
}

const NAME_LENGTH_MAX = 120
const shopShape = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(NAME_LENGTH_MAX)
    .regex(/^\P{Cc}*$/u)
    .refine((name) => name.trim() !== ''),
})

const MESSAGES = {
  SIGN_IN: 'Sign in first.',
  NAME_INVALID: `Give the shop a name of 1 to ${NAME_LENGTH_MAX} characters.`,
  SHOPS_CLOSED: 'New shops are opened by whoever runs this server. Ask them for one.',
  TOO_MANY_SHOPS: 'You belong to as many organizations as one person can.',
  NOT_FOUND: 'There is nothing here.',
  REQUEST_INVALID: 'Something in this request is missing, too long or not known here.',
  CONFLICT: 'Somebody changed this at the same moment. Look again, then repeat it.',
  UNAVAILABLE: 'Paylink cannot answer just now. Try again in a moment.',
  FAILED: 'Something went wrong here. Try again; if it stays, tell whoever runs this server.',
  JSON_ONLY: 'Send JSON.',
  CROSS_ORIGIN: 'This works from the dashboard itself only.',
  BODY_TOO_LARGE: 'The request is too large.',
}
const problem = (code: keyof typeof MESSAGES) => ({ code, message: MESSAGES[code] })

const TEXT_LENGTH_MAX = 320
const TOKEN_LENGTH_MAX = 2_048
const LIST_MAX = '100'

const text = (max: number = TEXT_LENGTH_MAX) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}*$/u)
const name = text(NAME_LENGTH_MAX).refine((given) => given.trim() !== '')
/** How long one may be is the library's to say. */
const password = z.string()
/** What a browser makes of an authenticator's answer; the library reads it by WebAuthn's rules. */
const credential = z.looseObject({ id: text(TOKEN_LENGTH_MAX) })
/** In this cell, whatever the directory says. */
const here = z.literal(true).optional()
const nothing = z.strictObject({})
const organizationId = text()
const invitation = z.strictObject({ invitationId: text() })
const proof = z.strictObject({ code: text() })
const passwordAlone = z.strictObject({ password })

/**
 * The endpoints of the library that the dashboard uses, each with what the dashboard sends there; no other is
 * reachable, and nothing else gets through: no address to be sent on to afterwards, no device to be trusted
 * without a second factor, no list of roles. A release of the library that brings new ones opens nothing here.
 * A `GET` is described by its query, a `POST` by its body.
 */
const SERVED_REQUESTS: ReadonlyMap<string, z.ZodType<{ [field: string]: unknown }>> = new Map<
  string,
  z.ZodType<{ [field: string]: unknown }>
>([
  ['POST /sign-up/email', z.strictObject({ name, email: text(), password, here })],
  ['POST /sign-in/email', z.strictObject({ email: text(), password, here })],
  ['POST /sign-out', nothing],
  ['GET /get-session', nothing],
  ['GET /list-sessions', nothing],
  ['POST /revoke-session', z.strictObject({ token: text() })],
  ['POST /revoke-other-sessions', nothing],
  ['POST /send-verification-email', z.strictObject({ email: text() })],
  ['GET /verify-email', z.strictObject({ token: text(TOKEN_LENGTH_MAX) })],
  ['POST /request-password-reset', z.strictObject({ email: text(), here })],
  ['POST /reset-password', z.strictObject({ newPassword: password, token: text() })],
  [
    'POST /change-password',
    // A password is changed because somebody else may know it: their sign-ins end with it.
    z.strictObject({
      currentPassword: password,
      newPassword: password,
      revokeOtherSessions: z.literal(true),
    }),
  ],
  ['POST /update-user', z.strictObject({ name })],
  ['POST /two-factor/enable', passwordAlone],
  ['POST /two-factor/disable', passwordAlone],
  ['POST /two-factor/generate-backup-codes', passwordAlone],
  ['POST /two-factor/verify-totp', proof],
  ['POST /two-factor/verify-backup-code', proof],
  ['GET /passkey/generate-register-options', z.strictObject({ name: name.optional() })],
  ['POST /passkey/verify-registration', z.strictObject({ name: name.optional(), response: credential })],
  ['GET /passkey/generate-authenticate-options', nothing],
  ['POST /passkey/verify-authentication', z.strictObject({ response: credential })],
  ['GET /passkey/list-user-passkeys', nothing],
  ['POST /passkey/delete-passkey', z.strictObject({ id: text() })],
  ['GET /organization/list', nothing],
  ['POST /organization/set-active', z.strictObject({ organizationId })],
  [
    'GET /organization/list-members',
    z.strictObject({ organizationId, limit: z.literal(LIST_MAX).optional() }),
  ],
  ['GET /organization/list-invitations', z.strictObject({ organizationId })],
  [
    'POST /organization/invite-member',
    z.strictObject({ email: text(), role: z.enum(['admin', 'member', 'viewer']), organizationId }),
  ],
  ['POST /organization/cancel-invitation', invitation],
  ['GET /organization/get-invitation', z.strictObject({ id: text() })],
  ['POST /organization/accept-invitation', invitation],
  ['POST /organization/reject-invitation', invitation],
  [
    'POST /organization/update-member-role',
    z.strictObject({
      memberId: text(),
      role: z.enum(['owner', 'admin', 'member', 'viewer']),
      organizationId,
    }),
  ],
  [
    'POST /organization/remove-member',
    // An id: the library takes an email address here too.
    z.strictObject({ memberIdOrEmail: text().regex(/^[^@]*$/), organizationId }),
  ],
  ['POST /organization/leave', z.strictObject({ organizationId })],
])

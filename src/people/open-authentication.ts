import { passkey } from '@better-auth/passkey'
import { verify } from '@node-rs/argon2'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { APIError, isAPIError } from 'better-auth/api'
import { symmetricDecrypt } from 'better-auth/crypto'
import { twoFactor } from 'better-auth/plugins'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { cookiePrefixOf } from '../core/people/session-cookie.ts'
import { isNewPlace } from '../db/people/notices.ts'
import { findFirstMerchant, findPersonToNotify, noteKnownPlace } from '../db/people/people.ts'
import type { SignInDirectory } from '../directory/sign-in-directory.ts'
import { endUnconfirmedFactors } from '../flows/end-second-factors.ts'
import { blockOf, CLIENT_ADDRESS_HEADER, UNKNOWN_BLOCK } from '../http/api/client-address.ts'
import type { Mail } from '../mail/mail.ts'
import { signInEmail } from '../mail/notice-emails.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { ownCell } from '../runtime/own-cell.ts'
import { resetMail, verificationMail } from './emails.ts'
import { forgetGuessesElsewhere, guardHooks } from './guard.ts'
import { GuessMemory } from './guess-memory.ts'
import { hashPassword } from './hash-password.ts'
import { AUTH_PREFIX } from './paths.ts'
import { openSealedAdapter, SEAL_FIELDS } from './sealed-adapter.ts'
import { shopMembers } from './shop-members.ts'
import type { SignUp } from './sign-up.ts'
import {
  ACCOUNT_TABLE,
  PASSKEY_TABLES,
  RATE_TABLE,
  SESSION_TABLE,
  TWO_FACTOR_TABLES,
  USER_TABLE,
  VERIFICATION_TABLE,
} from './table-names.ts'

/** Sign-ins end after a week without use, and are renewed at most once an hour of use. */
const SESSION_SECONDS = 7 * 24 * 3_600
const SESSION_RENEW_SECONDS = 3_600
const RESET_LINK_SECONDS = 3_600
const VERIFICATION_LINK_SECONDS = 24 * 3_600
const PASSWORD_LENGTH_MIN = 10
const PASSWORD_LENGTH_MAX = 128

export type PeopleDeps = {
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly clock: Clock
  readonly log: Log
  readonly baseUrl: string
  /** Signs cookies and encrypts what the library keeps; derived from the installation's key. */
  readonly secret: string
  readonly mail: Mail
  readonly signUp: SignUp
  /** In which cell somebody signs in; null or absent where there is one cell. */
  readonly directory?: SignInDirectory | null
}

/**
 * The authentication of the people who run a shop, by better-auth on our own tables. What it lacks stands in
 * guard.ts: guesses counted before they are evaluated, codes used once, sign-ins renewed at a second factor.
 */
export function openAuthentication(deps: PeopleDeps) {
  const { pool, baseUrl, mail } = deps
  const guesses = new GuessMemory()
  return betterAuth({
    appName: 'Paylink',
    baseURL: baseUrl,
    basePath: AUTH_PREFIX,
    secret: deps.secret,
    database: (options: BetterAuthOptions) => openSealedAdapter(options, { pool, seals: deps.seals }),
    trustedOrigins: [baseUrl],
    telemetry: { enabled: false },
    logger: {
      log: (level, message) => deps.log[level === 'error' ? 'warn' : 'debug']({ part: 'people' }, message),
    },
    // Errors that the library did not expect are rethrown to the caller, which reports and logs them.
    onAPIError: {
      onError: (error) => {
        if (!isAPIError(error)) throw error
      },
    },
    user: USER_TABLE,
    account: ACCOUNT_TABLE,
    // A link's token is stored hashed: a reader of the table cannot use it.
    verification: { ...VERIFICATION_TABLE, storeIdentifier: 'hashed' },
    session: {
      ...SESSION_TABLE,
      expiresIn: SESSION_SECONDS,
      updateAge: SESSION_RENEW_SECONDS,
      additionalFields: {
        secondFactorAt: { type: 'date', required: false, input: false, fieldName: 'second_factor_at' },
      },
    },
    emailAndPassword: passwords({ ...deps, guesses }),
    emailVerification: {
      sendOnSignUp: true,
      expiresIn: VERIFICATION_LINK_SECONDS,
      sendVerificationEmail: ({ user, token }) => mail.send(verificationMail(baseUrl, user, token)),
      beforeEmailVerification: ({ id }) => endUnconfirmedFactors(deps, id, { sessions: false }),
    },
    rateLimit: RATE_LIMITS,
    advanced: cookies(baseUrl),
    databaseHooks: { session: { create: sessionHooks(deps) } },
    hooks: guardHooks({ ...deps, guesses }),
    plugins: [
      SEAL_FIELDS,
      shopMembers(deps),
      twoFactor({
        issuer: 'Paylink',
        schema: TWO_FACTOR_TABLES,
        backupCodeOptions: { storeBackupCodes: 'encrypted' },
      }),
      passkey({
        schema: PASSKEY_TABLES,
        rpID: new URL(baseUrl).hostname,
        rpName: 'Paylink',
        origin: baseUrl,
        authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' },
        authentication: { afterVerification: async ({ verification }) => requireUserVerified(verification) },
      }),
    ],
  })
}

/** Per address and path, besides the guesses that guard.ts counts. */
const RATE_LIMITS = {
  enabled: true,
  storage: 'database',
  ...RATE_TABLE,
  window: 60,
  max: 120,
  customRules: {
    '/sign-in/email': { window: 60, max: 20 },
    '/sign-up/email': { window: 3_600, max: 20 },
    '/request-password-reset': { window: 3_600, max: 10 },
    '/send-verification-email': { window: 3_600, max: 10 },
    '/organization/invite-member': { window: 3_600, max: 60 },
  },
} satisfies BetterAuthOptions['rateLimit']

function passwords({ pool, seals, guesses, baseUrl, mail }: PeopleDeps & { readonly guesses: GuessMemory }) {
  return {
    enabled: true,
    autoSignIn: true,
    minPasswordLength: PASSWORD_LENGTH_MIN,
    maxPasswordLength: PASSWORD_LENGTH_MAX,
    revokeSessionsOnPasswordReset: true,
    resetPasswordTokenExpiresIn: RESET_LINK_SECONDS,
    password: {
      hash: hashPassword,
      verify: ({ hash: stored, password }) => verify(stored, password),
    },
    sendResetPassword: ({ user, token }) => mail.send(resetMail(baseUrl, user, token)),
    onPasswordReset: async ({ user }) => {
      await endUnconfirmedFactors({ pool, seals }, user.id, { sessions: true })
      await forgetGuessesElsewhere({ pool, guesses }, user.email)
    },
  } satisfies BetterAuthOptions['emailAndPassword']
}

function cookies(baseUrl: string) {
  return {
    cookiePrefix: cookiePrefixOf(baseUrl, ownCell()),
    useSecureCookies: false,
    defaultCookieAttributes: {
      secure: baseUrl.startsWith('https:'),
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
    },
    ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER], ipv6Subnet: 64 },
  } satisfies BetterAuthOptions['advanced']
}

/** A passkey counts as a second factor: its owner must have unlocked it. */
function requireUserVerified(verification: { authenticationInfo: { userVerified: boolean } }): void {
  if (verification.authenticationInfo.userVerified) return
  throw new APIError('UNAUTHORIZED', {
    code: 'PASSKEY_NOT_UNLOCKED',
    message: 'Unlock your passkey with its PIN or your fingerprint, then try again.',
  })
}

export type People = ReturnType<typeof openAuthentication>

/** The secret of an authenticator app, which the library keeps under its own key; null where it does not open. */
export async function openAuthenticatorSecret(people: People, data: string): Promise<string | null> {
  const { secretConfig: key } = await people.$context
  return symmetricDecrypt({ key, data }).catch(() => null)
}

/** A place without a sign-in for this long counts as new again. */
const PLACE_KEEP_DAYS = 180

type SessionDeps = { readonly pool: Pool; readonly clock: Clock; readonly mail: Mail }
type CreateHooks = NonNullable<NonNullable<BetterAuthOptions['databaseHooks']>['session']>['create']

/** A sign-in opens the person's first shop, and is emailed to them where it came from a new place. */
function sessionHooks(deps: SessionDeps): NonNullable<CreateHooks> {
  return {
    before: async (session) => {
      if (typeof session.activeOrganizationId === 'string') return
      const activeOrganizationId = await findFirstMerchant(deps.pool, session.userId)
      return { data: { ...session, activeOrganizationId } }
    },
    after: async (session) => {
      await notePlace(deps, session)
      await notifyNewPlace(deps, session)
    },
  }
}

/** Where a person has signed in, others' wrong passwords do not count against them. */
async function notePlace(
  { pool, clock }: SessionDeps,
  { userId, ipAddress }: { userId: string; ipAddress?: string | null | undefined },
): Promise<void> {
  const place = blockOf(ipAddress ?? '')
  if (place !== UNKNOWN_BLOCK) {
    await noteKnownPlace(pool, { userId, place, keepDays: PLACE_KEEP_DAYS, now: clock() })
  }
}

/** An email to the person about a sign-in from a browser and address that none before it had. */
async function notifyNewPlace(
  { pool, clock, mail }: SessionDeps,
  session: {
    id: string
    userId: string
    ipAddress?: string | null | undefined
    userAgent?: string | null | undefined
  },
): Promise<void> {
  const { id, userId, ipAddress: address = null, userAgent: browser = null } = session
  if (!(await isNewPlace(pool, { id, userId, ipAddress: address, userAgent: browser }))) return
  const person = await findPersonToNotify(pool, userId)
  if (person !== null) await mail.send(signInEmail(person, { at: clock(), address, browser }))
}

import { passkey } from '@better-auth/passkey'
import { verify } from '@node-rs/argon2'
import { betterAuth } from 'better-auth'
import { APIError, isAPIError } from 'better-auth/api'
import { organization, twoFactor } from 'better-auth/plugins'
import { defaultAc, defaultRoles } from 'better-auth/plugins/organization/access'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { isNewPlace } from '../db/queries/notices.ts'
import { findFirstMerchant, findMemberRole, findPersonToTell, noteKnownPlace } from '../db/queries/people.ts'
import { blockOf, CLIENT_ADDRESS_HEADER, UNKNOWN_BLOCK } from '../http/client-address.ts'
import type { Log } from '../log.ts'
import type { Mail } from '../mail/mail.ts'
import { signInEmail } from '../notices/emails.ts'
import { invitationMail, resetMail, verificationMail } from './emails.ts'
import { forgetGuessesElsewhere, guardHooks } from './guard.ts'
import { hashPassword } from './hash-password.ts'
import { AUTH_PREFIX } from './paths.ts'
import {
  ACCOUNT_TABLE,
  ORGANIZATION_TABLES,
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
const INVITATION_SECONDS = 7 * 24 * 3_600
const PASSWORD_LENGTH_MIN = 10
const PASSWORD_LENGTH_MAX = 128
const MEMBERS_MAX = 100
/** Where nobody signed in for this long, is a strange place again. */
const PLACE_KEEP_DAYS = 180

type PeopleDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly baseUrl: string
  /** Signs cookies and encrypts what the library keeps; derived from the installation's key. */
  readonly secret: string
  readonly mail: Mail
}

/**
 * The authentication of the people who run a shop, by better-auth on our own tables. What it lacks stands in
 * guard.ts: guesses counted before they are evaluated, codes used once, sign-ins renewed at a second factor.
 */
export function openPeople(deps: PeopleDeps) {
  const { pool, clock, baseUrl, mail } = deps
  const isSecure = baseUrl.startsWith('https:')
  return betterAuth({
    appName: 'Paylink',
    baseURL: baseUrl,
    basePath: AUTH_PREFIX,
    secret: deps.secret,
    database: pool,
    trustedOrigins: [baseUrl],
    telemetry: { enabled: false },
    logger: {
      log: (level, message) => deps.log[level === 'error' ? 'warn' : 'debug']({ part: 'people' }, message),
    },
    // What the library did not expect is thrown on to whoever called it, where it is told and logged.
    onAPIError: {
      onError: (error) => {
        if (!isAPIError(error)) throw error
      },
    },
    user: USER_TABLE,
    account: ACCOUNT_TABLE,
    verification: VERIFICATION_TABLE,
    session: {
      ...SESSION_TABLE,
      expiresIn: SESSION_SECONDS,
      updateAge: SESSION_RENEW_SECONDS,
      additionalFields: {
        secondFactorAt: { type: 'date', required: false, input: false, fieldName: 'second_factor_at' },
      },
    },
    emailAndPassword: {
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
      onPasswordReset: ({ user }) => forgetGuessesElsewhere(pool, user.email),
    },
    emailVerification: {
      sendOnSignUp: true,
      expiresIn: VERIFICATION_LINK_SECONDS,
      sendVerificationEmail: ({ user, token }) => mail.send(verificationMail(baseUrl, user, token)),
    },
    rateLimit: {
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
    },
    advanced: {
      // `__Host-` binds the cookie to this origin; browsers take it from a secure page alone.
      cookiePrefix: isSecure ? '__Host-paylink' : 'paylink',
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure, httpOnly: true, sameSite: 'lax', path: '/' },
      ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER], ipv6Subnet: 64 },
    },
    databaseHooks: {
      session: {
        create: {
          before: async (session) => {
            if (typeof session.activeOrganizationId === 'string') return
            return {
              data: { ...session, activeOrganizationId: await findFirstMerchant(pool, session.userId) },
            }
          },
          after: async (session) => {
            await notePlace(deps, session)
            await tellNewPlace(deps, session)
          },
        },
      },
    },
    hooks: guardHooks({ pool, clock }),
    plugins: [
      organization({
        schema: ORGANIZATION_TABLES,
        allowUserToCreateOrganization: false,
        membershipLimit: MEMBERS_MAX,
        invitationExpiresIn: INVITATION_SECONDS,
        invitationLimit: MEMBERS_MAX,
        cancelPendingInvitationsOnReInvite: true,
        requireEmailVerificationOnInvitation: true,
        roles: { ...defaultRoles, viewer: defaultAc.newRole({}) },
        organizationHooks: {
          beforeAcceptInvitation: ({ invitation, user }) => requireInviterInOffice(pool, invitation, user.id),
        },
        sendInvitationEmail: ({ id, email, inviter, organization: { name } }) =>
          mail.send(invitationMail(baseUrl, { id, email, inviter: inviter.user.name, merchant: name })),
      }),
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

/** Where a person has signed in, others' wrong passwords do not count against them. */
async function notePlace(
  { pool, clock }: PeopleDeps,
  { userId, ipAddress }: { userId: string; ipAddress?: string | null | undefined },
): Promise<void> {
  const place = blockOf(ipAddress ?? '')
  if (place !== UNKNOWN_BLOCK) {
    await noteKnownPlace(pool, { userId, place, keepDays: PLACE_KEEP_DAYS, now: clock() })
  }
}

/** An e-mail to the person about a sign-in from a browser and address that none before it had. */
async function tellNewPlace(
  { pool, clock, mail }: PeopleDeps,
  session: {
    id: string
    userId: string
    ipAddress?: string | null | undefined
    userAgent?: string | null | undefined
  },
): Promise<void> {
  const { id, userId, ipAddress: address = null, userAgent: browser = null } = session
  if (!(await isNewPlace(pool, { id, userId, ipAddress: address, userAgent: browser }))) return
  const person = await findPersonToTell(pool, userId)
  if (person !== null) await mail.send(signInEmail(person, { at: clock(), address, browser }))
}

/** An invitation is worth what its inviter is now: whoever was removed or made less leaves no door behind. */
async function requireInviterInOffice(
  pool: Pool,
  { inviterId, organizationId: merchantId }: { inviterId: string; organizationId: string },
  userId: string,
): Promise<void> {
  const inviter = await findMemberRole(pool, { userId: inviterId, merchantId })
  if (inviter !== 'owner' && inviter !== 'admin') {
    throw new APIError('FORBIDDEN', {
      code: 'INVITER_NOT_IN_OFFICE',
      message: 'Whoever invited you may not do so any more. Ask for a new invitation.',
    })
  }
  if ((await findMemberRole(pool, { userId, merchantId })) === null) return
  throw new APIError('CONFLICT', { code: 'MEMBER_ALREADY', message: 'You belong to this shop already.' })
}

/** A passkey counts as a second factor: its owner must have unlocked it. */
function requireUserVerified(verification: { authenticationInfo: { userVerified: boolean } }): void {
  if (verification.authenticationInfo.userVerified) return
  throw new APIError('UNAUTHORIZED', {
    code: 'PASSKEY_NOT_UNLOCKED',
    message: 'Unlock your passkey with its PIN or your fingerprint, then try again.',
  })
}

export type People = ReturnType<typeof openPeople>

import { createHash, createHmac } from 'node:crypto'
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api'
import { deleteSessionCookie, setSessionCookie } from 'better-auth/cookies'
import { z } from 'zod'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { canonicalEmail } from '../core/people/canonical-email.ts'
import { isFreshSecondFactor } from '../core/people/second-factor.ts'
import { forgetGuesses, isInvited, isKnownPlace, presentCode, takeGuess } from '../db/people/people.ts'
import type { SignInDirectory } from '../directory/sign-in-directory.ts'
import { hasSecondFactor } from '../flows/steps/listed-access.ts'
import { clientBlockOf } from '../http/api/client-address.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GuessMemory } from './guess-memory.ts'
import { isWeakPassword } from './is-weak-password.ts'
import {
  CODE_PATHS,
  MANAGER_MAKING_PATHS,
  NEW_PASSWORD_FIELDS,
  PASSKEY_MAKING_PATHS,
  SECOND_FACTOR_ENDING_PATHS,
  SECOND_FACTOR_MAKING_PATHS,
  SECOND_FACTOR_PATHS,
  STEP_UP_PATHS,
} from './paths.ts'
import { requireOwnCell, sayCellUnknown } from './require-own-cell.ts'
import { SIGN_UP_MESSAGES, type SignUp } from './sign-up.ts'

const PASSWORD_GUESSES_MAX = 10
const CODE_GUESSES_MAX = 5
const GUESS_WINDOW_SECONDS = 15 * 60
/** A TOTP is taken for three periods of 30 seconds. */
const CODE_KEEP_SECONDS = 180
/** How long after signing in a first passkey can be added. */
const RECENT_SIGN_IN_SECONDS = 5 * 60
const TWO_FACTOR_COOKIE = 'two_factor'

type GuardDeps = {
  readonly directory?: SignInDirectory | null
  readonly pool: Pool
  readonly clock: Clock
  readonly seals: AccessSeals
  readonly signUp: SignUp
  readonly guesses: GuessMemory
}
type Context = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0]

/**
 * What stands before and after the library's own endpoints. Before: a guess is counted before it is looked at,
 * so that a thousand at once are no more than five, and a code is looked at once. After: a proved second
 * factor gives a new sign-in and ends the old one, so that a cookie taken before it is worth nothing.
 */
export function guardHooks(deps: GuardDeps) {
  return {
    before: createAuthMiddleware(async (ctx) => {
      // Whoever signs in elsewhere has no guess counted here, and nothing looked up.
      await requireOwnCell(deps, ctx)
      await countPasswordGuess(deps, ctx)
      if (CODE_PATHS.has(ctx.path)) await countCodeGuess(deps, ctx)
      if (ctx.path === '/two-factor/verify-totp') await requireConfirmedToEnrol(ctx)
      if (ctx.path === '/sign-up/email') await requireOpenSignUp(deps, ctx)
      if (ctx.path === '/verify-email') await requireOwnAccount(ctx)
      if (STEP_UP_PATHS.has(ctx.path)) await requireFreshSecondFactor(deps, ctx)
      refuseWeakChoice(ctx)
    }),
    after: createAuthMiddleware(async (ctx) => {
      sayCellUnknown(ctx)
      if (ctx.context.returned instanceof APIError) return
      if (ctx.path === '/sign-in/email') await requireSamePassword(ctx)
      await forgetPasswordGuesses(deps, ctx)
      if (SECOND_FACTOR_PATHS.has(ctx.path)) await renewSession(deps, ctx)
      if (SECOND_FACTOR_ENDING_PATHS.has(ctx.path)) await forgetProofs(ctx)
    }),
  }
}

const codeSubject = (userId: string): string => `second_factor/${userId}`

/**
 * Under what a guess at a password is counted. Guesses from wherever this person never signed in share one count,
 * however many addresses they come from; each address where they did has one of its own: so nobody's wrong passwords
 * keep the person out where they usually are.
 */
const passwordSubject = (email: string, from: string): string =>
  `password/${createHash('sha256').update(canonicalEmail(email)).digest('hex')}/${from}`
const ELSEWHERE = 'elsewhere'
/** Who holds a cookie guesses under a count of its own: a stolen one must not end the owner's way in either. */
const SIGNED_IN = 'signed_in'

/**
 * Whose password the request would test, where it holds one: at sign-in the address it names; afterwards the one
 * signed in, since a stolen cookie could try passwords there without end.
 */
async function passwordGuessed({ pool }: GuardDeps, ctx: Context): Promise<string | null> {
  const { email, password, currentPassword } = ctx.body ?? {}
  if (ctx.path === '/sign-up/email') return null
  if (ctx.path === '/sign-in/email') {
    if (typeof email !== 'string') return null
    const place = clientBlockOf(ctx.headers ?? new Headers())
    const isKnown = await isKnownPlace(pool, { email: canonicalEmail(email), place })
    return passwordSubject(email, isKnown ? place : ELSEWHERE)
  }
  if (password === undefined && currentPassword === undefined) return null
  const session = await getSessionFromCtx(ctx)
  if (session === null) throw nobody()
  return passwordSubject(session.user.email, SIGNED_IN)
}

/** A person who chose a new password through our email can sign in with it, whatever others tried meanwhile. */
export const forgetGuessesElsewhere = (deps: CountDeps, email: string): Promise<void> =>
  forgetBoth(deps, passwordSubject(email, ELSEWHERE))

type CountDeps = Pick<GuardDeps, 'pool' | 'guesses'>

/** Counts one guess before it is looked at, here and for all processes; false where there were too many. */
async function isCounted(
  { pool, clock, guesses }: GuardDeps,
  subject: string,
  max: number,
): Promise<boolean> {
  const now = clock()
  if (!guesses.take(subject, { max, windowMs: GUESS_WINDOW_SECONDS * 1_000, nowMs: now.getTime() }))
    return false
  return takeGuess(pool, { subject, max, windowSeconds: GUESS_WINDOW_SECONDS, now })
}

/** A right answer wipes the wrong ones before it. */
async function forgetBoth({ pool, guesses }: CountDeps, subject: string): Promise<void> {
  guesses.forget(subject)
  await forgetGuesses(pool, subject)
}

/** What each request's guess was counted under: a sign-in makes its place a known one before it has ended. */
const countedUnder = new WeakMap<Context['context'], string>()

async function countPasswordGuess(deps: GuardDeps, ctx: Context): Promise<void> {
  const subject = await passwordGuessed(deps, ctx)
  if (subject === null) return
  countedUnder.set(ctx.context, subject)
  if (!(await isCounted(deps, subject, PASSWORD_GUESSES_MAX))) throw tooManyGuesses()
}

/**
 * A password may be replaced after it was found right and before its sign-in is written, which the reset then does not
 * see. Looked at again, once the sign-in is there: a reset that comes later ends it.
 */
async function requireSamePassword(ctx: Context): Promise<void> {
  const made = ctx.context.newSession
  if (made === null) return
  const hash = (await ctx.context.internalAdapter.findCredentialAccount(made.user.id))?.password
  const password: unknown = ctx.body?.password
  const isBoth = typeof hash === 'string' && typeof password === 'string'
  if (isBoth && (await ctx.context.password.verify({ hash, password }))) return
  await ctx.context.internalAdapter.deleteSession(made.session.token)
  deleteSessionCookie(ctx)
  ctx.context.setNewSession(null)
  throw new APIError('UNAUTHORIZED', {
    code: 'INVALID_EMAIL_OR_PASSWORD',
    message: 'Invalid email or password',
  })
}

/**
 * Who confirms an address is signed in to its account. Else the owner of a mailbox who presses the button would confirm an
 * account whose password a stranger chose.
 */
async function requireOwnAccount(ctx: Context): Promise<void> {
  const email = emailOfLink(ctx.query?.token)
  // The library says what is wrong with the link.
  if (email === null) return
  const session = await getSessionFromCtx(ctx)
  if (session?.user.email === email) return
  throw new APIError('UNAUTHORIZED', {
    code: 'SIGN_IN_FIRST',
    message: 'Sign in with this address and your password first, then confirm it.',
  })
}

const linkClaims = z.object({ email: z.string() })

/** The address that a link confirms, by its token (a JWT, RFC 7519), which is yet to be verified. */
function emailOfLink(token: unknown): string | null {
  if (typeof token !== 'string') return null
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return linkClaims.parse(claims).email
  } catch {
    return null
  }
}

async function forgetPasswordGuesses(deps: GuardDeps, ctx: Context): Promise<void> {
  const subject = countedUnder.get(ctx.context)
  if (subject !== undefined) await forgetBoth(deps, subject)
}

async function countCodeGuess(deps: GuardDeps, ctx: Context): Promise<void> {
  const userId = await personOf(ctx)
  const code: unknown = ctx.body?.code
  if (userId === null) throw nobody()
  if (typeof code !== 'string') return
  if (!(await isCounted(deps, codeSubject(userId), CODE_GUESSES_MAX))) throw tooManyGuesses()
  // A plain hash of six digits is easily reversed: a reader of the table would have a code that still approves payouts.
  const codeHash = createHmac('sha256', ctx.context.secret).update(`${userId} ${code.trim()}`).digest()
  const presented = { userId, codeHash, keepSeconds: CODE_KEEP_SECONDS, now: deps.clock() }
  if (!(await presentCode(deps.pool, presented))) {
    throw new APIError('UNAUTHORIZED', {
      code: 'CODE_USED',
      message: 'This code was used already. Wait for the next one.',
    })
  }
}

/** Who the code is of: the one signed in, or the one whose password was right a moment ago. */
async function personOf(ctx: Context): Promise<string | null> {
  const session = await getSessionFromCtx(ctx)
  if (session !== null) return session.user.id
  const cookie = ctx.context.createAuthCookie(TWO_FACTOR_COOKIE)
  const identifier = await ctx.getSignedCookie(cookie.name, ctx.context.secret)
  if (typeof identifier !== 'string') return null
  const found = await ctx.context.internalAdapter.findVerificationValue(identifier)
  return found?.value ?? null
}

/** An enrolment that was begun, by an earlier release for instance, is not ended by an unconfirmed address either. */
async function requireConfirmedToEnrol(ctx: Context): Promise<void> {
  const found = await getSessionFromCtx(ctx)
  if (found !== null && found.user.twoFactorEnabled !== true && !found.user.emailVerified)
    throw emailUnverified()
}

/**
 * At sign-in nothing is looked at: the library hashes the password there only where it knows no such person, and a
 * refusal would say so.
 */
function refuseWeakChoice(ctx: Context): void {
  const field = NEW_PASSWORD_FIELDS.get(ctx.path)
  const password: unknown = field === undefined ? undefined : ctx.body?.[field]
  if (typeof password !== 'string') return
  const { minPasswordLength, maxPasswordLength } = ctx.context.password.config
  // How long it must be, the library says.
  if (password.length < minPasswordLength || password.length > maxPasswordLength) return
  if (!isWeakPassword(password)) return
  throw new APIError('BAD_REQUEST', {
    code: 'PASSWORD_TOO_WEAK',
    message: 'This password is easy to guess. Use a few unrelated words, or let a password manager make one.',
  })
}

/** Whether somebody new may have an account here (`SIGN_UP`). */
async function requireOpenSignUp({ pool, clock, signUp }: GuardDeps, ctx: Context): Promise<void> {
  if (signUp === 'open') return
  const email: unknown = ctx.body?.email
  if (
    signUp === 'invite' &&
    typeof email === 'string' &&
    (await isInvited(pool, canonicalEmail(email), clock()))
  )
    return
  throw new APIError('FORBIDDEN', { code: 'SIGN_UP_CLOSED', message: SIGN_UP_MESSAGES[signUp] })
}

async function requireFreshSecondFactor({ pool, clock, seals }: GuardDeps, ctx: Context): Promise<void> {
  const found = await getSessionFromCtx(ctx)
  if (found === null) throw nobody()
  const { user, session } = found
  const isGuarded =
    user.twoFactorEnabled === true ||
    (await hasPasskey(ctx, user.id)) ||
    (await hasSecondFactor(pool, seals, user.id))
  // A stranger can sign up with somebody's address; a second factor of theirs would outlive the owner's new password.
  if (SECOND_FACTOR_MAKING_PATHS.has(ctx.path) && !user.emailVerified) throw emailUnverified()
  if (PASSKEY_MAKING_PATHS.has(ctx.path)) {
    const age = clock().getTime() - session.createdAt.getTime()
    if (!isGuarded && age > RECENT_SIGN_IN_SECONDS * 1_000) throw signInAgain()
  }
  const makesManager =
    MANAGER_MAKING_PATHS.has(ctx.path) && (ctx.body?.role === 'admin' || ctx.body?.role === 'owner')
  if (!isGuarded && !makesManager) return
  const provedAt = session.secondFactorAt
  if (provedAt instanceof Date && isFreshSecondFactor(provedAt.getTime(), clock().getTime())) return
  throw new APIError('FORBIDDEN', {
    code: 'SECOND_FACTOR_REQUIRED',
    message: 'Prove your second factor again, then repeat this.',
  })
}

/**
 * The library takes a database that does not answer for nobody being signed in, and may find somebody a moment
 * later: a request whose caller is not known here goes no further.
 */
const nobody = (): APIError =>
  new APIError('UNAUTHORIZED', { code: 'SIGN_IN', message: 'Sign in, then try again.' })

const emailUnverified = (): APIError =>
  new APIError('FORBIDDEN', {
    code: 'EMAIL_UNVERIFIED',
    message: 'Confirm your email address first, then add a second factor.',
  })
const signInAgain = (): APIError =>
  new APIError('FORBIDDEN', {
    code: 'SIGN_IN_AGAIN',
    message: 'Sign out and in again, then add the passkey within five minutes.',
  })

async function hasPasskey(ctx: Context, userId: string): Promise<boolean> {
  const known = await ctx.context.adapter.findOne({
    model: 'passkey',
    where: [{ field: 'userId', value: userId }],
  })
  return known !== null
}

/** A second factor that was taken away may have been the proof of any sign-in: all prove one that is left. */
async function forgetProofs(ctx: Context): Promise<void> {
  const session = await getSessionFromCtx(ctx)
  if (session === null) return
  const where = [{ field: 'userId', value: session.user.id }]
  await ctx.context.adapter.updateMany({ model: 'session', where, update: { secondFactorAt: null } })
}

async function renewSession(deps: GuardDeps, ctx: Context): Promise<void> {
  const old = await getSessionFromCtx(ctx)
  const made = ctx.context.newSession
  const userId = made?.user.id ?? old?.user.id
  if (userId === undefined) return
  const fresh = made?.session ?? (await replaceSession(ctx, old))
  if (old !== null && old.session.id !== fresh.id) {
    await ctx.context.internalAdapter.deleteSession(old.session.token)
  }
  await ctx.context.internalAdapter.updateSession(fresh.token, { secondFactorAt: deps.clock() })
  await forgetBoth(deps, codeSubject(userId))
}

type Found = Awaited<ReturnType<typeof getSessionFromCtx>>

async function replaceSession(ctx: Context, old: Found) {
  if (old === null) throw new Error('a second factor was proved by nobody')
  const fresh = await ctx.context.internalAdapter.createSession(old.user.id, false, {
    activeOrganizationId: old.session.activeOrganizationId,
  })
  await setSessionCookie(ctx, { session: fresh, user: old.user })
  return fresh
}

const tooManyGuesses = (): APIError =>
  new APIError('TOO_MANY_REQUESTS', {
    code: 'TOO_MANY_GUESSES',
    message: 'Too many attempts. Wait 15 minutes, then try again.',
  })

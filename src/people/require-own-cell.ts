import { APIError, type createAuthMiddleware, getSessionFromCtx } from 'better-auth/api'
import { CELL_HEADER, cellCookie, cellTag } from '../core/cells.ts'
import { canonicalEmail } from '../core/people/canonical-email.ts'
import { isOwnPasskey } from '../db/people/directory-changes.ts'
import { isInvited } from '../db/people/people.ts'
import type { SignInDirectory } from '../directory/sign-in-directory.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { ownCell } from '../runtime/own-cell.ts'
import type { SignUp } from './sign-up.ts'

type Deps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly signUp: SignUp
  readonly directory?: SignInDirectory | null
}
type Context = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0]

/**
 * Where several cells share a directory, sends whoever signs in, signs up or forgot a password to the cell where that
 * belongs, by a cookie for the proxy. The library has counted the request by then under the client's address. What cell it
 * is follows from the address alone, so that no answer says whether anybody has it; `here` in the body stays, as it is
 * without a directory, but opens no account in a cell that takes none. While the directory does not answer, everybody stays,
 * and `sayCellUnknown` says so where that ends in a refusal.
 */
export async function requireOwnCell(deps: Deps, ctx: Context): Promise<void> {
  const cell = await cellOf(deps, ctx)
  if (cell === 'full')
    throw new APIError('FORBIDDEN', {
      code: 'SIGN_UP_CLOSED',
      message: 'No new accounts can be opened just now. Try again later.',
    })
  if (cell === null || cell === ownCell()) return
  throw new APIError(
    'MISDIRECTED_REQUEST',
    { code: 'CELL_WRONG', message: 'This belongs to another server of the same service. Try again.' },
    { [CELL_HEADER]: cellTag(cell), 'set-cookie': cellCookie(cell) },
  )
}

/** Requests of people whose cell the directory did not say. */
const notLed = new WeakSet<Context['context']>()

const ELSEWHERE = 'on another server that cannot be found just now. Try again in a minute.'
/** By the library's code of a refusal. */
const REFUSED_HERE: ReadonlyMap<unknown, string> = new Map([
  ['INVALID_EMAIL_OR_PASSWORD', `Wrong email or password, or your account is ${ELSEWHERE}`],
  ['PASSKEY_NOT_FOUND', `Unknown passkey, or its account is ${ELSEWHERE}`],
])

/** After a request: what is refused here, or sent nowhere, may be right in another cell. The same for every address. */
export function sayCellUnknown(ctx: Context): void {
  if (!notLed.has(ctx.context)) return
  const { returned } = ctx.context
  const code = 'CELL_UNKNOWN'
  if (returned instanceof APIError) {
    const message = REFUSED_HERE.get(returned.body?.code)
    if (message !== undefined) throw new APIError('UNAUTHORIZED', { code, message })
  } else if (ctx.path === '/request-password-reset')
    throw new APIError('SERVICE_UNAVAILABLE', {
      code,
      message: `If no link arrives, your account may be ${ELSEWHERE}`,
    })
}

async function cellOf(
  { pool, clock, signUp, directory = null }: Deps,
  ctx: Context,
): Promise<number | 'full' | null> {
  if (directory === null) return null
  const { email, response } = ctx.body ?? {}
  const stays = ctx.body?.here === true
  switch (ctx.path) {
    case '/sign-in/email':
    case '/request-password-reset': {
      if (typeof email !== 'string' || stays) return null
      const cell = await directory.cellOfEmail(email)
      if (cell === null) notLed.add(ctx.context)
      return cell
    }
    case '/sign-up/email':
      if (signUp !== 'open' || typeof email !== 'string') return null
      // An invitation is of this cell.
      if (stays && (await isInvited(pool, canonicalEmail(email), clock()))) return null
      return directory.cellForNewAccount(stays)
    case '/passkey/verify-authentication': {
      const id: unknown = response?.id
      // Who is signed in proves a second factor of this cell.
      if (typeof id !== 'string' || (await isOwnPasskey(pool, id))) return null
      if ((await getSessionFromCtx(ctx)) !== null) return null
      const cell = await directory.cellOfPasskey(id)
      if (cell === null) notLed.add(ctx.context)
      return cell === 'none' ? null : cell
    }
    default:
      return null
  }
}

import { isAPIError } from 'better-auth/api'
import type { Pool } from '../postgres/pool.ts'
import type { People } from './open-authentication.ts'

/** A person's sign-in, found by its cookie. */
export type SignIn = {
  readonly personId: string
  readonly sessionId: string
  readonly email: string
  readonly isEmailVerified: boolean
  /** The merchant that the sign-in shows; null before there is one. */
  readonly merchantId: string | null
  readonly secondFactorAtMs: number | null
}

/** Whose cookie this is; null where it is nobody's, or has ended. Throws what the database threw where it is away. */
export async function findSignIn(people: People, pool: Pool, headers: Headers): Promise<SignIn | null> {
  // A sign-in is renewed where the answer can carry the renewed cookie too: at the library's own /get-session.
  const read = () => people.api.getSession({ headers, query: { disableRefresh: true } })
  const found = await read().catch(async (error: unknown) => {
    // The library keeps to itself the database's error; asked by us, the database gives it again, or is back.
    if (!isAPIError(error)) throw error
    await pool.query('select')
    return read()
  })
  if (found === null) return null
  const { user, session } = found
  return {
    personId: user.id,
    sessionId: session.id,
    email: user.email,
    isEmailVerified: user.emailVerified,
    merchantId: session.activeOrganizationId ?? null,
    secondFactorAtMs: session.secondFactorAt?.getTime() ?? null,
  }
}

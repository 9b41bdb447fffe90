import type { AccessSeals } from '../core/people/access-seals.ts'
import type { SignInDirectory } from '../directory/sign-in-directory.ts'
import type { Mail } from '../mail/mail.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { findSignIn, type SignIn } from './find-sign-in.ts'
import { openAuthentication, openAuthenticatorSecret } from './open-authentication.ts'
import { createPeopleApp } from './people-app.ts'
import type { SignUp } from './sign-up.ts'

/** What the server asks of the sign-in. */
type OpenPeople = {
  /** Answers a request below `AUTH_PREFIX`. */
  fetch(request: Request): Response | Promise<Response>
  findSignIn(headers: Headers): Promise<SignIn | null>
  /** The secret of an authenticator app, which the library keeps encrypted; null where it does not open. */
  openSecret(kept: string): Promise<string | null>
}

/** The sign-in: a large library, so that processes load this file when it is first needed. */
export function openPeople(deps: {
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly clock: Clock
  readonly log: Log
  readonly baseUrl: string
  readonly secret: string
  readonly mail: Mail
  readonly signUp: SignUp
  readonly directory: SignInDirectory | null
}): OpenPeople {
  const people = openAuthentication(deps)
  const app = createPeopleApp({ ...deps, people })
  return {
    fetch: (request) => app.fetch(request),
    findSignIn: (headers) => findSignIn(people, deps.pool, headers),
    openSecret: (kept) => openAuthenticatorSecret(people, kept),
  }
}

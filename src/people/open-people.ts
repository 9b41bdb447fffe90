import { findSignIn, type SignIn } from './find-sign-in.ts'
import { openAuthentication, openAuthenticatorSecret, type PeopleDeps } from './open-authentication.ts'
import { createPeopleApp } from './people-app.ts'

/** What the server asks of the sign-in. */
type OpenPeople = {
  /** Answers a request below `AUTH_PREFIX`. */
  fetch(request: Request): Response | Promise<Response>
  findSignIn(headers: Headers): Promise<SignIn | null>
  /** The secret of an authenticator app, which the library keeps encrypted; null where it does not open. */
  openSecret(kept: string): Promise<string | null>
}

/** The sign-in: a large library, so that processes load this file when it is first needed. */
export function openPeople(deps: PeopleDeps): OpenPeople {
  const people = openAuthentication(deps)
  const app = createPeopleApp({ ...deps, people })
  return {
    fetch: (request) => app.fetch(request),
    findSignIn: (headers) => findSignIn(people, deps.pool, headers),
    openSecret: (kept) => openAuthenticatorSecret(people, kept),
  }
}

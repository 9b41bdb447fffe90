import type { AccessSeals } from '../core/people/access-seals.ts'
import type { FindSignIn } from '../http/api/session-credential.ts'
import type { HttpPart } from '../http/server.ts'
import { mailFrom, openMail } from '../mail/mail.ts'
import { findSignIn } from '../people/find-sign-in.ts'
import { openAuthentication } from '../people/open-authentication.ts'
import { AUTH_PREFIX } from '../people/paths.ts'
import { createPeopleApp } from '../people/people-app.ts'
import { keepAuthenticatorsSealed } from '../people/sealed-adapter.ts'
import type { SignUp } from '../people/sign-up.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Keyring } from '../secrets/keyring.ts'

/** Sign-in for the dashboard; and for the API, whose cookie a request carries. */
export function openPeopleRole(deps: {
  pool: Pool
  clock: Clock
  log: Log
  keyring: Keyring
  seals: AccessSeals
  baseUrl: string
  smtpUrl: string | null
  signerSealKey: () => Promise<Uint8Array | null>
  signUp: SignUp
  staging: boolean
}): { part: HttpPart; findSignIn: FindSignIn; stop(): Promise<void> } {
  const { pool, clock, log, keyring, seals, baseUrl, smtpUrl, signerSealKey, signUp, staging } = deps
  const mail = openMail({ smtpUrl, from: mailFrom(baseUrl), log, staging })
  const secret = keyring.mac('sign_in', Buffer.from('cookies and codes')).toString('base64url')
  const people = openAuthentication({ pool, seals, clock, log, baseUrl, secret, mail, signUp })
  const sealing = keepAuthenticatorsSealed({ people, pool, seals, clock, log, signerSealKey })
  const app = createPeopleApp({ people, pool, seals, clock, log, baseUrl, signUp })
  return {
    part: {
      name: 'people',
      owns: (path) => path.startsWith(`${AUTH_PREFIX}/`),
      fetch: (request) => app.fetch(request),
    },
    findSignIn: (headers) => findSignIn(people, pool, headers),
    stop: async () => {
      await sealing.stop()
      await mail.close()
    },
  }
}

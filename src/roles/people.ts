import type { DirectoryConfig } from '../config/config-directory.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { keepDirectory } from '../directory/keep-directory.ts'
import {
  CONNECTION_MS_MAX,
  openSignInDirectory,
  type SignInDirectory,
} from '../directory/sign-in-directory.ts'
import type { FindSignIn } from '../http/api/session-credential.ts'
import type { HttpPart } from '../http/server.ts'
import { mailFrom, openMail } from '../mail/mail.ts'
import { AUTH_PREFIX } from '../people/paths.ts'
import { keepAuthenticatorsSealed } from '../people/seal-authenticators.ts'
import type { SignUp } from '../people/sign-up.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { ownCell } from '../runtime/own-cell.ts'
import type { Keyring } from '../secrets/keyring.ts'

/** In each process; a sign-in holds one for a millisecond. */
const ASKING_CONNECTIONS_MAX = 4
/** A stop waits for a write that is under way and for its rollback, and has 40 seconds for everything. */
const WRITE_MS_MAX = 5_000

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
  directory: DirectoryConfig | null
}): { part: HttpPart; findSignIn: FindSignIn; stop(): Promise<void> } {
  const { pool, clock, log, keyring, seals, baseUrl, smtpUrl, signerSealKey, signUp, staging } = deps
  const mail = openMail({ smtpUrl, from: mailFrom(baseUrl), log, staging })
  const secret = keyring.mac('sign_in', Buffer.from('cookies and codes')).toString('base64url')
  const { directory, stop: stopDirectory } = openDirectory(deps)
  const opened = once(async () => {
    const { openPeople } = await import('../people/open-people.ts')
    return openPeople({ pool, seals, clock, log, baseUrl, secret, mail, signUp, directory })
  })
  const openSecret = async (kept: string) => (await opened()).openSecret(kept)
  const sealing = keepAuthenticatorsSealed({ openSecret, pool, seals, clock, log, signerSealKey })
  return {
    part: {
      name: 'people',
      owns: (path) => path.startsWith(`${AUTH_PREFIX}/`),
      fetch: async (request) => (await opened()).fetch(request),
    },
    findSignIn: async (headers) => (await opened()).findSignIn(headers),
    stop: async () => {
      await sealing.stop()
      await stopDirectory()
      await mail.close()
    },
  }
}

/** What `open` gave when it was first called; called again only where it failed. */
function once<Opened>(open: () => Promise<Opened>): () => Promise<Opened> {
  let opened: Promise<Opened> | null = null
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = null
      throw error
    })
    return opened
  }
}

/** The directory of cells, read at sign-in and kept up to date; nothing where none is configured. */
function openDirectory({
  pool,
  log,
  directory: config,
}: {
  pool: Pool
  log: Log
  directory: DirectoryConfig | null
}): { directory: SignInDirectory | null; stop(): Promise<void> } {
  if (config === null) return { directory: null, stop: async () => {} }
  const { url: connectionString, key } = config
  const onError = (error: Error) => log.debug({ err: error }, 'an idle connection to the directory was lost')
  const asked = openPool({
    connectionString,
    applicationName: 'paylink-sign-in',
    max: ASKING_CONNECTIONS_MAX,
    onError,
    connectMsMax: CONNECTION_MS_MAX,
    answerMsMax: CONNECTION_MS_MAX,
  })
  const written = openPool({
    connectionString,
    applicationName: 'paylink-directory',
    max: 1,
    onError,
    answerMsMax: WRITE_MS_MAX,
  })
  const cell = ownCell()
  const keeping = keepDirectory({ pool, directory: written, key, cell, log })
  const opened = openSignInDirectory({ pool: asked, key, ownCell: cell, log })
  return {
    directory: opened,
    stop: async () => {
      await Promise.all([keeping.stop(), opened.stop()])
      await Promise.all([asked.end(), written.end()])
    },
  }
}

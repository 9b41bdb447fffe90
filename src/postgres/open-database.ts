import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { z } from 'zod'
import { readOrMakeSecretFile } from '../runtime/data-dir.ts'
import { describeError, withoutSecrets } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import { type Mark, markInstallation, refuseOtherMark } from './installation-mark.ts'
import { latestMigration, migrate } from './migrate.ts'
import { OWN_LINE } from './pool.ts'
import {
  connectionStringFor,
  DATABASE_ROLES,
  type DatabaseRole,
  ensureLoginRole,
  ensureLoginRoles,
  loginRoleOf,
} from './roles.ts'

const CONNECT_TIMEOUT_MS = 5_000
const SERVER_VERSION_MIN = 150_000
const PASSWORD_BYTES = 24
/** Several starts at once make the roles one after the other. Any constant of this program's own will do. */
const ROLES_LOCK_KEY = 7_295_465_303

export type RoleUrls = { readonly [role in DatabaseRole]: string }
const rolePasswordsShape = z.object({
  api: z.string(),
  watcher: z.string(),
  delivery: z.string(),
  signer: z.string(),
})
type RolePasswords = z.output<typeof rolePasswordsShape>

/** Where the database is. */
type DatabaseConfig = Mark & {
  readonly dataDir: string
  readonly databaseUrl: string | null
  readonly roleDatabaseUrls: { readonly [role in DatabaseRole]: string | null }
}

export type OpenDatabase = {
  /** The owner's connection string; null where only the roles' own were given. */
  readonly ownerUrl: string | null
  readonly roleUrls: RoleUrls
  /** Leaves the embedded server, where it is ours. */
  close(): Promise<void>
}

export type OpenOptions = {
  readonly onStep?: (line: string) => void
  /** What bringing the database up to date waits for. */
  readonly onWait?: (line: string) => void
  /** The embedded server went away for good. */
  readonly onLost?: (error: Error) => void
  /** Ends it between two migrations. */
  readonly stop?: AbortSignal
}

/**
 * The database, migrated and with a login for each role: the one of `DATABASE_URL`, or the embedded one. Where
 * only roles' own connection strings are given, as in a process that must not know the owner's, it is used as
 * it stands. Throws `StartRefused`, which names the fix, or the reason of `stop`.
 */
export async function openDatabase(config: DatabaseConfig, options: OpenOptions = {}): Promise<OpenDatabase> {
  const given = DATABASE_ROLES.filter((role) => config.roleDatabaseUrls[role] !== null)
  if (config.databaseUrl === null && given.length > 0) return openAsRoles(config, given)
  const { ownerUrl, close } = await openAsOwner(config, options)
  try {
    await prepare(ownerUrl, options)
    await withClient(ownerUrl, (client) => markInstallation(client, config, ownerName(config)))
    const roleUrls = await makeRoles(config, ownerUrl)
    return { ownerUrl, roleUrls, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The owner's connection string, for commands that change what no role may; `close` leaves the server. */
export async function openAsOwner(
  config: DatabaseConfig,
  options: OpenOptions = {},
): Promise<{ ownerUrl: string; close: () => Promise<void> }> {
  if (config.databaseUrl !== null) {
    await checkServer(config.databaseUrl, 'DATABASE_URL')
    await withClient(config.databaseUrl, (client) => refuseOtherMark(client, config, ownerName(config)))
    return { ownerUrl: config.databaseUrl, close: async () => {} }
  }
  const server = await startEmbeddedPostgres(config.dataDir, {
    ...(options.onStep === undefined ? {} : { step: options.onStep }),
    ...(options.onLost === undefined ? {} : { lost: options.onLost }),
  })
  try {
    await withClient(server.ownerUrl, (client) => refuseOtherMark(client, config, ownerName(config)))
  } catch (error) {
    await server.stop()
    throw error
  }
  return { ownerUrl: server.ownerUrl, close: () => server.stop() }
}

async function openAsRoles(config: DatabaseConfig, given: readonly DatabaseRole[]): Promise<OpenDatabase> {
  for (const role of given) {
    const url = config.roleDatabaseUrls[role] ?? ''
    await checkServer(url, `${role.toUpperCase()}_DATABASE_URL`)
    const name = `${role.toUpperCase()}_DATABASE_URL`
    await checkSchema(url, name)
    const kind = await withClient(url, (client) => refuseOtherMark(client, config, name))
    if (kind === 'unmarked')
      throw new StartRefused(
        `${name} leads to a database that its owner has not started on yet: run paylink migrate with DATABASE_URL${config.staging ? ', STAGING=1' : ''}${config.cell === 0 ? '' : `, CELL=${config.cell}`} first`,
      )
  }
  const urlOf = (role: DatabaseRole) => config.roleDatabaseUrls[role] ?? ''
  return {
    ownerUrl: null,
    roleUrls: {
      api: urlOf('api'),
      watcher: urlOf('watcher'),
      delivery: urlOf('delivery'),
      signer: urlOf('signer'),
    },
    close: async () => {},
  }
}

const ownerName = ({ databaseUrl, dataDir }: DatabaseConfig): string =>
  databaseUrl === null ? `DATA_DIR ${dataDir}` : 'DATABASE_URL'

const clientOf = (connectionString: string): pg.Client =>
  new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...OWN_LINE })

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = clientOf(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Rejects, in one line, a server that cannot be reached or is too old. */
async function checkServer(url: string, name: string): Promise<void> {
  const client = clientOf(url)
  try {
    await client.connect()
    const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
    const version = Number(rows[0]?.server_version_num)
    if (version < SERVER_VERSION_MIN) {
      throw new StartRefused(
        `${name} leads to PostgreSQL ${Math.floor(version / 10_000)}: Paylink needs 15 or later`,
      )
    }
  } catch (error) {
    if (error instanceof StartRefused) throw error
    const reason = withoutSecrets(describeError(error))
    throw new StartRefused(
      `${name} leads to no database we can use: ${reason}; correct it or start that server`,
      {
        cause: error,
      },
    )
  } finally {
    await client.end()
  }
}

/** Rejects a database that the owner has not migrated: a role may not do it. */
async function checkSchema(url: string, name: string): Promise<void> {
  const client = clientOf(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ version: number | null }>(
      'select max(version) as version from schema_migration',
    )
    const [has, needs] = [rows[0]?.version ?? 0, await latestMigration()]
    if (has >= needs) return
    throw new StartRefused(
      `${name} leads to a database at migration ${has} of ${needs}: run paylink migrate with DATABASE_URL first`,
    )
  } catch (error) {
    if (error instanceof StartRefused) throw error
    throw new StartRefused(`${name} leads to a database that was never prepared: run paylink migrate first`, {
      cause: error,
    })
  } finally {
    await client.end()
  }
}

async function prepare(
  ownerUrl: string,
  { onStep = () => {}, onWait = onStep, stop }: OpenOptions,
): Promise<void> {
  try {
    const applied = await migrate(ownerUrl, { onWait, stop })
    if (applied.length > 0) onStep(`brought the database up to date (${applied.length} migrations)`)
  } catch (error) {
    stop?.throwIfAborted()
    throw new StartRefused(`the database could not be brought up to date: ${describeError(error)}`, {
      cause: error,
    })
  }
}

/** PostgreSQL's answers to a login that is not there, may not log in, or has another password. */
const NO_LOGIN_CODES = ['28000', '28P01']

/** Whether a role's own connection string is of a login that is still to be made. */
async function lacksLogin(url: string): Promise<boolean> {
  const client = clientOf(url)
  try {
    await client.connect()
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && NO_LOGIN_CODES.some((code) => code === error.code)
  } finally {
    await client.end()
  }
}

/**
 * `paylink migrate` with a role's own connection string beside the owner's: makes the login that it names, or gives
 * it that password. One that works is left as it is, whoever made it.
 */
export async function makeGivenLogins(config: DatabaseConfig, ownerUrl: string): Promise<readonly string[]> {
  const missing: { role: DatabaseRole; login: string; password: string }[] = []
  for (const role of DATABASE_ROLES) {
    const url = config.roleDatabaseUrls[role]
    if (url === null || !(await lacksLogin(url))) continue
    const { username, password } = new URL(url)
    missing.push({ role, login: decodeURIComponent(username), password: decodeURIComponent(password) })
  }
  if (missing.length === 0) return []
  const client = clientOf(ownerUrl)
  await client.connect()
  try {
    const { rows } = await client.query<{ database: string; owner: string }>(
      'select current_database() as database, current_user as owner',
    )
    const [{ database, owner } = { database: '', owner: '' }] = rows
    await client.query('select pg_advisory_lock($1)', [ROLES_LOCK_KEY])
    for (const wanted of missing) {
      if (wanted.login === owner)
        throw new Error(`${wanted.role.toUpperCase()}_DATABASE_URL names the owner ${owner}`)
      await ensureLoginRole(client, { database, ...wanted })
    }
    return missing.map(({ login }) => login)
  } catch (error) {
    throw new StartRefused(
      `the logins of the roles could not be made: ${describeError(error)}; let the user of DATABASE_URL create roles, or make them yourself`,
      { cause: error },
    )
  } finally {
    await client.end()
  }
}

async function makeRoles(config: DatabaseConfig, ownerUrl: string): Promise<RoleUrls> {
  const { roleDatabaseUrls } = config
  const { api, watcher, delivery, signer } = roleDatabaseUrls
  if (api !== null && watcher !== null && delivery !== null && signer !== null)
    return { api, watcher, delivery, signer }
  const passwords = await readRolePasswords(config.dataDir)
  const client = clientOf(ownerUrl)
  await client.connect()
  try {
    const { rows } = await client.query<{ database: string }>('select current_database() as database')
    const database = rows[0]?.database ?? ''
    await client.query('select pg_advisory_lock($1)', [ROLES_LOCK_KEY])
    await ensureLoginRoles(client, database, passwords)
    const urlOf = (role: DatabaseRole) =>
      roleDatabaseUrls[role] ?? connectionStringFor(ownerUrl, loginRoleOf(database, role), passwords[role])
    return {
      api: urlOf('api'),
      watcher: urlOf('watcher'),
      delivery: urlOf('delivery'),
      signer: urlOf('signer'),
    }
  } catch (error) {
    throw new StartRefused(
      `the database roles could not be made: ${describeError(error)}; let the user of DATABASE_URL create roles, or give API_, WATCHER_, DELIVERY_ and SIGNER_DATABASE_URL`,
      { cause: error },
    )
  } finally {
    await client.end()
  }
}

async function readRolePasswords(dataDir: string): Promise<RolePasswords> {
  const path = join(dataDir, 'database-roles.json')
  const password = () => randomBytes(PASSWORD_BYTES).toString('base64url')
  const text = await readOrMakeSecretFile(path, () => {
    const fresh: RolePasswords = {
      api: password(),
      watcher: password(),
      delivery: password(),
      signer: password(),
    }
    return `${JSON.stringify(fresh)}\n`
  })
  try {
    return rolePasswordsShape.parse(JSON.parse(text))
  } catch (error) {
    throw new StartRefused(`${path} is damaged: remove it, and new passwords are made`, { cause: error })
  }
}

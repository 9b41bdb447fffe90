import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import {
  connectionStringFor,
  DATABASE_ROLES,
  type DatabaseRole,
  ensureLoginRoles,
  loginRoleOf,
} from '../../src/postgres/roles.ts'
import { databaseUrl, TEMPLATE_DATABASE } from './postgres-server.ts'

export type TestDatabase = {
  readonly ownerUrl: string
  /** Connection string of a role's login. */
  readonly urls: { readonly [role in DatabaseRole]: string }
  readonly owner: Pool
  readonly pools: { readonly [role in DatabaseRole]: Pool }
  drop(): Promise<void>
}

const ROLE_PASSWORD = 'role-password'
/** Hundreds that ask at once wait for ten connections, however slow the machine: whoever waits in vain is told 503. */
const CONNECT_MS_MAX = 60_000

/**
 * A fresh, migrated database with a login for each role: cloned from the template in some 50 ms, as files, since page by
 * page and through the log it takes half as long again. On the run's server, or the given one. Another template, such as
 * PostgreSQL's own `template1`, is for who migrates it otherwise.
 */
export async function createTestDatabase(
  server = inject('postgresUrl'),
  template = TEMPLATE_DATABASE,
): Promise<TestDatabase> {
  const name = `paylink_test_${randomBytes(6).toString('hex')}`
  const socket = await onServer(server, async (client) => {
    await client.query(`create database ${name} template ${template} strategy file_copy`)
    return ownSocket(client)
  })
  const ownerUrl = databaseUrl(server, name)
  const owner = openTestPool(throughSocket(ownerUrl, socket))
  const passwords = Object.fromEntries(DATABASE_ROLES.map((role) => [role, ROLE_PASSWORD])) as {
    [role in DatabaseRole]: string
  }
  await ensureLoginRoles(owner, name, passwords)
  const urls = {} as { [role in DatabaseRole]: string }
  const pools = {} as { [role in DatabaseRole]: Pool }
  for (const role of DATABASE_ROLES) {
    urls[role] = connectionStringFor(ownerUrl, loginRoleOf(name, role), ROLE_PASSWORD)
    pools[role] = openTestPool(throughSocket(urls[role], socket), role === 'api')
  }
  return {
    ownerUrl,
    urls,
    owner,
    pools,
    drop: async () => {
      await Promise.all([owner.end(), ...DATABASE_ROLES.map((role) => pools[role].end())])
      await onServer(server, async (client) => {
        await client.query(`drop database ${name} with (force)`)
        for (const role of DATABASE_ROLES)
          await client.query(`drop role if exists ${loginRoleOf(name, role)}`)
      })
    },
  }
}

/** The folder of the socket of a server that tests started themselves; null for any other. */
async function ownSocket(client: pg.Client): Promise<string | null> {
  const { rows } = await client.query<{ folder: string }>(
    `select current_setting('data_directory') as folder
       where current_setting('data_directory') = current_setting('unix_socket_directories')`,
  )
  return rows[0]?.folder ?? null
}

/** The same login without TCP, which takes an eighth of the processor time of a small statement. */
function throughSocket(url: string, folder: string | null): string {
  if (folder === null) return url
  const changed = new URL(url)
  changed.searchParams.set('port', changed.port)
  changed.searchParams.set('host', folder)
  return changed.toString()
}

function openTestPool(connectionString: string, guarded = false): Pool {
  return openPool({
    connectionString,
    applicationName: 'paylink-test',
    max: 10,
    onError: () => {},
    guarded,
    connectMsMax: CONNECT_MS_MAX,
  })
}

async function onServer<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

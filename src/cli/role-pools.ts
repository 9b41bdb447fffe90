import type { RoleUrls } from '../postgres/open-database.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import type { DatabaseRole } from '../postgres/roles.ts'
import { createStandby, type Standby } from '../postgres/standby.ts'
import type { RoleContext } from '../roles/role.ts'
import type { Log } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import type { StopList } from './stop-list.ts'

const CONNECTIONS_MAX: { readonly [role in DatabaseRole]: number } = {
  api: 20,
  watcher: 8,
  delivery: 8,
  signer: 3,
}

type RolePools = {
  readonly poolOf: (role: DatabaseRole) => Pool
  /** How many callers wait for a connection of each role. */
  waiting(): { role: DatabaseRole; count: number }[]
}

/** A process's connections, one pool for each database role, opened when first asked for and closed after all roles. */
export function createRolePools(urls: RoleUrls, log: Log, stops: StopList): RolePools {
  const pools = new Map<DatabaseRole, Pool>()
  stops.add('the connections', async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()))
  })
  return {
    poolOf: (role) => {
      const pool = pools.get(role) ?? openRolePool(role, urls[role], log)
      pools.set(role, pool)
      return pool
    },
    waiting: () => [...pools].map(([role, pool]) => ({ role, count: pool.waitingCount })),
  }
}

/** The standby that is configured, if one is, with the login and password of the API's role. */
export function openStandby(
  { config, urls, log, metrics }: Pick<RoleContext, 'config' | 'urls' | 'log' | 'metrics'>,
  stops: StopList,
): { readonly standby?: Standby } {
  const pool = openStandbyPool('api', { config, urls, log }, stops)
  if (pool === null) return {}
  const standby = createStandby(pool)
  metrics.gauge(
    'paylink_reads',
    'Lists and statistics since the start, by the server that answered',
    async () => Object.entries(standby.reads).map(([label, value]) => ({ label, value })),
  )
  return { standby }
}

/** Connections of a role to the standby; null where none is configured. */
export function openStandbyPool(
  role: DatabaseRole,
  { config, urls, log }: Pick<RoleContext, 'config' | 'urls' | 'log'>,
  stops: StopList,
): Pool | null {
  if (config.standbyDatabaseUrl === null) return null
  const pool = openRolePool(role, standbyUrlFor(config.standbyDatabaseUrl, urls[role]), log)
  stops.add(`the connections of the ${role} to the standby`, () => pool.end())
  return pool
}

/** The standby's URL with the login of another one. */
export function standbyUrlFor(standby: string, login: string): string {
  const [url, own] = [new URL(standby), new URL(login)]
  url.username = own.username
  url.password = own.password
  return url.href
}

function openRolePool(role: DatabaseRole, connectionString: string, log: Log): Pool {
  if (connectionString === '') {
    throw new StartRefused(
      `the role ${role} has no database: set DATABASE_URL, or ${role.toUpperCase()}_DATABASE_URL beside the others'`,
    )
  }
  return openPool({
    connectionString,
    applicationName: `paylink-${role}`,
    max: CONNECTIONS_MAX[role],
    guarded: role === 'api',
    // A restart of the database takes all of them at once; whoever uses the next one says what is wrong.
    onError: (error) => log.debug({ err: error, role }, 'an idle database connection was lost'),
  })
}

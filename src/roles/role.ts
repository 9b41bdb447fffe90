import type { Config } from '../config/config.ts'
import type { ChainNode } from '../nodes/chain-nodes.ts'
import type { RoleUrls } from '../postgres/open-database.ts'
import type { Pool } from '../postgres/pool.ts'
import type { DatabaseRole } from '../postgres/roles.ts'
import type { Activity } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'

export const ROLE_NAMES = ['api', 'checkout', 'watcher', 'delivery', 'signer', 'sandbox', 'reader'] as const
export type RoleName = (typeof ROLE_NAMES)[number]

export const needsDatabase = (role: RoleName): role is Exclude<RoleName, 'sandbox' | 'reader'> =>
  role !== 'sandbox' && role !== 'reader'

/** What every role is started with. */
export type RoleContext = {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly urls: RoleUrls
  /** The process's connection pool of a database role, opened on first use and closed after all roles. */
  readonly poolOf: (role: DatabaseRole) => Pool
  /** What the background loops of the process rest by. */
  readonly activity: Activity
  /** The nodes of all networks that this process may ask. */
  readonly nodes: readonly ChainNode[]
  /** Something broke for good: the process stops, and says why. */
  readonly onFatal: (error: Error) => void
}

/** A running role. `stop` ends it within a bounded time, with nothing half done. */
export type RunningRole = { stop(): Promise<void> }

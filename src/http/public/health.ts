import { type Context, Hono } from 'hono'
import { loadNetworkStates, type NetworkState } from '../../db/chain/network-state.ts'
import { readMigrationVersion } from '../../postgres/migration-version.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { PriceBook } from '../../rates/price-book.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { newRequestId } from '../../runtime/new-request-id.ts'
import { ApiProblem, errorBody } from '../api/problem.ts'
import { networkReason } from '../views/network-reason.ts'

type HealthDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly baseUrl: string
  readonly log: Log
  readonly prices: Pick<PriceBook, 'report'> | null
  /** The migration that this program was made for. */
  readonly migration: number
}

/** What `/readyz` says of a network. */
type NetworkReport = {
  readonly status: NetworkState['status']
  /** What kind of fault it is; null where there is none. */
  readonly reason: string | null
  readonly height: number | null
  readonly tip_height: number | null
  readonly read_at: string | null
  /** Why the node's own notifications are not heard although they are configured; null where all is well. */
  readonly notifications_silent: string | null
}

/**
 * `/healthz`: the process answers. `/readyz`: 200 if the database is reachable and migrated, else 503; the state of
 * chains and prices is in the body but decides nothing, since everything else works without them.
 */
export function createHealthApp(deps: HealthDeps): Hono {
  const app = new Hono()
  app.get('/healthz', (c) => answer(c, 200, { status: 'ok' }))
  app.get('/readyz', async (c) => {
    const report = await readiness(deps)
    return answer(c, report.status === 'ready' ? 200 : 503, report)
  })
  app.all('*', (c) => {
    const requestId = newRequestId()
    c.header('allow', 'GET, HEAD')
    return answer(c, 405, errorBody(new ApiProblem('method_not_allowed'), requestId, deps.baseUrl), requestId)
  })
  return app
}

function answer(c: Context, status: 200 | 405 | 503, body: object, requestId = newRequestId()): Response {
  return c.body(JSON.stringify(body), status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'request-id': requestId,
  })
}

async function readiness(deps: HealthDeps) {
  const prices = deps.prices?.report().map(({ asset, status, reason }) => ({ asset, status, reason })) ?? []
  try {
    const version = await readMigrationVersion(deps.pool)
    const networks = await loadNetworkStates(deps.pool)
    return {
      // In an upgrade the migrations run first: processes of the previous release keep serving until they are
      // replaced.
      status: version >= deps.migration ? 'ready' : 'not_ready',
      database: version === deps.migration ? 'ok' : migrationProblem(version, deps.migration),
      networks: Object.fromEntries(networks.map((state) => [state.network, networkReport(state)])),
      prices,
    }
  } catch (error) {
    deps.log.warn({ err: error }, 'the database cannot be asked')
    return { status: 'not_ready', database: 'the database cannot be reached', networks: {}, prices }
  }
}

const migrationProblem = (found: number, wanted: number): string =>
  found < wanted
    ? `the database has migration ${found} and this program needs ${wanted}: run paylink migrate`
    : `the database has migration ${found} and this program knows ${wanted}: start the newer version`

function networkReport(state: NetworkState): NetworkReport {
  return {
    status: state.status,
    reason: networkReason(state),
    height: state.height,
    tip_height: state.tipHeight,
    read_at: state.readAt?.toISOString() ?? null,
    notifications_silent: state.notificationsSilent,
  }
}

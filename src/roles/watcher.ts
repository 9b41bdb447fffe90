import type { ChainNode } from '../chain-nodes.ts'
import type { Notifier } from '../db/notify.ts'
import { loadNetworkStates } from '../db/queries/network-state.ts'
import { listOpenPrograms } from '../db/queries/watched-programs.ts'
import { openProviders } from '../open-providers.ts'
import { fillAddressPool } from '../watcher/fill-address-pool.ts'
import type { FollowOptions } from '../watcher/follow-network.ts'
import { startWatcher } from '../watcher/start-watcher.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** Follows every network that has a node, and keeps its addresses in supply. */
export function startWatcherRole(context: RoleContext & { readonly notifier: Notifier }): RunningRole {
  const { metrics, nodes, poolOf } = context
  const pool = poolOf('watcher')
  const watcher = startWatcher(nodes.map((node) => followOptions(context, node)))
  metrics.gauge('paylink_network_height', 'Last block whose consequences are committed', async () =>
    (await loadNetworkStates(pool)).map(({ network, height }) => ({ label: network, value: height ?? 0 })),
  )
  metrics.gauge('paylink_network_ok', '1 where a network is followed without a fault', async () =>
    (await loadNetworkStates(pool)).map(({ network, status }) => ({
      label: network,
      value: status === 'ok' ? 1 : 0,
    })),
  )
  metrics.gauge(
    'paylink_network_impaired',
    '1 where a network is followed and one of its providers is away, so that payments may wait',
    async () =>
      (await loadNetworkStates(pool)).map(({ network, status, reason }) => ({
        label: network,
        value: status === 'ok' && reason !== null ? 1 : 0,
      })),
  )
  return { stop: () => watcher.stop() }
}

function followOptions(
  context: RoleContext & { readonly notifier: Notifier },
  node: ChainNode,
): FollowOptions {
  const { clock, log, notifier, poolOf, urls } = context
  const pool = poolOf('watcher')
  const { chain, livemode, network } = node
  const keyspace: `${typeof chain}-${'live' | 'test'}` = `${chain}-${livemode ? 'live' : 'test'}`
  const openPrograms = () => listOpenPrograms(pool, { network, keyspace, now: clock() })
  return {
    ...openProviders(node, { clock, openPrograms }),
    pool,
    connectionString: urls.watcher,
    clock,
    log,
    notifier,
    fillAddressPool: (parameters, watched) =>
      fillAddressPool({
        pool,
        keyspace,
        parameters,
        clock,
        addToWatched: (programs) => watched.add(programs),
      }),
  }
}

import { keepAuditing } from '../audit/keep-auditing.ts'
import { type ChainNode, evmIdentitiesOf } from '../chain-nodes.ts'
import { CHAINS, keyspaceOfNetwork, type Network } from '../core/assets.ts'
import type { Notifier } from '../db/notify.ts'
import type { Pool } from '../db/pool.ts'
import { findNetworksWithAddresses } from '../db/queries/address-availability.ts'
import { countRefusedBatches } from '../db/queries/address-batches.ts'
import { type AuditRun, loadLastAuditRun } from '../db/queries/audit-runs.ts'
import { countShortfalls } from '../db/queries/ledger.ts'
import { loadNetworkStates } from '../db/queries/network-state.ts'
import { endWatch } from '../db/queries/network-watch.ts'
import { listOpenPrograms } from '../db/queries/watched-programs.ts'
import { readGasStanding } from '../db/read-gas-standing.ts'
import type { GaugeValue } from '../metrics.ts'
import { openCarriage } from '../open-carriage.ts'
import { openProviders } from '../open-providers.ts'
import type { FollowOptions } from '../watcher/follow-network.ts'
import { lockKeyOf } from '../watcher/lead.ts'
import { startPayouts } from '../watcher/start-payouts.ts'
import { startWatcher } from '../watcher/start-watcher.ts'
import { supplyAddresses } from '../watcher/supply-addresses.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** Follows every network that has a node, and keeps its addresses in supply. */
export function startWatcherRole(context: RoleContext & { readonly notifier: Notifier }): RunningRole {
  const { clock, log, metrics, nodes, poolOf } = context
  const pool = poolOf('watcher')
  const networks = nodes.map(({ network }) => network)
  const ended = endWatchOfOthers(pool, networks)
  ended.catch(context.onFatal)
  const watcher = startWatcher(nodes.map((node) => followOptions(context, node)))
  const carriers = payoutFollowers(context)
  const payouts = startPayouts(carriers.map(({ follower }) => follower))
  const supply = supplyAddresses({ pool, networks, clock, log })
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
  metrics.gauge(
    'paylink_hot_wallet_low',
    '1 where a hot wallet has too little ether for the gas of USDC payouts, so that they wait',
    async () => {
      const standings = await Promise.all(networks.map((network) => readGasStanding(pool, network)))
      return standings.flatMap((each) =>
        each === null ? [] : [{ label: each.network, value: each.isLow && each.isNeeded ? 1 : 0 }],
      )
    },
  )
  metrics.gauge('paylink_network_has_addresses', '1 where a deposit address is ready', async () => {
    const ready = await findNetworksWithAddresses(pool)
    return networks.map((network) => ({ label: network, value: ready.has(network) ? 1 : 0 }))
  })
  metrics.gauge(
    'paylink_balances_short',
    'Balances in which something is missing that was paid out before the chain took it back',
    async () => {
      const { live, test } = await countShortfalls(pool)
      return [
        { label: 'live', value: live },
        { label: 'test', value: test },
      ]
    },
  )
  metrics.gauge(
    'paylink_address_batches_refused',
    'Batches of addresses in the database that the signer did not sign',
    async () => [{ value: await countRefusedBatches(pool) }],
  )
  const audits = keepAuditing({ pool, nodes, clock, log })
  metrics.gauge('paylink_audit_last_run_seconds', 'When the last audit ended, in Unix seconds', async () =>
    figureOf(await loadLastAuditRun(pool), ({ finishedAt }) => finishedAt.getTime() / 1_000),
  )
  metrics.gauge('paylink_audit_discrepancies', 'What the last audit found', async () =>
    figureOf(await loadLastAuditRun(pool), ({ discrepancies }) => discrepancies),
  )
  metrics.gauge('paylink_audit_not_checked', 'What the last audit could not check', async () =>
    figureOf(await loadLastAuditRun(pool), ({ notChecked }) => notChecked),
  )
  return {
    stop: async () => {
      await ended
      await audits.stop()
      const carried = payouts.stop()
      // Calls that wait for a node's answer end with the connections.
      await Promise.all(carriers.map(({ close }) => close()))
      await carried
      await supply.stop()
      await watcher.stop()
    },
  }
}

/** No figure before there was an audit. */
const figureOf = (run: AuditRun | null, read: (run: AuditRun) => number): GaugeValue[] =>
  run === null ? [] : [{ value: read(run) }]

/** A network that was configured once and is no longer must not hold back the addresses of others. */
async function endWatchOfOthers(pool: Pool, followed: readonly Network[]): Promise<void> {
  for (const chain of CHAINS) {
    for (const network of [`${chain}-live`, `${chain}-test`] as const) {
      // Where another process follows it, that one has the lead, and nothing happens.
      if (!followed.includes(network)) await endWatch(pool, network, lockKeyOf(network))
    }
  }
}

function payoutFollowers(context: RoleContext & { readonly notifier: Notifier }) {
  const { clock, log, nodes, notifier, poolOf } = context
  const pool = poolOf('watcher')
  return nodes.flatMap((node) => {
    const opened = openCarriage(node, { pool, clock, log })
    if (opened === null) return []
    const { carriage, close } = opened
    return [{ close, follower: { network: node.network, carriage, pool, clock, log, notifier } }]
  })
}

function followOptions(
  context: RoleContext & { readonly notifier: Notifier },
  node: ChainNode,
): FollowOptions {
  const { clock, log, nodes, notifier, poolOf, urls } = context
  const pool = poolOf('watcher')
  const { network } = node
  const keyspace = keyspaceOfNetwork(network)
  const openPrograms = (at: Date) => listOpenPrograms(pool, { network, keyspace, now: at })
  return {
    ...openProviders(node, { clock, openPrograms }),
    pool,
    connectionString: urls.watcher,
    evmOf: evmIdentitiesOf(nodes),
    clock,
    log,
    notifier,
  }
}

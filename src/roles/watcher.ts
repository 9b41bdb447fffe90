import { keepAuditing } from '../audit/keep-auditing.ts'
import { ASSET_IDS, isSplToken, keyspaceOfNetwork } from '../core/assets.ts'
import { listAskedAssets, listOpenAddresses } from '../db/chain/watched-addresses.ts'
import { releaseDecided } from '../flows/release-decided.ts'
import { type ChainNode, chainIdentitiesOf } from '../nodes/chain-nodes.ts'
import { openProviders } from '../nodes/open-providers.ts'
import { openBroadcaster } from '../payouts/broadcast/open-broadcaster.ts'
import { OutcomeSealer } from '../payouts/broadcast/outcome-sealer.ts'
import { startPayoutTrackers } from '../payouts/broadcast/payout-tracker.ts'
import { loadSolanaSignerAccounts } from '../payouts/store/solana-accounts.ts'
import type { Notifier } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import { repeat } from '../runtime/repeat.ts'
import type { SigningKey } from '../secrets/signing-key.ts'
import { exposeMetrics } from '../watcher/expose-metrics.ts'
import type { FollowOptions } from '../watcher/follow-network.ts'
import { endWatchOfOthers, startWatcher } from '../watcher/start-watcher.ts'
import { supplyAddresses } from '../watcher/supply-addresses.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** For as long as processes of an earlier release decide beside this one. */
const RELEASE_EVERY_MS = 10 * 60_000

type WatcherContext = RoleContext & {
  readonly notifier: Notifier
  /** What it seals outcomes with; null where the process was given no key for that. */
  readonly outcomeKey: SigningKey | null
  /** What audits read; null where there is none. */
  readonly standby: Pool | null
}

/** Follows every network that has a node, broadcasts and follows its payouts, and keeps its address pool filled. */
export function startWatcherRole(context: WatcherContext): RunningRole {
  const { activity, clock, config, log, metrics, nodes, poolOf } = context
  const pool = poolOf('watcher')
  const networks = nodes.map(({ network }) => network)
  const others = endWatchOfOthers({ pool, followed: networks, log })
  const watcher = startWatcher(nodes.map((node) => followOptions(context, node)))
  const opened = openBroadcasters(context)
  const payouts = startPayoutTrackers(opened.map(({ tracked }) => tracked))
  const supply = supplyAddresses({ pool, networks, clock, log, pause: activity.pause })
  const { addressKeysFile } = config
  const { outcomeKey: sealKey, standby } = context
  const audits = keepAuditing({ pool, standby, nodes, clock, log, addressKeysFile, sealKey })
  const releases = releasesOfDecided(context)
  exposeMetrics({ metrics, pool, networks, clock, auditKey: context.outcomeKey?.publicKey ?? null })
  return {
    stop: async () => {
      await others.stop()
      await audits.stop()
      await releases.stop()
      const stopped = payouts.stop()
      // Closing the connections ends calls that wait for a node's answer.
      await Promise.all(opened.map(({ close }) => close()))
      await stopped
      await supply.stop()
      await watcher.stop()
    },
  }
}

function releasesOfDecided({ clock, log, nodes, poolOf }: WatcherContext) {
  const onFailed = (invoiceId: string, error: unknown) =>
    log.error({ err: error, invoiceId }, 'what was decided of this invoice could not be made available')
  const parts = { pool: poolOf('watcher'), clock, identityOf: chainIdentitiesOf(nodes), onFailed }
  return repeat(() => releaseDecided(parts), {
    everyMs: RELEASE_EVERY_MS,
    onError: (error) => log.error({ err: error }, 'what was decided could not be made available'),
  })
}

function openBroadcasters(context: WatcherContext) {
  const { activity, clock, log, nodes, notifier, outcomeKey, poolOf } = context
  const { pause } = activity
  const pool = poolOf('watcher')
  return nodes.flatMap((node) => {
    const { network } = node
    const sealer = new OutcomeSealer({ network, pool, clock, log, key: outcomeKey })
    const opened = openBroadcaster(node, { pool, clock, log, sealer })
    if (opened === null) return []
    const { broadcaster, close } = opened
    return [{ close, tracked: { network, broadcaster, sealer, pool, clock, log, notifier, pause } }]
  })
}

function followOptions(context: WatcherContext, node: ChainNode): FollowOptions {
  const { activity, clock, log, nodes, notifier, poolOf, urls } = context
  const pool = poolOf('watcher')
  const { network } = node
  const keyspace = keyspaceOfNetwork(network)
  const openAddresses = (at: Date, fromHeight: number | null = null) =>
    listOpenAddresses(pool, { network, keyspace, now: at, fromHeight })
  const askedTokens = (at: Date) =>
    listAskedAssets(pool, { network, keyspace, assets: ASSET_IDS.filter(isSplToken), now: at })
  const feePayer = async () => (await loadSolanaSignerAccounts(pool, network))?.feePayer ?? null
  return {
    ...openProviders(node, { clock, openAddresses, askedTokens, feePayer }),
    pool,
    connectionString: urls.watcher,
    identityOf: chainIdentitiesOf(nodes),
    clock,
    log,
    notifier,
    activity,
  }
}

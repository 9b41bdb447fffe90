import pino from 'pino'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import type { Network } from '../../src/core/assets.ts'
import { loadNetworkState, type NetworkState } from '../../src/db/chain/network-state.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { FollowOptions } from '../../src/watcher/follow-network.ts'
import { startWatcher, type Watcher } from '../../src/watcher/start-watcher.ts'
import type { TestDatabase } from './database.ts'
import { settingOf } from './utxo-driver.ts'

const RETRY_MS = 100
const LOOK_INTERVAL_MS = 100

export type WatchOptions = {
  readonly chain?: 'litecoin' | 'bitcoin'
  readonly rpcUrl: string
  readonly zmqUrl?: string | null
  readonly pollIntervalMs?: number
  readonly changes?: Partial<FollowOptions>
}

export type Watching = Watcher & { readonly adapter: ChainAdapter }

/** Starts a watcher of one Litecoin or Bitcoin test network on a real database, with nothing to fill its pool. */
export function watchNetwork(database: TestDatabase, options: WatchOptions): Watching {
  const { chain = 'litecoin', rpcUrl, zmqUrl = null, pollIntervalMs } = options
  const adapter = new UtxoAdapter({
    chain,
    livemode: false,
    rpcUrl,
    rpcSetting: settingOf(chain),
    zmqUrl,
    clock: systemClock,
    probeIntervalMs: 50,
  })
  const poll = pollIntervalMs === undefined ? {} : { pollIntervalMs }
  return watchWith(database, adapter, { ...poll, ...options.changes })
}

/**
 * Starts a watcher with a given adapter. What fails or halts is looked at again soon: a test mends it itself. What a
 * test awaits is the state that a look leaves: looks are frequent, and each of them is written down.
 */
export function watchWith(
  database: TestDatabase,
  adapter: ChainAdapter,
  changes: Partial<FollowOptions> = {},
): Watching {
  const watcher = startWatcher([
    {
      adapter,
      pool: database.pools.watcher,
      connectionString: database.urls.watcher,
      clock: systemClock,
      log: pino({ level: process.env.LOG_LEVEL ?? 'silent' }),
      notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
      haltedRetryMs: RETRY_MS,
      backoffMsMax: RETRY_MS,
      pollIntervalMs: LOOK_INTERVAL_MS,
      upkeepIntervalMs: 0,
      ...changes,
    },
  ])
  return { ...watcher, adapter }
}

export async function networkState(database: TestDatabase, network: Network): Promise<NetworkState> {
  const state = await loadNetworkState(database.owner, network)
  if (state === null) throw new Error(`${network} was never followed`)
  return state
}

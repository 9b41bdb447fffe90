import pino from 'pino'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/clock.ts'
import type { Network } from '../../src/core/assets.ts'
import { loadNetworkState, type NetworkState } from '../../src/db/queries/network-state.ts'
import type { FollowOptions } from '../../src/watcher/follow-network.ts'
import { startWatcher, type Watcher } from '../../src/watcher/start-watcher.ts'
import type { TestDatabase } from './database.ts'

export type WatchOptions = {
  readonly chain?: 'litecoin' | 'bitcoin'
  readonly rpcUrl: string
  readonly zmqUrl?: string | null
  readonly pollIntervalMs?: number
  readonly changes?: Partial<FollowOptions>
}

export type Watching = Watcher & { readonly adapter: UtxoAdapter }

/** Starts a watcher of one Litecoin or Bitcoin test network on a real database, with nothing to fill its pool. */
export function watchNetwork(database: TestDatabase, options: WatchOptions): Watching {
  const adapter = new UtxoAdapter({
    chain: options.chain ?? 'litecoin',
    livemode: false,
    rpcUrl: options.rpcUrl,
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: options.zmqUrl ?? null,
    clock: systemClock,
    probeIntervalMs: 50,
  })
  const watcher = startWatcher([
    {
      adapter,
      pool: database.pools.watcher,
      connectionString: database.urls.watcher,
      clock: systemClock,
      log: pino({ level: process.env.LOG_LEVEL ?? 'silent' }),
      notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
      fillAddressPool: async () => {},
      ...(options.pollIntervalMs === undefined ? {} : { pollIntervalMs: options.pollIntervalMs }),
      ...options.changes,
    },
  ])
  return { ...watcher, adapter }
}

export async function networkState(database: TestDatabase, network: Network): Promise<NetworkState> {
  const state = await loadNetworkState(database.owner, network)
  if (state === null) throw new Error(`${network} was never followed`)
  return state
}

import { EvmAdapter, type EvmAdapterOptions } from '../../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type RescanReport, rescanBlocks } from '../../src/watcher/rescan.ts'
import type { DrivenAnvil } from '../support/evm-driver.ts'
import type { WatchedChain } from '../support/watched-chain.ts'

/** From a height to the checkpoint, by a node that traces: the chain's own, or whatever answers at `url`. */
export async function rescanEvm(
  watched: WatchedChain<DrivenAnvil>,
  from: number,
  url?: string,
): Promise<RescanReport> {
  const { chain, database, driver } = watched
  const options = { ...(chain.recipe.options as EvmAdapterOptions), clock: systemClock }
  const traced = new EvmAdapter(url === undefined ? options : { ...options, url })
  const { rows } = await database.owner.query<{ addressBytes: Buffer }>(
    'select program as "addressBytes" from deposit_address',
  )
  traced.watched.add(rows.map(({ addressBytes }) => addressBytes))
  await traced.connect()
  const { height, hash } = await watched.state()
  if (height === null || hash === null) throw new Error('nothing was read yet')
  const report = await rescanBlocks({
    pool: database.pools.watcher,
    clock: systemClock,
    network: driver.network,
    blocks: traced,
    from,
    to: height,
    checkpoint: { height, hash },
    mustAgree: true,
    readTwice: [],
    unknownAddresses: new Map(),
    notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
    onBatch: () => {},
  })
  await traced.close()
  return report
}

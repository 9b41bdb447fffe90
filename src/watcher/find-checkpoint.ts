import { type ChainAdapter, ChainUnavailable } from '../chain/adapter.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import {
  loadNetworkState,
  type NetworkState,
  saveChainIdentity,
  startCheckpoint,
} from '../db/chain/network-state.ts'
import { leaveTransfersBehind } from '../db/invoices/transfers.ts'
import type { Log } from '../runtime/log.ts'
import { LeadershipLost, type RecordingParts, whileLeading } from './record-facts.ts'
import { abandonUnsettled } from './record-reading.ts'

/**
 * Where to continue: the stored checkpoint, or the node's tip on a network that was never followed or is now another
 * chain. What was final on the other chain stays final and is no longer followed; what was not final is given up.
 */
export async function findCheckpoint(parts: RecordingParts, parameters: string, log: Log): Promise<BlockRef> {
  const { adapter, pool } = parts
  const { network } = adapter
  const state = await loadNetworkState(pool, network)
  const checkpoint = checkpointOf(state)
  const chain = await adapter.identity()
  if (state === null || checkpoint === null) return start(parts, { parameters, chain }, null)
  if (!(await isOtherChain(adapter, state, { parameters, chain }))) {
    if (chain !== null && chain !== state.chain) await saveChainIdentity(pool, network, chain)
    return checkpoint
  }
  log.warn(
    { network, from: { parameters: state.parameters, chain: state.chain }, to: { parameters, chain } },
    'the network is another chain than before: starting at its tip',
  )
  await abandonUnsettled(parts)
  return start(parts, { parameters, chain }, { chain: state.chain, hash: checkpoint.hash })
}

/** Learns which chain is followed once it has a block to identify it by; false while it has none. */
export async function rememberIdentity({ adapter, pool }: RecordingParts): Promise<boolean> {
  const chain = await adapter.identity()
  if (chain === null) return false
  await saveChainIdentity(pool, adapter.network, chain)
  return true
}

/**
 * A node that left our chain may have been swapped for one of another chain, at the same address: that is no reorganisation.
 * Throws `ChainHalted` where the network may not be on that chain, and `ChainUnavailable` where it may: a new connection
 * begins there.
 */
export async function refuseOtherChain({ adapter, pool }: RecordingParts): Promise<void> {
  const parameters = await adapter.parameters()
  const [state, chain] = [await loadNetworkState(pool, adapter.network), await adapter.identity()]
  if (state !== null && (await isOtherChain(adapter, state, { parameters, chain })))
    throw new ChainUnavailable('the node is on another chain than the one that was read')
}

/**
 * Whether the node is on another chain than the one that was read: other parameters, or other blocks from the
 * first on. A private chain may have its first block reorganised away; it then knows the old blocks all the
 * same. A node that has our first block and not our last is behind, and is waited for.
 */
export async function isOtherChain(
  adapter: Pick<ChainAdapter, 'knows'>,
  state: NetworkState,
  now: { readonly parameters: string; readonly chain: string | null },
): Promise<boolean> {
  if (state.parameters !== now.parameters) return true
  const { height, hash } = state
  if (height === null || hash === null || state.chain === null || state.chain === now.chain) return false
  return !(await adapter.knows({ height, hash }))
}

function checkpointOf(state: NetworkState | null): BlockRef | null {
  if (state === null || state.height === null || state.hash === null) return null
  return { height: state.height, hash: state.hash, timeMs: state.blockTime?.getTime() ?? 0 }
}

/** No address of ours existed before the first start on a chain, so nothing below the tip can pay one. */
async function start(
  parts: RecordingParts,
  now: { readonly parameters: string; readonly chain: string | null },
  before: { readonly chain: string | null; readonly hash: string } | null,
): Promise<BlockRef> {
  const { adapter, clock } = parts
  const { network } = adapter
  const block = await adapter.tip()
  const started = await whileLeading(parts, async (tx) => {
    const position = { ...now, block, beforeHash: before?.hash ?? null, now: clock() }
    if (!(await startCheckpoint(tx, network, position))) return false
    if (before !== null) await leaveTransfersBehind(tx, network, before.chain, now.chain)
    return true
  })
  if (!started) throw new LeadershipLost(`another process started ${network}`)
  return block
}

import { ChainUnavailable } from '../../chain/adapter.ts'
import { pauseUnless } from '../../runtime/repeat.ts'
import { PayoutCourier, type PayoutFollower } from './follow-payouts.ts'

const INTERVAL_MS = 1_000
/** After a fault of the node, or of our own, it is asked again this much later. */
const FAULT_PAUSE_MS = 5_000

/** Carries the payouts of some networks until stopped, each network by itself. */
export function startPayouts(
  networks: readonly PayoutFollower[],
  intervalMs = INTERVAL_MS,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const ended = Promise.all(networks.map((network) => keepCarrying(network, intervalMs, stopping.signal)))
  return {
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

async function keepCarrying(parts: PayoutFollower, intervalMs: number, stop: AbortSignal): Promise<void> {
  const courier = new PayoutCourier(parts)
  const { log, network } = parts
  while (!stop.aborted) {
    try {
      await courier.pass()
      await pauseUnless(stop, intervalMs)
    } catch (error) {
      if (stop.aborted) return
      // The watcher already reports that a node is away.
      if (error instanceof ChainUnavailable) log.debug({ err: error, network }, 'payouts wait for their node')
      else log.error({ err: error, network }, 'payouts cannot be carried')
      await pauseUnless(stop, FAULT_PAUSE_MS)
    }
  }
}

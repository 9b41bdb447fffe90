import type { Network } from '../../core/assets.ts'

/** Often enough to see confirmations count up; the cached status is up to half a second old anyway. */
const POLL_MS = 1_000

type Tips = ReadonlyMap<Network, number>

/**
 * Reports about once a second on which networks new blocks were read. One more confirmation does not change an invoice, so
 * no notification reports it. Reads nothing while no page is open. Returns what ends it.
 */
export function followTips(deps: {
  readonly isWatched: () => boolean
  readonly read: () => Promise<Tips>
  readonly onMoved: (networks: ReadonlySet<Network>) => void
  readonly onError: (error: unknown) => void
}): () => void {
  let known: Tips = new Map()
  let isReading = false
  const look = async () => {
    if (isReading || !deps.isWatched()) return
    isReading = true
    try {
      const tips = await deps.read()
      const moved = [...tips].filter(([network, height]) => known.get(network) !== height)
      known = tips
      if (moved.length > 0) deps.onMoved(new Set(moved.map(([network]) => network)))
    } catch (error) {
      deps.onError(error)
    } finally {
      isReading = false
    }
  }
  const timer = setInterval(look, POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

import { ChainUnavailable } from '../adapter.ts'
import type { EvmNode } from './evm-node.ts'

/**
 * Asks the node for its height in short intervals and calls `wake` when it has changed. What replaces a block at the
 * same height is noticed by the watcher's own rounds. Returns how to stop.
 */
export function probeHeight(node: Pick<EvmNode, 'height'>, intervalMs: number, wake: () => void): () => void {
  let last: number | null = null
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const probe = async (): Promise<void> => {
    try {
      const height = await node.height()
      if (last !== null && height !== last) wake()
      last = height
    } catch (error) {
      // The watcher's own round meets the same fault and tells it.
      if (!(error instanceof ChainUnavailable)) throw error
    }
    if (!isStopped) timer = setTimeout(() => void probe(), intervalMs)
  }
  timer = setTimeout(() => void probe(), intervalMs)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

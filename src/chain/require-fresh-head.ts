import type { BlockRef } from '../core/invoice/types.ts'
import { ChainSyncing } from './adapter.ts'

/**
 * Rejects a head that is older than the chain's own heads ever are: behind it may be everything that was paid since,
 * and a reading of it proves nothing. `headAgeMsMax` is null on a private chain, which stands still while nothing
 * happens.
 */
export function requireFreshHead(
  head: BlockRef,
  headAgeMsMax: number | null,
  where: { readonly nowMs: number; readonly setting: string },
): void {
  const ageMs = where.nowMs - head.timeMs
  if (headAgeMsMax === null || ageMs <= headAgeMsMax) return
  throw new ChainSyncing(
    `the newest block of ${where.setting} is ${Math.round(ageMs / 60_000)} minutes old: its node is behind, the whole chain stands, or this machine's clock is wrong`,
  )
}

import { type KeyFamily, keyFamilyOfNetwork, NETWORKS, type Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { type LongWait, listLongWaits } from './long-waits.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Within this time a payout or a sweep comes to its next state where nothing is wrong, on chains of each family. */
const USUAL_MS: { readonly [family in KeyFamily]: number } = {
  bitcoin: 6 * HOUR_MS,
  litecoin: 3 * HOUR_MS,
  evm: HOUR_MS,
  solana: HOUR_MS / 2,
}
/** By then what is next in a hot wallet's line was signed three times, each time for what blocks cost. */
const NEXT_IN_LINE_MS = 20 * MINUTE_MS

/** What has waited longer than is usual, on all networks: payouts, sweeps, and what holds up a hot wallet's whole line. */
export function readLongWaits(db: Queryable, now: Date): Promise<LongWait[]> {
  const before = (ms: number) => new Date(now.getTime() - ms)
  const usual = new Map<Network, Date>(
    NETWORKS.map((network) => [network, before(USUAL_MS[keyFamilyOfNetwork(network)])]),
  )
  return listLongWaits(db, { usual, nextInLine: before(NEXT_IN_LINE_MS) })
}

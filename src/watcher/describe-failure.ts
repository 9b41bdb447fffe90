import { ChainHalted, ChainSyncing, ChainUnavailable } from '../chain/adapter.ts'
import type { NetworkStatus } from '../db/chain/network-state.ts'
import { isDatabaseAway } from '../postgres/database-away.ts'

export const healthKey = (status: NetworkStatus, reason: string | null): string => `${status} ${reason ?? ''}`

/** A network's status after a failure, with a reason for its operator. */
export function describeFailure(error: unknown): { status: NetworkStatus; reason: string } {
  if (error instanceof ChainSyncing) return { status: 'syncing', reason: error.message }
  if (error instanceof ChainUnavailable) return { status: 'unavailable', reason: error.message }
  if (error instanceof ChainHalted) return { status: 'halted', reason: error.message }
  if (error instanceof Error && isDatabaseAway(error))
    return { status: 'unavailable', reason: 'the database did not answer: it is tried again' }
  return { status: 'halted', reason: 'Paylink itself failed: see its log' }
}

import { LRUCache } from 'lru-cache'
import { countDepositAccounts } from '../../db/deposits/deposit-accounts.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tenant, withTransaction } from '../../postgres/transaction.ts'

/** They are never taken back, so that only what other processes made is missed meanwhile. */
const KEEP_MS = 60_000
/** Merchants whose count is kept; beyond it the least recently asked is read again. */
const TENANTS_MAX = 10_000

/** How many customers of a merchant may have permanent addresses in one mode. */
export type DepositAddressLimit = {
  isReached(tenant: Tenant): Promise<boolean>
  /** Counts one that was created. */
  created(tenant: Tenant): void
}

/** Counts at most once a minute, and knows between two counts what this process created. */
export function createDepositAddressLimit(options: {
  readonly pool: Pool
  readonly max: number
  readonly elapsedMs: () => number
}): DepositAddressLimit {
  const { pool, max, elapsedMs } = options
  const known = new LRUCache<string, { count: number; readonly readAtMs: number }>({ max: TENANTS_MAX })
  return {
    isReached: async (tenant) => {
      const entry = known.get(keyOf(tenant))
      if (entry !== undefined && elapsedMs() - entry.readAtMs < KEEP_MS) return entry.count >= max
      const count = await withTransaction(pool, tenant, (tx) => countDepositAccounts(tx, tenant, max))
      known.set(keyOf(tenant), { count, readAtMs: elapsedMs() })
      return count >= max
    },
    created: (tenant) => {
      const entry = known.get(keyOf(tenant))
      if (entry !== undefined) entry.count += 1
    },
  }
}

const keyOf = ({ merchantId, livemode }: Tenant): string => `${livemode ? 'L' : 'T'}${merchantId}`

import type { AccessSeals } from '../core/people/access-seals.ts'
import { loadSealedRow, writeSeal } from '../db/people/access-rows.ts'
import {
  type DashboardApiKey,
  revokeApiKey as revoke,
  revokeTenantKey as revokeOfTenant,
} from '../db/people/api-keys.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withSystemTransaction, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { recordAccess } from './steps/record-access.ts'

type Deps = { readonly pool: Pool; readonly clock: Clock; readonly seals: AccessSeals }

/** Ends an API key of whichever merchant for good, by command: within a second no server accepts it. */
export async function revokeApiKey(
  { pool, clock, seals }: Deps,
  id: string,
): Promise<{ kind: 'revoked'; merchantId: string; revokedAt: Date } | { kind: 'key_not_found' }> {
  const revoked = await withSystemTransaction(pool, async (tx) => {
    const row = await revoke(tx, id, clock())
    if (row !== null) await sealRevoked(tx, seals, row.merchantId, id)
    return row
  })
  return revoked === null ? { kind: 'key_not_found' } : { kind: 'revoked', ...revoked }
}

/** Ends an API key of the tenant; null where there is none. */
export const revokeTenantKey = (
  { pool, clock, seals }: Deps,
  tenant: Tenant,
  id: string,
): Promise<DashboardApiKey | null> =>
  withTransaction(pool, tenant, async (tx) => {
    const key = await revokeOfTenant(tx, tenant, id, clock())
    if (key !== null) await sealRevoked(tx, seals, tenant.merchantId, id)
    return key
  })

/** The seal says that the key has ended: by the one that it had before, it does not come back. */
async function sealRevoked(tx: Tx, seals: AccessSeals, merchantId: string, id: string): Promise<void> {
  const row = await loadSealedRow(tx, 'apiKey', id)
  if (row === null || row.revokedAt === null) return
  await writeSeal(tx, 'apiKey', id, seals.seal('apiKey', row))
  await recordAccess(tx, seals, { kind: 'apiKey', ownerId: merchantId, id })
}

import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { deleteLane } from '../db/queries/delivery-lanes.ts'
import { sweepEndpoint } from '../db/queries/delivery-upkeep.ts'
import { deleteSecrets } from '../db/queries/endpoint-secrets.ts'
import { markRemoved } from '../db/queries/endpoints.ts'
import { type Tenant, withTransaction } from '../db/transaction.ts'

/** Removes an endpoint with its secrets. What waits for it moves to the events that await recovery. */
export function removeEndpoint(
  deps: { pool: Pool; clock: Clock },
  input: { tenant: Tenant; endpointId: string },
): Promise<{ kind: 'removed' } | { kind: 'not_found' }> {
  const { tenant, endpointId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    if (!(await markRemoved(tx, tenant, endpointId, deps.clock()))) return { kind: 'not_found' }
    await deleteSecrets(tx, tenant, endpointId)
    await deleteLane(tx, tenant, endpointId)
    await sweepEndpoint(tx, tenant.merchantId, endpointId, 'removed')
    return { kind: 'removed' }
  })
}

import { sweepEndpoint } from '../db/delivery/delivery-upkeep.ts'
import { deleteLane } from '../db/delivery/endpoint-queues.ts'
import { deleteSecrets } from '../db/delivery/endpoint-secrets.ts'
import { markRemoved } from '../db/delivery/endpoints.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

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

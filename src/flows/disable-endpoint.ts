import { sweepEndpoint } from '../db/delivery/delivery-upkeep.ts'
import { deleteLane } from '../db/delivery/endpoint-queues.ts'
import { loadEndpoint, markDisabled, type WebhookEndpoint } from '../db/delivery/endpoints.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'

/**
 * Ends delivery to an endpoint, until it is verified again. What waits for it moves to the events that await
 * recovery, and goes nowhere else by itself (spec §6.6).
 */
export function disableEndpoint(
  deps: { pool: Pool },
  input: { tenant: Tenant; endpointId: string },
): Promise<{ kind: 'disabled'; endpoint: WebhookEndpoint } | { kind: 'not_found' }> {
  const { tenant, endpointId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    if (!(await markDisabled(tx, tenant, endpointId, 'merchant'))) return { kind: 'not_found' }
    await deleteLane(tx, tenant, endpointId)
    await sweepEndpoint(tx, tenant.merchantId, endpointId, 'disabled')
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    if (endpoint === null) throw new Error(`endpoint ${endpointId} left while its row was held`)
    return { kind: 'disabled', endpoint }
  })
}

import type { Tenant, Tx } from '../../postgres/transaction.ts'

export type FeedEvent = {
  readonly id: string
  readonly eventType: string
  readonly resourceId: string
  readonly sequence: number
  readonly schemaVersion: number
  /** The bytes that are signed and sent. */
  readonly body: Buffer
  readonly createdAtMs: number
}

/** Ids after the given one, which sort by the time they were made. Answered by event_by_mode alone. */
export async function listEventIdsAfter(
  tx: Tx,
  tenant: Tenant,
  afterId: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'select id from event where merchant_id = $1 and livemode = $2 and id > $3 order by id limit $4',
    [tenant.merchantId, tenant.livemode, afterId, limit],
  )
  return rows.map((row) => row.id)
}

/** Whole events by their ids, in no order. By the key. */
export async function loadEvents(tx: Tx, tenant: Tenant, ids: readonly string[]): Promise<FeedEvent[]> {
  const { rows } = await tx.query<{
    id: string
    event_type: string
    resource_id: string
    sequence: number
    schema_version: number
    body: Buffer
    created_at: Date
  }>(
    `select id, event_type, resource_id, sequence, schema_version, body, created_at
     from event where merchant_id = $1 and livemode = $2 and id = any($3)`,
    [tenant.merchantId, tenant.livemode, ids],
  )
  return rows.map((row) => ({
    id: row.id,
    eventType: row.event_type,
    resourceId: row.resource_id,
    sequence: row.sequence,
    schemaVersion: row.schema_version,
    body: row.body,
    createdAtMs: row.created_at.getTime(),
  }))
}

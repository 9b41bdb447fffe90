import type { Lane } from '../../core/endpoint/breaker.ts'
import type { Tenant, Tx } from '../transaction.ts'

/**
 * Takes the lanes of a batch for this transaction, those that have no row yet included, in one order for all: two
 * batches that close and open each other's lanes wait, and never for one another.
 */
export async function takeLanes(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string }[],
): Promise<void> {
  const endpointIds = [...new Set(endpoints.map((endpoint) => endpoint.endpointId))]
  await tx.query(
    `select pg_advisory_xact_lock(k.key) from (
       select distinct hashtextextended('delivery_lane/' || f.id, 0) as key
       from unnest($1::text[]) as f (id) order by key offset 0) k`,
    [endpointIds],
  )
  await loadLanes(tx, endpoints)
}

/** Forgets the failures of endpoints that are gone. By the key. */
export async function deleteLanes(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string }[],
): Promise<void> {
  await tx.query(
    `delete from delivery_lane b using unnest($1::text[], $2::text[]) as f (merchant_id, endpoint_id)
     where b.merchant_id = f.merchant_id and b.endpoint_id = f.endpoint_id`,
    [endpoints.map((endpoint) => endpoint.merchantId), endpoints.map((endpoint) => endpoint.endpointId)],
  )
}

/** Endpoints' lanes that are in trouble, locked in the order of their ids. By the key. */
export async function loadLanes(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string }[],
): Promise<Map<string, Lane>> {
  const { rows } = await tx.query<{
    endpoint_id: string
    failures: number
    probe_id: string | null
    probe_at: Date | null
  }>(
    `select b.endpoint_id, b.failures, b.probe_id, b.probe_at
     from unnest($1::text[], $2::text[]) as f (merchant_id, endpoint_id)
     join delivery_lane b on b.merchant_id = f.merchant_id and b.endpoint_id = f.endpoint_id
     order by b.endpoint_id for update of b`,
    [endpoints.map((endpoint) => endpoint.merchantId), endpoints.map((endpoint) => endpoint.endpointId)],
  )
  return new Map(
    rows.map((row) => [
      row.endpoint_id,
      { failures: row.failures, probeId: row.probe_id, probeAtMs: row.probe_at?.getTime() ?? null },
    ]),
  )
}

/** Writes the lanes of endpoints whose last try failed. */
export async function saveLanes(
  tx: Tx,
  lanes: readonly (Lane & { merchantId: string; endpointId: string; livemode: boolean })[],
): Promise<void> {
  await tx.query(
    `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, probe_id, probe_at)
     select * from unnest($1::text[], $2::text[], $3::bool[], $4::int[], $5::text[], $6::timestamptz[])
     on conflict (merchant_id, endpoint_id) do update
     set failures = excluded.failures, probe_id = excluded.probe_id, probe_at = excluded.probe_at`,
    [
      lanes.map((lane) => lane.merchantId),
      lanes.map((lane) => lane.endpointId),
      lanes.map((lane) => lane.livemode),
      lanes.map((lane) => lane.failures),
      lanes.map((lane) => lane.probeId),
      lanes.map((lane) => (lane.probeAtMs === null ? null : new Date(lane.probeAtMs))),
    ],
  )
}

/** Forgets an endpoint's failures, as after a good answer. By the key. */
export async function closeLane(tx: Tx, tenant: Tenant, endpointId: string): Promise<void> {
  await tx.query('delete from delivery_lane where merchant_id = $1 and endpoint_id = $2', [
    tenant.merchantId,
    endpointId,
  ])
}

/** Where the endpoint's lane is open, the given delivery becomes its probe, now: somebody asked for it. By the key. */
export async function probeWith(
  tx: Tx,
  tenant: Tenant,
  endpointId: string,
  deliveryId: string,
): Promise<void> {
  await tx.query(
    `update delivery_lane set probe_id = $3, probe_at = now()
     where merchant_id = $1 and endpoint_id = $2 and probe_at is not null`,
    [tenant.merchantId, endpointId, deliveryId],
  )
}

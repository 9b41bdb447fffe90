import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Secrets that sign one delivery: the current one and the one that it replaced, with room. More are planted. */
export const SECRETS_MAX = 4

type SealedSecret = { readonly id: string; readonly sealed: Buffer }

/** Where a sealed secret belongs: it opens for no other row. */
export const secretContext = (merchantId: string, secretId: string): string =>
  `endpoint_secret/${merchantId}/${secretId}`

export async function insertSecret(
  tx: Tx,
  tenant: Tenant,
  secret: { id: string; endpointId: string; sealed: Uint8Array; createdAt: Date },
): Promise<void> {
  await tx.query(
    `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [tenant.merchantId, secret.id, secret.endpointId, tenant.livemode, secret.sealed, secret.createdAt],
  )
}

/** The secrets that sign now, the current one first. Served by endpoint_secret_by_endpoint. */
export async function loadValidSecrets(tx: Tx, tenant: Tenant, endpointId: string): Promise<SealedSecret[]> {
  const { rows } = await tx.query<{ id: string; secret_sealed: Buffer }>(
    `select id, secret_sealed from endpoint_secret
     where merchant_id = $1 and endpoint_id = $2 and (valid_until is null or valid_until > clock_timestamp())
     order by valid_until desc nulls first, id limit ${SECRETS_MAX}`,
    [tenant.merchantId, endpointId],
  )
  return rows.map((row) => ({ id: row.id, sealed: row.secret_sealed }))
}

/** Whether no other rotation of this endpoint is in flight; held until the transaction ends. */
export async function tryLockRotation(tx: Tx, endpointId: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
    [`rotate/${endpointId}`],
  )
  return rows[0]?.locked === true
}

/** The current secret signs for `seconds` more. Returns when that ends. Served by endpoint_secret_current. */
export async function limitCurrentSecret(
  tx: Tx,
  tenant: Tenant,
  endpointId: string,
  seconds: number,
): Promise<Date> {
  const { rows } = await tx.query<{ valid_until: Date }>(
    `update endpoint_secret set valid_until = clock_timestamp() + $3 * interval '1 second'
     where merchant_id = $1 and endpoint_id = $2 and valid_until is null returning valid_until`,
    [tenant.merchantId, endpointId, seconds],
  )
  const validUntil = rows[0]?.valid_until
  if (validUntil === undefined) throw new Error(`endpoint ${endpointId} has no current secret`)
  return validUntil
}

/** Forgets every secret of the endpoint, at once. Served by endpoint_secret_by_endpoint. */
export async function deleteSecrets(tx: Tx, tenant: Tenant, endpointId: string): Promise<void> {
  await tx.query('delete from endpoint_secret where merchant_id = $1 and endpoint_id = $2', [
    tenant.merchantId,
    endpointId,
  ])
}

/** Forgets the secrets whose overlap is over. Served by endpoint_secret_by_endpoint. */
export async function deleteEndedSecretsOf(tx: Tx, tenant: Tenant, endpointId: string): Promise<void> {
  await tx.query(
    'delete from endpoint_secret where merchant_id = $1 and endpoint_id = $2 and valid_until <= clock_timestamp()',
    [tenant.merchantId, endpointId],
  )
}

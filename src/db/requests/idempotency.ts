import { Rows } from '../../postgres/rows.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** How long an answer is kept and given again. */
export const IDEMPOTENCY_KEPT_MS = 72 * 3_600_000

/** One caller's key on one route. */
export type IdempotencyScope = {
  readonly tenant: Tenant
  readonly method: string
  /** The route's pattern, such as `/payment-links/:id/checkout-sessions`. */
  readonly route: string
  readonly key: string
}

/** What a stored answer is sealed for, and no other. */
export const answerContext = ({ tenant, method, route, key }: IdempotencyScope): string =>
  `idempotency_key/${JSON.stringify([tenant.merchantId, tenant.livemode, method, route, key])}`

export type StoredAnswer = {
  readonly request_hash: Buffer
  readonly response_status: number
  readonly response_body: Buffer
  readonly created_at: Date
}

/** Marks the key as in use until the transaction ends; false where another transaction holds it. Waits for nobody. */
export async function tryLockIdempotencyKey(tx: Tx, lock: bigint): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) as locked', [
    lock,
  ])
  return rows[0]?.locked === true
}

/**
 * Marks a key that nobody has used yet as in use until the transaction ends. Fails as `isRefusal(…, 'keyNotFresh')`
 * where it was used before, however long ago, or is in use. Served by the primary key.
 */
export async function claimFreshKey(tx: Tx, scope: IdempotencyScope, lock: bigint): Promise<void> {
  const { method, route, key, tenant } = scope
  await tx.query(
    `select claim_fresh_key($1, $2, method, route, key, lock)
     from json_to_recordset($3) as row (method text, route text, key text, lock bigint)`,
    [tenant.merchantId, tenant.livemode, new Rows([{ method, route, key, lock: String(lock) }])],
  )
}

/**
 * The answer this key was given before, however old. A statement of its own after the lock: one snapshot for both
 * could miss an answer committed in between. Served by the primary key.
 */
export async function findStoredAnswer(tx: Tx, scope: IdempotencyScope): Promise<StoredAnswer | null> {
  const { rows } = await tx.query<StoredAnswer>(
    `select request_hash, response_status, response_body, created_at from idempotency_key
     where merchant_id = $1 and livemode = $2 and method = $3 and route = $4 and key = $5`,
    keyOf(scope),
  )
  return rows[0] ?? null
}

/** Forgets an answer that is too old to be given again. */
export async function deleteStoredAnswer(tx: Tx, scope: IdempotencyScope): Promise<void> {
  await tx.query(
    `delete from idempotency_key
     where merchant_id = $1 and livemode = $2 and method = $3 and route = $4 and key = $5`,
    keyOf(scope),
  )
}

/** Keeps an answer. */
export async function storeAnswer(
  tx: Tx,
  scope: IdempotencyScope,
  answer: { requestHash: Buffer; status: number; sealedBody: Buffer; now: Date },
): Promise<void> {
  const { method, route, key, tenant } = scope
  const row = {
    method,
    route,
    key,
    request_hash: answer.requestHash.toString('base64'),
    response_status: answer.status,
    response_body: answer.sealedBody.toString('base64'),
    created_at: answer.now,
  }
  await tx.query(
    `insert into idempotency_key
       (merchant_id, livemode, method, route, key, request_hash, response_status, response_body, created_at)
     select $1, $2, method, route, key, decode(request_hash, 'base64'), response_status,
       decode(response_body, 'base64'), created_at
     from json_to_recordset($3) as row (method text, route text, key text, request_hash text,
       response_status integer, response_body text, created_at timestamptz)`,
    [tenant.merchantId, tenant.livemode, new Rows([row])],
  )
}

const keyOf = ({ tenant, method, route, key }: IdempotencyScope): unknown[] => [
  tenant.merchantId,
  tenant.livemode,
  method,
  route,
  key,
]

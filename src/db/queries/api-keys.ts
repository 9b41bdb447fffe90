import type { Queryable } from '../pool.ts'
import type { Tx } from '../transaction.ts'

export type ApiKeyRow = {
  readonly id: string
  readonly merchant_id: string
  readonly livemode: boolean
  readonly scopes: string[]
}

/** Whose key this is, unless it was revoked. One look-up in the unique index on key_hash. */
export async function findApiKey(db: Queryable, keyHash: Buffer): Promise<ApiKeyRow | null> {
  const { rows } = await db.query<ApiKeyRow>(
    `select id, merchant_id, livemode, scopes from api_key where key_hash = $1 and revoked_at is null`,
    [keyHash],
  )
  return rows[0] ?? null
}

/** Writes a new key; only its hash is stored. */
export async function insertApiKey(
  tx: Tx,
  key: {
    id: string
    merchantId: string
    livemode: boolean
    keyHash: Buffer
    scopes: readonly string[]
    createdAt: Date
  },
): Promise<void> {
  await tx.query(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at) values ($1, $2, $3, $4, $5, $6)`,
    [key.merchantId, key.id, key.livemode, key.keyHash, key.scopes, key.createdAt],
  )
}

/** Ends a key of whichever merchant; null where there is none. One that had ended before keeps its time. A handful of rows is looked through. */
export async function revokeApiKey(
  tx: Tx,
  id: string,
  now: Date,
): Promise<{ merchantId: string; revokedAt: Date } | null> {
  const { rows } = await tx.query<{ merchant_id: string; revoked_at: Date }>(
    `update api_key set revoked_at = coalesce(revoked_at, $2) where id = $1 returning merchant_id, revoked_at`,
    [id, now],
  )
  const row = rows[0]
  return row === undefined ? null : { merchantId: row.merchant_id, revokedAt: row.revoked_at }
}

export type ListedApiKey = {
  readonly id: string
  readonly livemode: boolean
  readonly scopes: readonly string[]
  readonly createdAt: Date
  readonly revokedAt: Date | null
}

/** All keys of a merchant, of both modes, oldest first. Served by the primary key. */
export async function listApiKeys(db: Queryable, merchantId: string): Promise<ListedApiKey[]> {
  const { rows } = await db.query<{
    id: string
    livemode: boolean
    scopes: string[]
    created_at: Date
    revoked_at: Date | null
  }>(
    `select id, livemode, scopes, created_at, revoked_at from api_key where merchant_id = $1 order by id collate "C"`,
    [merchantId],
  )
  return rows.map(({ id, livemode, scopes, created_at: createdAt, revoked_at: revokedAt }) => ({
    id,
    livemode,
    scopes,
    createdAt,
    revokedAt,
  }))
}

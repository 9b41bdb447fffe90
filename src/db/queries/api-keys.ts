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

/** Ends a key; false where there is none, or it had ended before. */
export async function revokeApiKey(tx: Tx, merchantId: string, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update api_key set revoked_at = $3 where merchant_id = $1 and id = $2 and revoked_at is null`,
    [merchantId, id, now],
  )
  return rowCount === 1
}

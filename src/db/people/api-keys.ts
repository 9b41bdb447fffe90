import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { holds, type ListPosition, loadPage } from '../list-page.ts'

/** By the names that its seal is made of. */
type ApiKeyRow = {
  readonly id: string
  readonly merchantId: string
  readonly livemode: boolean
  readonly keyHash: Buffer
  readonly scopes: string[]
  readonly revokedAt: null
  readonly seal: string | null
}

/** Whose key this is, unless it was revoked. One look-up in the unique index on key_hash. */
export async function findApiKey(db: Queryable, keyHash: Buffer): Promise<ApiKeyRow | null> {
  const { rows } = await db.query<ApiKeyRow>(
    `select id, merchant_id as "merchantId", livemode, key_hash as "keyHash", scopes, revoked_at as "revokedAt", seal
     from api_key where key_hash = $1 and revoked_at is null`,
    [keyHash],
  )
  return rows[0] ?? null
}

/** Two keys made at the same time are counted one after the other. */
export async function lockKeyCreation(tx: Tx, tenant: Tenant): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `api_key/${tenant.merchantId}/${tenant.livemode}`,
  ])
}

/** How many keys the merchant has in this mode that were not revoked. Served by api_key_by_merchant. */
export async function countActiveKeys(tx: Tx, tenant: Tenant): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from api_key where merchant_id = $1 and livemode = $2 and revoked_at is null`,
    [tenant.merchantId, tenant.livemode],
  )
  return rows[0]?.count ?? 0
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
    name?: string | null
    createdBy?: string | null
    lastCharacters: string
    seal: string
  },
): Promise<void> {
  await tx.query(
    `insert into api_key (merchant_id, id, livemode, key_hash, scopes, created_at, name, created_by, last_characters,
       seal)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      key.merchantId,
      key.id,
      key.livemode,
      key.keyHash,
      key.scopes,
      key.createdAt,
      key.name ?? null,
      key.createdBy ?? null,
      key.lastCharacters,
      key.seal,
    ],
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

type ListedApiKey = {
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

export type DashboardApiKey = ListedApiKey & {
  readonly name: string | null
  /** The last four characters, by which a merchant tells keys apart; null for older ones. */
  readonly lastCharacters: string | null
}

/** A page of a merchant's keys in one mode, newest first. Served by api_key_by_merchant. */
export async function pageOfApiKeys(
  tx: Tx,
  tenant: Tenant,
  position: ListPosition,
  /** Part of a name or an id, or the last characters; undefined for all. */
  text?: string | undefined,
): Promise<{ keys: DashboardApiKey[]; hasMore: boolean }> {
  const filters = [
    ['merchant_id', tenant.merchantId],
    ['livemode', tenant.livemode],
  ] as const
  const matches = (part: string) =>
    `${holds('name', part)} or ${holds('id', part)} or last_characters = ${part}`
  const columns = 'id, livemode, scopes, created_at, revoked_at, name, last_characters'
  const page = await loadPage<{
    id: string
    livemode: boolean
    scopes: string[]
    created_at: Date
    revoked_at: Date | null
    name: string | null
    last_characters: string | null
  }>(tx, { table: 'api_key', columns }, position, filters, text === undefined ? undefined : { text, matches })
  const keys = page.rows.map((row) => ({
    id: row.id,
    livemode: row.livemode,
    scopes: row.scopes,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    name: row.name,
    lastCharacters: row.last_characters,
  }))
  return { keys, hasMore: page.hasMore }
}

/** Whether a key is the tenant's, revoked or not. By primary key. */
export async function apiKeyExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from api_key where merchant_id = $1 and id = $2 and livemode = $3`,
    [tenant.merchantId, id, tenant.livemode],
  )
  return rowCount === 1
}

/** Ends a key of the tenant; null where there is none. One that had ended before keeps its time. By primary key. */
export async function revokeTenantKey(
  tx: Tx,
  tenant: Tenant,
  id: string,
  now: Date,
): Promise<DashboardApiKey | null> {
  const { rows } = await tx.query<{
    scopes: string[]
    created_at: Date
    revoked_at: Date
    name: string | null
    last_characters: string | null
  }>(
    `update api_key set revoked_at = coalesce(revoked_at, $4) where merchant_id = $1 and id = $2 and livemode = $3
     returning scopes, created_at, revoked_at, name, last_characters`,
    [tenant.merchantId, id, tenant.livemode, now],
  )
  const row = rows[0]
  if (row === undefined) return null
  const { scopes, created_at: createdAt, revoked_at: revokedAt, name, last_characters: lastCharacters } = row
  return { id, livemode: tenant.livemode, scopes, createdAt, revokedAt, name, lastCharacters }
}

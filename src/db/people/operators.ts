import type { Queryable } from '../../postgres/pool.ts'

/** Somebody who runs the installation. */
export type Operator = {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
  readonly revokedAt: Date | null
}

const COLUMNS = 'id, name, created_at as "createdAt", revoked_at as "revokedAt"'

/** Writes a new operator; of the key only its hash is stored. */
export async function insertOperator(
  db: Queryable,
  operator: Omit<Operator, 'revokedAt'> & { readonly keyHash: Buffer },
): Promise<void> {
  await db.query('insert into operator (id, name, key_hash, created_at) values ($1, $2, $3, $4)', [
    operator.id,
    operator.name,
    operator.keyHash,
    operator.createdAt,
  ])
}

/** Whose key this is, unless it was revoked. By the unique index on key_hash. */
export async function findOperator(db: Queryable, keyHash: Buffer): Promise<Operator | null> {
  const { rows } = await db.query<Operator>(
    `select ${COLUMNS} from operator where key_hash = $1 and revoked_at is null`,
    [keyHash],
  )
  return rows[0] ?? null
}

/** Everybody who ever was one, oldest first; a handful of rows. */
export async function listOperators(db: Queryable): Promise<Operator[]> {
  const { rows } = await db.query<Operator>(`select ${COLUMNS} from operator order by id`)
  return rows
}

/** Ends an operator's key; null where there is no such operator. One that had ended before keeps its time. */
export async function revokeOperator(db: Queryable, id: string, now: Date): Promise<Date | null> {
  const { rows } = await db.query<{ revoked_at: Date }>(
    'update operator set revoked_at = coalesce(revoked_at, $2) where id = $1 returning revoked_at',
    [id, now],
  )
  return rows[0]?.revoked_at ?? null
}

/** How many operators there are now. */
export async function countOperators(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from operator where revoked_at is null',
  )
  return rows[0]?.count ?? 0
}

/** Gives an operator an authenticator app in place of the one before, sealed to the signer; false where there is no such operator. */
export async function saveOperatorSecret(db: Queryable, id: string, sealed: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    'update operator set totp_sealed = $2 where id = $1 and revoked_at is null',
    [id, sealed],
  )
  return rowCount === 1
}

/** The sealed secrets of operators who were not revoked; a handful of rows. */
export async function listOperatorSecrets(
  db: Queryable,
  limit: number,
): Promise<{ readonly id: string; readonly sealed: Buffer }[]> {
  const { rows } = await db.query<{ id: string; sealed: Buffer }>(
    `select id, totp_sealed as sealed from operator where revoked_at is null and totp_sealed is not null
     order by id limit $1`,
    [limit],
  )
  return rows
}

import type { Queryable } from '../postgres/pool.ts'

/** The check of the key that this database's secrets are sealed with; null before the first start. One row. */
export async function loadKeyCheck(db: Queryable): Promise<Buffer | null> {
  const { rows } = await db.query<{ key_check: Buffer }>('select key_check from installation_secret')
  return rows[0]?.key_check ?? null
}

/** Keeps the check of the key of the first start; of several starts at once the first one's stays. */
export async function insertKeyCheck(db: Queryable, keyCheck: Buffer, now: Date): Promise<void> {
  await db.query(
    'insert into installation_secret (key_check, created_at) values ($1, $2) on conflict do nothing',
    [keyCheck, now],
  )
}

/** Whether anything is sealed at all, for a role that sees every tenant's rows. Two probes of the first row. */
export async function holdsSealedRows(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ sealed: boolean }>(
    'select exists (select from endpoint_secret) or exists (select from idempotency_key) as sealed',
  )
  return rows[0]?.sealed === true
}

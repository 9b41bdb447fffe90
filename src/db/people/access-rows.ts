import {
  type AccessKind,
  columnOf,
  OWNER_FIELDS,
  SEALED_ROWS,
  type SealedModel,
  type SealedRow,
} from '../../core/people/sealed-rows.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { MemberRole } from './people.ts'

const columnsOf = (model: SealedModel): string =>
  SEALED_ROWS[model].fields.map((field) => `${columnOf(field)} as "${field}"`).join(', ')

/** A row with its seal, by its id; null where there is none. By primary key, of API keys a handful. */
export async function loadSealedRow(
  db: Queryable,
  model: SealedModel,
  id: string,
): Promise<SealedRow | null> {
  const { rows } = await db.query<SealedRow>(
    `select id, ${columnsOf(model)}, seal from ${SEALED_ROWS[model].table} where id = $1`,
    [id],
  )
  return rows[0] ?? null
}

/** A page of all rows after an id, with their seals. Served by the primary key. */
export async function pageOfSealedRows(
  db: Queryable,
  model: SealedModel,
  page: { after: string; limit: number },
): Promise<SealedRow[]> {
  const { rows } = await db.query<SealedRow>(
    `select id, ${columnsOf(model)}, seal from ${SEALED_ROWS[model].table}
     where id > $1 order by id limit $2`,
    [page.after, page.limit],
  )
  return rows
}

/** All of a shop's or person's rows of a kind, with their seals. Served by an index on the owner. */
export async function loadSealedRowsOf(
  db: Queryable,
  kind: AccessKind,
  ownerId: string,
): Promise<SealedRow[]> {
  const { rows } = await db.query<SealedRow>(
    `select id, ${columnsOf(kind)}, seal from ${SEALED_ROWS[kind].table} where ${columnOf(OWNER_FIELDS[kind])} = $1`,
    [ownerId],
  )
  return rows
}

/** Gives a row its seal. By primary key. */
export async function writeSeal(db: Queryable, model: SealedModel, id: string, seal: string): Promise<void> {
  await db.query(`update ${SEALED_ROWS[model].table} set seal = $2 where id = $1`, [id, seal])
}

/** Deletes what has no seal. A scan, once. */
export async function deleteUnsealed(db: Queryable, model: SealedModel): Promise<void> {
  await db.query(`delete from ${SEALED_ROWS[model].table} where seal is null`)
}

export type StoredSet = {
  readonly ownerId: string
  readonly kind: AccessKind
  readonly entries: string[]
  readonly seal: string
}

/** Makes a set where there is none, and locks it. By primary key. */
export async function lockAccessSet(tx: Tx, empty: StoredSet): Promise<StoredSet> {
  await tx.query(
    'insert into access_set (owner_id, kind, entries, seal) values ($1, $2, $3, $4) on conflict do nothing',
    [empty.ownerId, empty.kind, empty.entries, empty.seal],
  )
  const { rows } = await tx.query<{ entries: string[]; seal: string }>(
    'select entries, seal from access_set where owner_id = $1 and kind = $2 for update',
    [empty.ownerId, empty.kind],
  )
  return { ...empty, ...rows[0] }
}

/** A set; null where there is none. By primary key. */
export async function loadAccessSet(
  db: Queryable,
  kind: AccessKind,
  ownerId: string,
): Promise<StoredSet | null> {
  const { rows } = await db.query<{ entries: string[]; seal: string }>(
    'select entries, seal from access_set where owner_id = $1 and kind = $2',
    [ownerId, kind],
  )
  return rows[0] === undefined ? null : { ownerId, kind, ...rows[0] }
}

/** Writes a set, whatever it was. By primary key. */
export async function writeAccessSet(
  db: Queryable,
  { ownerId, kind, entries, seal }: StoredSet,
): Promise<void> {
  await db.query(
    `insert into access_set (owner_id, kind, entries, seal) values ($1, $2, $3, $4)
     on conflict (owner_id, kind) do update set entries = excluded.entries, seal = excluded.seal`,
    [ownerId, kind, entries, seal],
  )
}

/** A page of the sets of one kind, after an owner. Served by the primary key. */
export async function pageOfAccessSets(
  db: Queryable,
  kind: AccessKind,
  page: { after: string; limit: number },
): Promise<StoredSet[]> {
  const { rows } = await db.query<StoredSet>(
    `select owner_id as "ownerId", kind, entries, seal from access_set
     where kind = $1 and owner_id > $2 order by owner_id limit $3`,
    [kind, page.after, page.limit],
  )
  return rows
}

/** Notes that older rows are sealed now; false where they were before, or another process is at it and done. */
export async function claimFirstSealing(tx: Tx, now: Date): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into access_sealed (sealed_at) values ($1) on conflict do nothing',
    [now],
  )
  return rowCount === 1
}

/** A person's membership of a shop, with its seal; null where there is none. Served by the unique key of organization_member. */
export async function findMembership(
  db: Queryable,
  input: { userId: string; merchantId: string },
): Promise<(SealedRow & { readonly role: MemberRole }) | null> {
  const { rows } = await db.query<SealedRow & { role: MemberRole }>(
    `select id, ${columnsOf('member')}, seal from organization_member where organization_id = $1 and user_id = $2`,
    [input.merchantId, input.userId],
  )
  return rows[0] ?? null
}

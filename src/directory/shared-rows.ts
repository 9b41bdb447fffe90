import type { DirectoryKind } from '../db/people/directory-changes.ts'
import type { Queryable } from '../postgres/pool.ts'

/** A cell's rows in the directory, by lookup in hexadecimal or merchant's id, each with what it says. */
type Rows = ReadonlyMap<string, string>

/** $1 is always the cell. Lookups are bytes there, and hexadecimal here. */
const STATEMENTS: { readonly [kind in DirectoryKind]: { list: string; write: string; remove: string } } = {
  person: {
    list: `select encode(lookup, 'hex') as key, is_verified::text as value from person_cell
      where cell = $1 and lookup > decode($2, 'hex') order by lookup limit $3`,
    write: `insert into person_cell (cell, lookup, is_verified)
      select $1, decode(key, 'hex'), value::boolean from unnest($2::text[], $3::text[]) as given (key, value)
      on conflict (lookup, cell) do update set is_verified = excluded.is_verified`,
    remove: `delete from person_cell where cell = $1 and lookup in (select decode(key, 'hex') from unnest($2::text[]) as key)`,
  },
  passkey: {
    list: `select encode(lookup, 'hex') as key, '' as value from passkey_cell
      where cell = $1 and lookup > decode($2, 'hex') order by lookup limit $3`,
    write: `insert into passkey_cell (cell, lookup)
      select $1, decode(key, 'hex') from unnest($2::text[], $3::text[]) as given (key, value) on conflict do nothing`,
    remove: `delete from passkey_cell where cell = $1 and lookup in (select decode(key, 'hex') from unnest($2::text[]) as key)`,
  },
  merchant: {
    list: `select merchant_id as key, name as value from merchant_cell
      where cell = $1 and merchant_id > $2 order by merchant_id limit $3`,
    write: `insert into merchant_cell (cell, merchant_id, name)
      select $1, key, value from unnest($2::text[], $3::text[]) as given (key, value)
      on conflict (merchant_id, cell) do update set name = excluded.name`,
    remove: 'delete from merchant_cell where cell = $1 and merchant_id = any($2::text[])',
  },
}

const PAGE = 2_000

/** All rows of a cell. */
export async function loadSharedRows(
  db: Queryable,
  kind: DirectoryKind,
  cell: number,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (let after = ''; ; ) {
    const { rows } = await db.query<{ key: string; value: string }>(STATEMENTS[kind].list, [
      cell,
      after,
      PAGE,
    ])
    for (const { key, value } of rows) found.set(key, value)
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return found
    after = last.key
  }
}

/** How many people the directory leads to a cell. Served by an index. */
export async function countSharedPeople(db: Queryable, cell: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from person_cell where cell = $1',
    [cell],
  )
  return rows[0]?.count ?? 0
}

/** Cells that reported and have no such passkey. A few rows, by the primary key. */
export async function listCellsWithout(db: Queryable, passkey: string): Promise<readonly number[]> {
  const { rows } = await db.query<{ number: number }>(
    `select number from cell where reported_at is not null
       and not exists (select from passkey_cell p where p.lookup = decode($1, 'hex') and p.cell = number)
     order by number`,
    [passkey],
  )
  return rows.map(({ number }) => number)
}

export async function writeSharedRows(
  db: Queryable,
  kind: DirectoryKind,
  cell: number,
  rows: Rows,
): Promise<void> {
  if (rows.size > 0) await db.query(STATEMENTS[kind].write, [cell, [...rows.keys()], [...rows.values()]])
}

export async function removeSharedRows(
  db: Queryable,
  kind: DirectoryKind,
  cell: number,
  keys: readonly string[],
): Promise<void> {
  if (keys.length > 0) await db.query(STATEMENTS[kind].remove, [cell, keys])
}

import type { Queryable } from '../../postgres/pool.ts'

/** What of a cell the directory knows: people by address, passkeys by their credential's id, merchants by id. */
export type DirectoryKind = 'person' | 'passkey' | 'merchant'
/** What it says of a subject: whether the address is confirmed; nothing; the merchant's name. */
type DirectoryFact = { readonly subject: string; readonly value: string }
type DirectoryChange = {
  readonly kind: DirectoryKind
  readonly subject: string
  readonly version: string
}
/** The cell's row in the directory, as it was last. */
export type DirectoryCell = {
  readonly state: 'open' | 'draining'
  readonly room: number
  readonly position: number
}

/** Null until a process with a directory has started. */
export async function loadDirectoryCell(db: Queryable): Promise<DirectoryCell | null> {
  const { rows } = await db.query<DirectoryCell>('select state, room, position from directory_cell')
  return rows[0] ?? null
}

/** From the first row on, changes are noted. */
export async function saveDirectoryCell(
  db: Queryable,
  { state, room, position }: DirectoryCell,
): Promise<void> {
  await db.query(
    `insert into directory_cell (state, room, position) values ($1, $2, $3)
     on conflict (single) do update set state = excluded.state, room = excluded.room, position = excluded.position`,
    [state, room, position],
  )
}

/** Some of the changes that the directory lacks. The table is nearly empty. */
export async function listDirectoryChanges(db: Queryable, max: number): Promise<DirectoryChange[]> {
  const { rows } = await db.query<DirectoryChange>(
    'select kind, subject, version from directory_change limit $1',
    [max],
  )
  return rows
}

/** Takes off what was written, unless it changed again. Served by the primary key. */
export async function deleteDirectoryChanges(
  db: Queryable,
  changes: readonly DirectoryChange[],
): Promise<void> {
  await db.query(
    `delete from directory_change c using unnest($1::text[], $2::text[], $3::uuid[]) as done (kind, subject, version)
     where c.kind = done.kind and c.subject = done.subject and c.version = done.version`,
    [
      changes.map(({ kind }) => kind),
      changes.map(({ subject }) => subject),
      changes.map(({ version }) => version),
    ],
  )
}

/** One row that the directory does not take would keep all others from it: a name as long as it takes. */
const FACTS: { readonly [kind in DirectoryKind]: { from: string; subject: string; value: string } } = {
  person: { from: 'person', subject: 'email', value: 'email_verified::text' },
  passkey: { from: 'person_passkey', subject: 'credential_id', value: `''` },
  merchant: { from: 'organization', subject: 'id', value: 'left(name, 1000)' },
}

/** What is so of these subjects now; those that are gone are left out. Served by the unique index of each table. */
export async function findDirectoryFacts(
  db: Queryable,
  kind: DirectoryKind,
  subjects: readonly string[],
): Promise<DirectoryFact[]> {
  const { from, subject, value } = FACTS[kind]
  const { rows } = await db.query<DirectoryFact>(
    `select ${subject} as subject, ${value} as value from ${from} where ${subject} = any($1)`,
    [subjects],
  )
  return rows
}

/** A page of all of them, in the order of that index. */
export async function listDirectoryFacts(
  db: Queryable,
  kind: DirectoryKind,
  page: { readonly after: string; readonly max: number },
): Promise<DirectoryFact[]> {
  const { from, subject, value } = FACTS[kind]
  const { rows } = await db.query<DirectoryFact>(
    `select ${subject} as subject, ${value} as value from ${from} where ${subject} > $1 order by ${subject} limit $2`,
    [page.after, page.max],
  )
  return rows
}

/** How many there are of a kind. One pass over an index: a few milliseconds for 33,000. */
export async function countDirectoryFacts(db: Queryable, kind: DirectoryKind): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*) as count from ${FACTS[kind].from}`)
  return rows[0]?.count ?? 0
}

/** Whether a passkey is of this cell. Served by the unique index on its credential's id. */
export async function isOwnPasskey(db: Queryable, credentialId: string): Promise<boolean> {
  const { rowCount } = await db.query('select from person_passkey where credential_id = $1', [credentialId])
  return rowCount === 1
}

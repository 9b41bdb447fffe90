import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { z } from 'zod'
import { MIGRATION_LOCK_KEY } from '../postgres/migrate.ts'
import { readMigrationVersion } from '../postgres/migration-version.ts'
import { COPY_LINE } from '../postgres/pool.ts'
import { withCopyTransaction } from '../postgres/transaction.ts'

/**
 * A database as the rows of its tables, in the text that COPY writes and every PostgreSQL reads. Its schema is not in
 * it: the migrations make that. So no program of PostgreSQL is needed, and the versions of the servers may differ.
 */

/** What PostgreSQL calls a table's own partitions: one for each day of webhook attempts. */
const partitionShape = z.object({
  parent: z.string().regex(/^[a-z0-9_]+$/),
  name: z.string().regex(/^[a-z0-9_]+$/),
  bound: z.string().regex(/^FOR VALUES FROM \('[-0-9 :+]+'\) TO \('[-0-9 :+]+'\)$/),
})
export const databaseShape = z.object({
  /** The migration that the rows were written under. */
  migration: z.int().positive(),
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  partitions: z.array(partitionShape),
})
export type DatabaseShape = z.output<typeof databaseShape>

/** A piece of a table's text; the first of a table is at `part` 0, and every table has one. */
export type TablePart = { readonly table: string; readonly part: number; readonly bytes: Buffer }

/** Held in memory at a time. */
const PART_BYTES = 4 * 1024 ** 2
/** The migrations' own account of themselves; a restore applies them anew. */
const NOT_COPIED = ['schema_migration']

const quoted = (name: string): string => pg.escapeIdentifier(name)

/** A connection for COPY, without a limit of time. */
async function withClient<Result>(
  url: string,
  name: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, application_name: name, ...COPY_LINE })
  // A connection that dies fails the statement under way; the event only repeats that.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Gives `work` every row of one moment: what the tables are, and their parts in the order in which a restore can write
 * them. The service goes on meanwhile; a migration waits.
 */
export function withDatabaseParts<Result>(
  ownerUrl: string,
  work: (
    shape: DatabaseShape,
    parts: () => AsyncGenerator<TablePart>,
    installation: string,
  ) => Promise<Result>,
): Promise<Result> {
  return withClient(ownerUrl, 'paylink-backup', async (client) => {
    // Before the snapshot: a migration that is under way would otherwise be half in it.
    await client.query('select pg_advisory_lock_shared($1)', [MIGRATION_LOCK_KEY])
    return withCopyTransaction(client, 'reads', async () => {
      const shape = await readShape(client)
      return work(shape, () => readParts(client, shape), await readInstallation(client))
    })
  })
}

/** Digits of a backup's name. */
const INSTALLATION_DIGITS = 8

/**
 * Which installation the database is, in eight hexadecimal digits: the same for all its life, after a restore too. All
 * that were never started are one.
 */
async function readInstallation(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ identity: string }>(
    `select encode(key_check, 'hex') || ' ' || extract(epoch from created_at) as identity from installation_secret`,
  )
  const identity = `paylink installation ${rows[0]?.identity ?? ''}`
  return createHash('sha256').update(identity).digest('hex').slice(0, INSTALLATION_DIGITS)
}

async function readShape(client: pg.Client): Promise<DatabaseShape> {
  const { rows: partitions } = await client.query<DatabaseShape['partitions'][number]>(
    `select parent.relname as parent, child.relname as name, pg_get_expr(child.relpartbound, child.oid) as bound
     from pg_inherits join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
     where child.relispartition and child.relkind = 'r' order by 2`,
  )
  return databaseShape.parse({
    migration: await readMigrationVersion(client),
    tables: await listTables(client),
    partitions,
  })
}

/** Every table of ours after those that it refers to. Tables with other names than ours have are an operator's own. */
async function listTables(client: pg.Client): Promise<{ name: string; columns: string[] }[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; after: string[] }>(
    `select relname as name,
       array(select attname::text from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
         order by attnum) as columns,
       array(select confrelid::regclass::text from pg_constraint
         where conrelid = c.oid and contype = 'f' and confrelid <> c.oid and confrelid::regclass::text ~ '^[a-z0-9_]+$') as after
     from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname ~ '^[a-z0-9_]+$' and relname <> all($1) order by relname`,
    [NOT_COPIED],
  )
  const ordered: typeof rows = []
  const placed = new Set<string>()
  while (ordered.length < rows.length) {
    const free = rows.filter(
      ({ name, after }) => !placed.has(name) && after.every((each) => placed.has(each)),
    )
    if (free.length === 0) throw new Error('tables refer to each other in a circle')
    for (const table of free) placed.add(table.name)
    ordered.push(...free)
  }
  return ordered.map(({ name, columns }) => ({ name, columns }))
}

async function* readParts(client: pg.Client, { tables }: DatabaseShape): AsyncGenerator<TablePart> {
  for (const { name, columns } of tables) {
    const list = columns.map(quoted).join(', ')
    // A query and not the table itself, which cannot be copied where it has partitions or row level security.
    const rows = client.query(copyTo(`copy (select ${list} from public.${quoted(name)}) to stdout`))
    let part = 0
    let held: Buffer[] = []
    let bytes = 0
    for await (const chunk of rows) {
      held.push(chunk)
      bytes += chunk.length
      if (bytes < PART_BYTES) continue
      yield { table: name, part: part++, bytes: Buffer.concat(held) }
      held = []
      bytes = 0
    }
    if (bytes > 0 || part === 0) yield { table: name, part, bytes: Buffer.concat(held) }
  }
}

/** Rows that would be lost; the other tables are written by every start. */
const TELLING_TABLES = ['merchant', 'account_key', 'installation_secret', 'person'] as const

/** Whether a migrated database holds an installation. */
export function isUsed(ownerUrl: string): Promise<boolean> {
  return withClient(ownerUrl, 'paylink-restore', async (client) => {
    const { rows: known } = await client.query<{ name: string }>(
      'select name from unnest($1::text[]) as name where to_regclass(name) is not null',
      [TELLING_TABLES.map((name) => `public.${name}`)],
    )
    for (const { name } of known) {
      const { rowCount } = await client.query(`select from ${name} limit 1`)
      if (rowCount !== 0) return true
    }
    return false
  })
}

/**
 * Writes the parts of a backup into a database that was migrated to the very version of `shape` and holds nothing, in
 * one transaction with `beforeCommit`. Constraints are checked; triggers, which would write once more what the rows
 * already say, are off. Returns the tables that are left out: an operator's own, which no migration makes.
 */
export function loadDatabaseParts(
  ownerUrl: string,
  shape: DatabaseShape,
  parts: AsyncIterable<TablePart>,
  beforeCommit: (client: pg.Client) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  return withClient(ownerUrl, 'paylink-restore', (client) =>
    withCopyTransaction(client, 'writes', async () => {
      const here = await listTables(client)
      const known = new Map(here.map(({ name, columns }) => [name, new Set(columns)]))
      const foreign = new Set(shape.tables.map(({ name }) => name).filter((name) => !known.has(name)))
      for (const { name, columns } of shape.tables) {
        const missing = columns.find((column) => known.get(name)?.has(column) === false)
        if (missing !== undefined)
          throw new Error(`the backup has ${name}.${missing}, which no migration made`)
      }
      for (const { parent, name, bound } of shape.partitions) {
        if (foreign.has(parent)) continue
        await client.query(
          `create table if not exists public.${quoted(name)} partition of public.${quoted(parent)} ${bound}`,
        )
      }
      await withoutChecksOfNewRows(client, async () => {
        await opened(client, here, async () => {
          await client.query(`truncate ${here.map(({ name }) => `public.${quoted(name)}`).join(', ')}`)
          await writeParts(client, shape, { parts, foreign })
        })
        await beforeCommit(client)
      })
      return [...foreign]
    }),
  )
}

/** What a later release would not let in any more was in the books all the same: such checks hold again afterwards. */
async function withoutChecksOfNewRows(client: pg.Client, work: () => Promise<void>): Promise<void> {
  const { rows: checks } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint
     where contype = 'c' and not convalidated and coninhcount = 0 and connamespace = 'public'::regnamespace`,
  )
  for (const { table, name } of checks)
    await client.query(`alter table ${table} drop constraint ${quoted(name)}`)
  await work()
  for (const { table, name, definition } of checks)
    await client.query(`alter table ${table} add constraint ${quoted(name)} ${definition}`)
}

/** COPY does not write where row level security holds for the owner too: it is let off within the transaction. */
async function opened(
  client: pg.Client,
  tables: readonly { readonly name: string }[],
  work: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select relname as name from pg_class where relforcerowsecurity and relname = any($1)',
    [tables.map(({ name }) => name)],
  )
  const alter = async (names: readonly { readonly name: string }[], change: string) => {
    for (const { name } of names) await client.query(`alter table public.${quoted(name)} ${change}`)
  }
  await alter(rows, 'no force row level security')
  await alter(tables, 'disable trigger user')
  await work()
  await alter(tables, 'enable trigger user')
  await alter(rows, 'force row level security')
}

async function writeParts(
  client: pg.Client,
  { tables }: DatabaseShape,
  { parts, foreign }: { readonly parts: AsyncIterable<TablePart>; readonly foreign: ReadonlySet<string> },
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]()
  let next = await iterator.next()
  for (const { name, columns } of tables) {
    if (next.done || next.value.table !== name) throw new Error(`the backup lacks the rows of ${name}`)
    const bytesOfTable = async function* (): AsyncGenerator<Buffer> {
      while (!next.done && next.value.table === name) {
        yield next.value.bytes
        next = await iterator.next()
      }
    }
    if (foreign.has(name)) {
      for await (const _ of bytesOfTable());
      continue
    }
    const list = columns.map(quoted).join(', ')
    await pipeline(
      Readable.from(bytesOfTable(), { objectMode: false }),
      client.query(copyFrom(`copy public.${quoted(name)} (${list}) from stdin`)),
    )
  }
  if (!next.done) throw new Error(`the backup has rows of ${next.value.table} where none belong`)
}

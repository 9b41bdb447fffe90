import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { BackupStore } from '../../src/backup/backup-store.ts'
import { loadDatabaseParts, withDatabaseParts } from '../../src/backup/copy-database.ts'
import { createBackup } from '../../src/backup/create-backup.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import { connectionStringFor } from '../../src/postgres/roles.ts'
import { StartRefused } from '../../src/runtime/start-refused.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { databaseUrl } from '../support/postgres-server.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'

/** Managed servers give out no superuser: the owner of the database is an ordinary login there. */

const login = `paylink_owner_${randomBytes(6).toString('hex')}`
const names = [`${login}_a`, `${login}_b`] as const
let database: TestDatabase
const urlOf = (name: string) => connectionStringFor(databaseUrl(inject('postgresUrl'), name), login, 'secret')

async function onServer(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  for (const sql of statements) await client.query(sql)
  await client.end()
}

beforeAll(async () => {
  database = await createTestDatabase()
  await onServer(`create role ${login} login createrole password 'secret'`)
  for (const name of names) {
    await onServer(`create database ${name} owner ${login}`)
    await migrate(urlOf(name))
  }
})
afterAll(async () => {
  await database.drop()
  await onServer(...names.map((name) => `drop database ${name} with (force)`), `drop role ${login}`)
})

/** Every table's rows, as text that does not depend on their order; those of partitions, one for each day, as their table's. */
async function digests(url: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
     and not relispartition and relname <> 'schema_migration' order by 1`,
  )
  const found: [string, unknown][] = []
  for (const { name } of rows) {
    const said = await client.query(
      `select count(*)::int as rows, md5(string_agg(t::text, '' order by t::text)) as digest from ${name} t`,
    )
    found.push([name, said.rows[0]])
  }
  await client.end()
  return Object.fromEntries(found)
}

const copy = (from: string, to: string) =>
  withDatabaseParts(from, (shape, parts) => loadDatabaseParts(to, shape, parts()))

test('an owner who is no superuser backs up and restores every row, those under row level security too', async () => {
  const tenant = await seedMerchant(database)
  for (let n = 0; n < 3; n++) await seedInvoice(database, tenant)
  await database.owner.query(
    `insert into audit_run (started_at) values (now());
     insert into attempt (merchant_id, id, livemode, event_id, endpoint_id, number, code, duration_ms, created_at)
       values ('m', 'a', false, 'e', 'w', 1, E'odd \\\\ \\t text \\n', 1, now() + interval '6 days')`,
  )
  const [first, second] = names.map(urlOf)
  await database.owner.query('create table own (id integer); insert into own values (1)')
  expect(await copy(database.ownerUrl, first ?? '')).toEqual(['own'])
  await database.owner.query('drop table own')
  await copy(first ?? '', second ?? '')
  const before = await digests(database.ownerUrl)
  expect(before).toMatchObject({ invoice: { rows: 3 }, audit_run: { rows: 1 }, attempt: { rows: 1 } })
  expect(await digests(second ?? '')).toEqual(before)
  const client = new pg.Client({ connectionString: second ?? '' })
  await client.connect()
  // What guards the rows is on again.
  const { rows } = await client.query(
    `select (select count(*)::int from pg_class where relforcerowsecurity) as forced,
       (select count(*)::int from pg_trigger where tgenabled = 'D') as off`,
  )
  const { rows: expected } = await database.owner.query(
    'select count(*)::int as forced, 0 as off from pg_class where relforcerowsecurity',
  )
  expect(rows).toEqual(expected)
  await client.end()
})

test('a row that came before a check of new ones is restored, and the check with it', async () => {
  const [from, to] = [urlOf(names[0]), urlOf(names[1])]
  await copy(database.ownerUrl, from)
  const change = async (url: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      const answers = []
      for (const sql of statements) answers.push(await client.query(sql))
      return answers.at(-1)?.rows
    } finally {
      await client.end()
    }
  }
  const definition = await change(
    from,
    `select pg_get_constraintdef(oid) as definition from pg_constraint where conname = 'event_sizes'`,
  )
  await change(
    from,
    'alter table event drop constraint event_sizes',
    `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
     select merchant_id, 'evt_long', livemode, 'invoice.created', 'inv_long', 1,
       convert_to('"' || repeat('x', 300000) || '"', 'UTF8'), now() from invoice limit 1`,
    `alter table event add constraint event_sizes ${definition?.[0]?.definition}`,
  )
  // The last step of a restore may write such rows.
  await withDatabaseParts(from, (shape, parts) =>
    loadDatabaseParts(to, shape, parts(), async (client) => {
      await client.query(`update event set request_id = null where id = 'evt_long'`)
    }),
  )
  expect((await digests(to)).event).toEqual((await digests(from)).event)
  await expect(change(to, `update event set request_id = 'x' where id = 'evt_long'`)).rejects.toThrow(
    'event_sizes',
  )
})

test('a restore that fails at its last step leaves no row', async () => {
  await onServer(`create database ${names[0]}_c owner ${login}`)
  const url = urlOf(`${names[0]}_c`)
  await migrate(url)
  const before = await digests(url)
  const failing = withDatabaseParts(database.ownerUrl, (shape, parts) =>
    loadDatabaseParts(url, shape, parts(), () => Promise.reject(new Error('no space left'))),
  )
  await expect(failing).rejects.toThrow('no space left')
  expect(await digests(url)).toEqual(before)
  await onServer(`drop database ${names[0]}_c with (force)`)
})

test.each([
  ['at once', 0],
  ['halfway', 1],
])('a store that refuses %s ends the backup, however much is still to come', async (_, chunks) => {
  await database.owner.query(
    `insert into backup_run (started_at, finished_at, error)
     select now() - make_interval(days => n), now(), (select string_agg(md5(random()::text || n || m), '') from generate_series(1, 32000) m)
     from generate_series(1, 30) n`,
  )
  const store: BackupStore = {
    description: 'full',
    write: async (_, bytes) => {
      const read = bytes[Symbol.asyncIterator]()
      for (let n = 0; n < chunks; n++) await read.next()
      // Until nothing flows any more: nobody reads what PostgreSQL still has to send.
      await pause(1_000)
      throw new StartRefused('the store is full')
    },
    read: () => Readable.from([]),
    list: async () => [],
    remove: async () => {},
  }
  const recipients = [await identityToRecipient(await generateX25519Identity())]
  const dataDir = await mkdtemp(join(tmpdir(), 'paylink-backup-'))
  const plan = { ownerUrl: database.ownerUrl, dataDir, settings: {}, store, recipients, keep: 1 }
  await expect(createBackup({ ...plan, createdAt: new Date() })).rejects.toThrow('the store is full')
  const left = `select from pg_stat_activity where application_name = 'paylink-backup' and datname = current_database()`
  await until(async () => (await database.owner.query(left)).rowCount === 0)
  await rm(dataDir, { recursive: true })
})

test('a start amid a backup waits for its end only if there is something to migrate', async () => {
  const own = await createTestDatabase()
  const stop = new AbortController()
  const waits: string[] = []
  const begun: Promise<unknown>[] = []
  const start = () => {
    const ended = migrate(own.ownerUrl, { onWait: (line) => waits.push(line), stop: stop.signal }).catch(
      (error: unknown) => error,
    )
    begun.push(ended)
    return ended
  }
  await withDatabaseParts(own.ownerUrl, async () => {
    const first = await Promise.race([start(), until(() => waits.length > 0)])
    await own.owner.query('delete from schema_migration where version = 1')
    void start()
    await until(() => waits.some((line) => line.includes('paylink-backup')))
    expect(first).toEqual([])
    stop.abort()
  })
  await Promise.all(begun)
  await own.drop()
})

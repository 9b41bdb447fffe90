// @module-tag pgbackrest
// @module-tag postgresql
import { execFile } from 'node:child_process'
import { chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../src/postgres/migrate.ts'
import { type DebianPostgres, openDebianPostgres } from '../support/debian-postgres.ts'
import { until } from '../support/until.ts'

/** The point-in-time restore of docs/backup.md by pgBackRest, carried out. Needs Debian's pgbackrest. */

const run = promisify(execFile)
const TIMEOUT_MS = 300_000
const ARCHIVED_MS_MAX = 60_000
const BATCH = 500

let postgres: DebianPostgres
let config: string
beforeAll(async () => {
  postgres = await openDebianPostgres()
})
afterAll(() => postgres.remove())

test('a full backup, an incremental one and the log bring a database back to a moment before a mistake', {
  timeout: TIMEOUT_MS,
}, async () => {
  const data = await postgres.initialize('data')
  config = join(postgres.folder, 'pgbackrest.conf')
  const server = await postgres.start(data, [
    'wal_level=replica',
    'archive_mode=on',
    `unix_socket_directories=${postgres.folder}`,
    `archive_command=pgbackrest --config=${config} --stanza=paylink archive-push %p`,
  ])
  const repository = await postgres.makeFolder('repository')
  const lines = [
    '[global]',
    `repo1-path=${repository}`,
    'repo1-retention-full=2',
    'start-fast=y',
    `log-path=${postgres.folder}`,
    `lock-path=${postgres.folder}`,
    `spool-path=${postgres.folder}`,
    '[paylink]',
    `pg1-path=${data}`,
    `pg1-port=${server.port}`,
    `pg1-socket-path=${postgres.folder}`,
  ]
  await writeFile(config, `${lines.join('\n')}\n`)
  const { uid, gid } = await stat(data)
  await chown(config, uid, gid)
  await query(server.url('postgres'), 'create database paylink')
  const url = server.url('paylink')
  await migrate(url)

  await backrest('stanza-create')
  await addMerchants(url, 'before')
  await backrest('backup', '--type=full')
  await addMerchants(url, 'between')
  await backrest('backup', '--type=incr')
  await addMerchants(url, 'after')
  const [{ at = '' } = {}] = await query(url, 'select clock_timestamp()::text as at')
  await query(url, 'delete from merchant')
  const [{ wal = '' } = {}] = await query(url, 'select pg_walfile_name(pg_switch_wal()) as wal')
  await until(
    async () => {
      const [{ done } = {}] = await query(url, 'select last_archived_wal as done from pg_stat_archiver')
      return String(done) >= String(wal)
    },
    { timeoutMs: ARCHIVED_MS_MAX },
  )
  await postgres.crash(data)
  await rm(data, { recursive: true })

  await postgres.makeFolder('data')
  await backrest('restore', '--type=time', `--target=${String(at)}`, '--target-action=promote')
  expect(await readFile(join(data, 'postgresql.auto.conf'), 'utf8')).toContain('recovery_target_time')
  const restored = await postgres.start(data, ['archive_mode=off'])
  await until(
    async () => {
      const [{ recovering } = {}] = await query(
        restored.url('paylink'),
        'select pg_is_in_recovery() as recovering',
      )
      return recovering === false
    },
    { timeoutMs: ARCHIVED_MS_MAX },
  )
  const rows = await query(
    restored.url('paylink'),
    'select name, count(*)::int as count from merchant group by name order by name',
  )
  expect(rows).toEqual(['after', 'before', 'between'].map((name) => ({ name, count: BATCH })))
})

async function addMerchants(url: string, name: string): Promise<void> {
  await query(
    url,
    `insert into merchant (id, name, email, created_at)
     select 'mer_' || left(replace(gen_random_uuid()::text, '-', ''), 26), '${name}', 'a@b.example', now()
     from generate_series(1, ${BATCH})`,
  )
}

/** As the user `postgres`, like everything that writes the repository. */
async function backrest(command: string, ...options: readonly string[]): Promise<void> {
  const { uid, gid } = await stat(config)
  const words = [`--config=${config}`, '--stanza=paylink', '--log-level-console=error', ...options, command]
  await run('pgbackrest', words, {
    uid,
    gid,
    cwd: postgres.folder,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
  })
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

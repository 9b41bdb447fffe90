import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backUpWhenDue } from '../../src/backup/keep-backing-up.ts'
import { openStore } from '../../src/backup/open-store.ts'
import type { BackupConfig } from '../../src/config/config-backup.ts'
import { inspectBackup } from '../../src/doctor/inspect-backup.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let place: string
let recipient: string
beforeAll(async () => {
  database = await createTestDatabase()
  place = await mkdtemp(join(tmpdir(), 'paylink-backup-'))
  recipient = await identityToRecipient(await generateX25519Identity())
})
afterAll(async () => {
  await database.drop()
  await rm(place, { recursive: true })
})

let now = new Date('2026-11-23T10:00:00Z')
const pass = (hours: number) => {
  now = new Date(now.getTime() + hours * 3_600_000)
}
const log = { info: () => {}, warn: () => {}, error: () => {} }

const configOf = (path: string): BackupConfig => ({
  target: { kind: 'folder', path },
  recipients: [recipient],
  everyHours: 24,
  keep: 2,
})
function due(path = join(place, 'backups')) {
  const { target, recipients, keep } = configOf(path)
  const plan = {
    ownerUrl: database.ownerUrl,
    dataDir: place,
    settings: {},
    store: openStore(target),
    recipients,
    keep,
  }
  return backUpWhenDue({ pool: database.owner, plan, everyHours: 24, clock: () => now, log })
}
const finding = async () =>
  (await inspectBackup(configOf(join(place, 'backups')), database.owner, () => now))[0]

test('a scheduled backup is made once a day, by one process of several, and the oldest go', async () => {
  expect(await finding()).toMatchObject({
    kind: 'fault',
    text: 'Backups: none was made yet; run paylink backup',
  })
  const made = await Promise.all([due(), due(), due()])
  expect(made.filter((one) => one !== null)).toMatchObject([{ hasSigner: false }])
  pass(23)
  expect(await due()).toBeNull()
  for (let day = 0; day < 3; day++) {
    pass(24)
    expect(await due()).not.toBeNull()
  }
  expect(await readdir(join(place, 'backups'))).toHaveLength(2)
  expect(await finding()).toMatchObject({ kind: 'ok' })
})

test('a backup that fails is tried again in an hour, and doctor says when the last good one is old', async () => {
  await writeFile(join(place, 'file'), '')
  pass(24)
  await expect(due(join(place, 'file'))).rejects.toThrow('a part of the path is a file')
  pass(0.5)
  expect(await due()).toBeNull()
  pass(26)
  await expect(due(join(place, 'file'))).rejects.toThrow('cannot be used')
  expect(await finding()).toMatchObject({ kind: 'fault', text: expect.stringContaining('50.5 hours old') })
  pass(1)
  expect(await due()).not.toBeNull()
  expect(await finding()).toMatchObject({ kind: 'ok' })
})

test('an api or watcher login reads when the last backup was, and cannot say that one was made', async () => {
  for (const role of ['api', 'watcher'] as const) {
    const pool = database.pools[role]
    expect((await pool.query('select from backup_run')).rowCount).toBeGreaterThan(0)
    await expect(pool.query('insert into backup_run (started_at) values (now())')).rejects.toThrow(
      'permission denied',
    )
    await expect(pool.query('delete from backup_run')).rejects.toThrow('permission denied')
  }
})

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { installationOf, isBackupName } from '../../src/backup/backup-name.ts'
import { loadDatabaseParts, withDatabaseParts } from '../../src/backup/copy-database.ts'
import { createBackup } from '../../src/backup/create-backup.ts'
import { openStore } from '../../src/backup/open-store.ts'
import { checkBackup } from '../../src/backup/restore-backup.ts'
import { insertKeyCheck } from '../../src/db/installation-secret.ts'
import { runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { S3_KEYS, type S3Server, startS3Server } from '../support/s3-server.ts'

/** Two installations whose operator gave them one `BACKUP_TO`. */

const KEEP = 2
const START_MS = Date.parse('2026-11-23T10:00:00Z')
const OLD_NAMES = [
  'paylink-20261001T000000Z-0a1b2c3d.tar.gz.age',
  'paylink-20261002T000000Z-0a1b2c3e.tar.gz.age',
]
let first: TestDatabase
let second: TestDatabase
let s3: S3Server
let place: string
let recipient: string
let identity: string
let hours = 0
beforeAll(async () => {
  ;[first, second] = await Promise.all([createTestDatabase(), createTestDatabase()])
  // They may even have the same secret key.
  const keyCheck = Buffer.alloc(32, 7)
  await insertKeyCheck(first.owner, keyCheck, new Date('2026-01-01T00:00:00Z'))
  await insertKeyCheck(second.owner, keyCheck, new Date('2026-01-01T00:00:01Z'))
  identity = await generateX25519Identity()
  recipient = await identityToRecipient(identity)
  s3 = await startS3Server()
})
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'paylink-shared-'))
})
afterAll(async () => {
  await Promise.all([first.drop(), second.drop(), s3.stop()])
  await rm(place, { recursive: true })
})

const folder = () => openStore({ kind: 'folder', path: place })

async function backUp(database: TestDatabase, store = folder()): Promise<string> {
  hours += 1
  const createdAt = new Date(START_MS + hours * 3_600_000)
  const { ownerUrl } = database
  const plan = { ownerUrl, dataDir: place, settings: {}, recipients: [recipient], keep: KEEP }
  return (await createBackup({ ...plan, store, createdAt })).name
}

const check = (...more: string[]) =>
  runProgram(['restore', 'latest', '--check', '--key-file', join(place, 'key'), ...more], {
    BACKUP_TO: place,
    BACKUP_RECIPIENT: recipient,
  })

test('each removes its own oldest backups and no other’s, nor those of earlier releases', async () => {
  for (const name of OLD_NAMES) await writeFile(join(place, name), '')
  const ofSecond = await backUp(second)
  const ofFirst: string[] = []
  for (let made = 0; made < KEEP + 2; made++) ofFirst.push(await backUp(first))
  expect((await readdir(place)).filter(isBackupName).sort()).toEqual(
    [...OLD_NAMES, ofSecond, ...ofFirst.slice(-KEEP)].sort(),
  )
})

test('so do they in a bucket', async () => {
  const { id: accessKeyId, secret: secretAccessKey, region } = S3_KEYS
  const target = { endpoint: s3.url, region, bucket: 'shop', prefix: 'shared' }
  const store = openStore({ kind: 's3', ...target, accessKeyId, secretAccessKey })
  const ofSecond = await backUp(second, store)
  const ofFirst: string[] = []
  for (let made = 0; made < KEEP + 1; made++) ofFirst.push(await backUp(first, store))
  expect(await store.list()).toEqual([ofSecond, ...ofFirst.slice(-KEEP)])
})

test('an installation’s backups have the same id, and it is another’s for no other', async () => {
  const ids = [await backUp(first), await backUp(first), await backUp(second)].map(installationOf)
  expect(ids[0]).toMatch(/^[0-9a-f]{8}$/)
  expect(ids).toEqual([ids[0], ids[0], expect.not.stringMatching(ids[0] ?? '')])
  expect(installationOf(OLD_NAMES[0] ?? '')).toBeNull()
})

test('a restored installation is the one that was backed up', async () => {
  const restored = await createTestDatabase()
  try {
    await withDatabaseParts(first.ownerUrl, (shape, parts) =>
      loadDatabaseParts(restored.ownerUrl, shape, parts()),
    )
    expect(installationOf(await backUp(restored))).toBe(installationOf(await backUp(first)))
  } finally {
    await restored.drop()
  }
})

test('latest is the newest where one installation is there, and otherwise says which ones there are', async () => {
  await writeFile(join(place, 'key'), identity)
  await writeFile(join(place, OLD_NAMES[0] ?? ''), '')
  await backUp(first)
  const newest = await backUp(first)
  const alone = await check()
  expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('is whole') })
  const ofSecond = await backUp(second)
  const several = await check()
  expect(several.code).not.toBe(0)
  expect(several.stderr).toContain(newest)
  expect(several.stderr).toContain(ofSecond)
  expect(several.stderr).toContain('name the one to restore')
})

test('a newer backup without an id, which an earlier release made, is not passed over', async () => {
  await writeFile(join(place, 'key'), identity)
  const newest = await backUp(first)
  const old = 'paylink-20270101T000000Z-0a1b2c3f.tar.gz.age'
  await writeFile(join(place, old), '')
  const { code, stderr } = await check()
  expect(code).not.toBe(0)
  expect(stderr).toContain(newest)
  expect(stderr).toContain(old)
})

test('a backup under an old name is listed, is the latest where none is newer, and is restored', async () => {
  await writeFile(join(place, 'key'), identity)
  const made = await backUp(first)
  const bytes = await readFile(join(place, made))
  await rm(join(place, made))
  for (const name of OLD_NAMES) await writeFile(join(place, name), bytes)
  expect(await folder().list()).toEqual(OLD_NAMES)
  expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('is whole') })
  const manifest = await checkBackup(folder().read(OLD_NAMES[1] ?? ''), identity)
  expect(manifest.format).toBe(1)
})

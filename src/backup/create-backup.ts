import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { envLine } from '../config/env-file.ts'
import { signerFolderName } from '../runtime/data-dir.ts'
import { type ArchiveEntry, sealArchive } from './backup-archive.ts'
import { readDataFiles } from './backup-files.ts'
import { backupName, installationOf } from './backup-name.ts'
import type { BackupStore } from './backup-store.ts'
import { type DatabaseShape, databaseShape, type TablePart, withDatabaseParts } from './copy-database.ts'

/** The first file of a backup. */
export const manifestShape = z.object({
  format: z.literal(1),
  made_at: z.iso.datetime(),
  database: databaseShape,
})
export type Manifest = z.output<typeof manifestShape>
/** The last file: a backup without it is not whole. */
export const completeShape = z.object({ files: z.int(), bytes: z.int() })

export const MANIFEST = 'manifest.json'
export const SETTINGS = 'settings.env'
export const COMPLETE = 'complete.json'
const DATABASE_FOLDER = 'database/'
export const DATA_FOLDER = 'data/'

/** What is to be backed up, and for whom. */
export type BackupPlan = {
  readonly ownerUrl: string
  readonly dataDir: string
  readonly settings: { readonly [name: string]: string }
  readonly store: BackupStore
  readonly recipients: readonly string[]
  readonly keep: number
  readonly createdAt: Date
  readonly stop?: AbortSignal
  /** Tables that are done, of how many, and a word about it. */
  readonly onProgress?: (done: number, total: number, note: string) => void
}

export type CreatedBackup = {
  readonly name: string
  readonly bytes: number
  /** Whether this data folder has the signer's: without it nobody can spend what customers paid. */
  readonly hasSigner: boolean
  readonly removed: readonly string[]
}

/**
 * One backup of everything, encrypted, whole or not there at all. The database is of one moment, and the signer's files
 * are of a later one: they are never older than the database.
 */
export async function createBackup(plan: BackupPlan): Promise<CreatedBackup> {
  const { store } = plan
  const seen = { hasSigner: false }
  const { name, bytes } = await withDatabaseParts(plan.ownerUrl, async (shape, parts, installation) => {
    const name = backupName(plan.createdAt, installation, randomBytes(4).toString('hex'))
    const sealed = await sealArchive(entriesOf(plan, shape, parts(), seen), plan.recipients)
    return { name, bytes: await store.write(name, sealed) }
  })
  const isOwn = (other: string) => installationOf(other) === installationOf(name)
  const removed = (await store.list()).filter(isOwn).slice(0, -plan.keep)
  for (const old of removed) await store.remove(old)
  return { name, bytes, hasSigner: seen.hasSigner, removed }
}

async function* entriesOf(
  plan: BackupPlan,
  shape: DatabaseShape,
  parts: AsyncIterable<TablePart>,
  seen: { hasSigner: boolean },
): AsyncGenerator<ArchiveEntry> {
  const total = { files: 0, bytes: 0 }
  const entry = (name: string, content: Uint8Array | string): ArchiveEntry => {
    plan.stop?.throwIfAborted()
    const bytes = Buffer.from(content)
    total.files += 1
    total.bytes += bytes.length
    return { name, bytes }
  }
  const manifest: z.input<typeof manifestShape> = {
    format: 1,
    made_at: plan.createdAt.toISOString(),
    database: shape,
  }
  yield entry(MANIFEST, JSON.stringify(manifest))
  const tables = shape.tables.map(({ name }) => name)
  for await (const { table, part, bytes } of parts) {
    plan.onProgress?.(tables.indexOf(table), tables.length, `${table}, ${megabytes(total.bytes)}`)
    yield entry(`${DATABASE_FOLDER}${table}/${String(part).padStart(6, '0')}`, bytes)
  }
  for await (const { path, bytes } of readDataFiles(plan.dataDir)) {
    if (path === `${signerFolderName(plan.settings.STAGING === '1')}/seed.json`) seen.hasSigner = true
    yield entry(`${DATA_FOLDER}${path}`, bytes)
  }
  yield entry(SETTINGS, settingsText(plan.settings))
  plan.onProgress?.(tables.length, tables.length, megabytes(total.bytes))
  yield entry(COMPLETE, JSON.stringify(total))
}

const settingsText = (settings: { readonly [name: string]: string }): string =>
  Object.entries(settings)
    .map(([name, value]) => `${envLine(name, value) ?? `# ${name} has a value that no line can hold`}\n`)
    .join('')

export const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`

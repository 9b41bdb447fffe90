import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import type pg from 'pg'
import { z } from 'zod'
import { listAccountKeys, raiseNextIndex } from '../db/addresses/account-keys.ts'
import { deleteWaitingBatches } from '../db/addresses/address-batches.ts'
import { deletePoolAddresses } from '../db/addresses/address-pool.ts'
import {
  endAllSignIns,
  listRestoredAccess,
  NO_ACCESS,
  type RestoredAccess,
} from '../db/people/restored-access.ts'
import {
  listSubmittedPayouts,
  type SubmittedPayout,
  withdrawUnsignedApprovals,
} from '../payouts/store/payouts.ts'
import { latestMigration, migrate } from '../postgres/migrate.ts'
import { openDataDir, readFileIfPresent, signerFolderName } from '../runtime/data-dir.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { type ArchiveEntry, openArchive } from './backup-archive.ts'
import { findKeptFile, isKeptPath } from './backup-files.ts'
import { isUsed, loadDatabaseParts, type TablePart } from './copy-database.ts'
import {
  COMPLETE,
  completeShape,
  DATA_FOLDER,
  MANIFEST,
  type Manifest,
  manifestShape,
  SETTINGS,
} from './create-backup.ts'
import { restoringFolder } from './restoring.ts'

/** More addresses than can have been given out since the backup; the signer leaves out as many after a restore. */
const INDEX_GAP = 10_000

type RestorePlan = {
  readonly dataDir: string
  /** The owner's connection string to the database, which is started if it has to be. */
  readonly openOwner: () => Promise<string>
  readonly bytes: AsyncIterable<Uint8Array>
  /** age's secret key. */
  readonly identity: string
  readonly onProgress?: (done: number, total: number, note: string) => void
}

export type Restored = {
  readonly createdAt: Date
  readonly hasSigner: boolean
  /** The signer's, in the data folder. */
  readonly signerFolder: string
  /** The settings that the backup was made with, as variables and as the text of an env file. */
  readonly settings: { readonly [name: string]: string }
  readonly settingsText: string
  /** Payouts that were approved, and not signed, when the backup was made: they wait for approval again. */
  readonly withdrawn: readonly string[]
  /** Payouts that were sent, and not confirmed, when the backup was made. */
  readonly submitted: readonly SubmittedPayout[]
  /** Sign-ins of the backup, all of which ended. */
  readonly endedSignIns: number
  /** What counts again though it may have been taken away since the backup. */
  readonly access: RestoredAccess
  /** Tables of the operator's own, which are not restored. */
  readonly leftOut: readonly string[]
}

/** A backup's files in their order, with what has to come first and last. */
class BackupReader {
  readonly #entries: AsyncGenerator<ArchiveEntry>
  #pending: ArchiveEntry | null = null
  #files = 0
  #bytes = 0

  constructor(entries: AsyncGenerator<ArchiveEntry>) {
    this.#entries = entries
  }

  async manifest(): Promise<Manifest> {
    const entry = await this.#next()
    if (entry?.name !== MANIFEST) throw new StartRefused('the file is no backup of Paylink')
    return manifestShape.parse(JSON.parse(Buffer.from(entry.bytes).toString()))
  }

  async *tableParts(): AsyncGenerator<TablePart> {
    for (let entry = await this.#next(); entry !== null; entry = await this.#next()) {
      const [, table, part] = /^database\/([a-z0-9_]+)\/(\d{6})$/.exec(entry.name) ?? []
      if (table === undefined || part === undefined) {
        this.#pending = entry
        return
      }
      yield { table, part: Number(part), bytes: Buffer.from(entry.bytes) }
    }
  }

  /** What follows the database. Throws `StartRefused` where the backup ends before its last file. */
  async *files(): AsyncGenerator<ArchiveEntry> {
    for (let entry = this.#pending ?? (await this.#next()); entry !== null; entry = await this.#next()) {
      if (entry.name !== COMPLETE) {
        yield entry
        continue
      }
      const said = completeShape.parse(JSON.parse(Buffer.from(entry.bytes).toString()))
      const isWhole = said.files === this.#files - 1 && said.bytes === this.#bytes - entry.bytes.length
      // Read on to the end, where damage of the last bytes comes out.
      if (isWhole && (await this.#next()) === null) return
      break
    }
    throw new StartRefused('the backup is damaged or not whole: use another one')
  }

  async #next(): Promise<ArchiveEntry | null> {
    const { value, done } = await this.#entries.next()
    if (done === true) return null
    this.#files += 1
    this.#bytes += value.bytes.length
    return value
  }
}

/** Reads a backup to its end and changes nothing. Throws `StartRefused` where it is not whole. */
export async function checkBackup(
  bytes: AsyncIterable<Uint8Array>,
  identity: string,
  onProgress: RestorePlan['onProgress'] = () => {},
): Promise<Manifest> {
  const reader = new BackupReader(openArchive(bytes, identity))
  const manifest = await reader.manifest()
  const tables = manifest.database.tables.map(({ name }) => name)
  for await (const { table } of reader.tableParts()) onProgress(tables.indexOf(table), tables.length, table)
  for await (const { name } of reader.files()) if (name !== SETTINGS) keptPath(name)
  return manifest
}

/**
 * Puts a backup into an installation that holds nothing: the database in one transaction, whose commit is the last
 * step. Throws `StartRefused` where something is there already, or the backup cannot be used; then nothing is.
 */
export async function restoreBackup(plan: RestorePlan): Promise<Restored> {
  const { dataDir } = plan
  await refuseUsedFolder(dataDir)
  const reader = new BackupReader(openArchive(plan.bytes, plan.identity))
  const manifest = await reader.manifest()
  const { migration } = manifest.database
  if (migration > (await latestMigration())) {
    throw new StartRefused(
      `the backup was made by a later release (migration ${migration}): restore it with that release`,
    )
  }
  await openDataDir(dataDir)
  const ownerUrl = await plan.openOwner()
  if (await isUsed(ownerUrl)) throw notEmpty('the database')
  await migrate(ownerUrl, { through: migration })
  const folder = restoringFolder(dataDir)
  // One that was ended before its time left it; nothing is in place yet.
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  let found = { hasSigner: false, signerFolder: '', settingsText: '' }
  let withdrawn: readonly string[] = []
  let submitted: readonly SubmittedPayout[] = []
  let endedSignIns = 0
  let access: RestoredAccess = NO_ACCESS
  let leftOut: readonly string[] = []
  try {
    leftOut = await loadDatabaseParts(
      ownerUrl,
      manifest.database,
      withProgress(plan, manifest, reader),
      async (client) => {
        found = await stageFiles(folder, reader)
        await skipAddresses(client)
        const journal = await readFileIfPresent(join(folder, found.signerFolder, 'payouts.jsonl'))
        const signed = payoutsSignedIn(journal ?? '')
        withdrawn = await withdrawUnsignedApprovals(client, (id) => signed.has(id))
        submitted = await listSubmittedPayouts(client)
        endedSignIns = await endAllSignIns(client)
        access = await listRestoredAccess(client)
        await placeFiles(folder, dataDir)
      },
    )
  } catch (error) {
    // Before the files are in place nothing is lost with it; afterwards only the commit can have failed.
    if ((await findKeptFile(dataDir)) === null) await rm(folder, { recursive: true })
    throw error
  }
  await rm(folder, { recursive: true })
  await migrate(ownerUrl)
  return {
    createdAt: new Date(manifest.made_at),
    ...found,
    settings: settingsOf(found.settingsText),
    withdrawn,
    submitted,
    endedSignIns,
    access,
    leftOut,
  }
}

async function* withProgress(
  { onProgress }: RestorePlan,
  { database }: Manifest,
  reader: BackupReader,
): AsyncGenerator<TablePart> {
  const tables = database.tables.map(({ name }) => name)
  for await (const part of reader.tableParts()) {
    onProgress?.(tables.indexOf(part.table), tables.length, part.table)
    yield part
  }
}

async function refuseUsedFolder(dataDir: string): Promise<void> {
  const found = await findKeptFile(dataDir)
  if (found !== null) throw notEmpty(found)
}

const notEmpty = (what: string): StartRefused =>
  new StartRefused(
    `${what} is in use, and a restore overwrites nothing: set DATA_DIR to an empty folder, and DATABASE_URL, if you use it, to an empty database`,
  )

/** Where a file of a backup belongs in the data folder. Throws `StartRefused` for any other name. */
function keptPath(name: string): string {
  const path = name.slice(DATA_FOLDER.length)
  if (!name.startsWith(DATA_FOLDER) || !isKeptPath(path))
    throw new StartRefused(`the backup has ${JSON.stringify(name)}, which belongs to no backup of Paylink`)
  return path
}

async function stageFiles(
  folder: string,
  reader: BackupReader,
): Promise<Pick<Restored, 'hasSigner' | 'signerFolder' | 'settingsText'>> {
  let settingsText = ''
  const paths = new Set<string>()
  for await (const { name, bytes } of reader.files()) {
    if (name === SETTINGS) {
      settingsText = Buffer.from(bytes).toString()
      continue
    }
    const path = keptPath(name)
    paths.add(path)
    const place = join(folder, path)
    await mkdir(dirname(place), { recursive: true, mode: 0o700 })
    await writeFile(place, bytes, { mode: 0o600, flush: true })
  }
  const signerFolder = signerFolderName(settingsOf(settingsText).STAGING === '1')
  return { hasSigner: paths.has(`${signerFolder}/seed.json`), signerFolder, settingsText }
}

const settingsOf = (text: string): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(parseEnv(text)).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/**
 * No buyer may get an address that was given out after the backup: the addresses held ready go, and the next ones are
 * far beyond.
 */
async function skipAddresses(client: pg.Client): Promise<void> {
  for (const { keyspace, nextIndex } of await listAccountKeys(client)) {
    await raiseNextIndex(client, keyspace, nextIndex + INDEX_GAP)
    await deleteWaitingBatches(client, keyspace)
    await deletePoolAddresses(client, keyspace)
  }
}

const signedLine = z.object({ payout_id: z.string() })

/**
 * Of which payouts the signer's journal has a signature; a sweep's line names the payout that it was for, and is none of
 * it. A line that cannot be read counts as none: its payout waits for a person, and is signed the same again.
 */
export function payoutsSignedIn(journal: string): ReadonlySet<string> {
  const signed = new Set<string>()
  for (const line of journal.split('\n')) {
    try {
      signed.add(signedLine.parse(JSON.parse(line)).payout_id)
    } catch {
      // Cut off or no JSON: the signer itself says what is wrong with its journal when it starts.
    }
  }
  return signed
}

async function placeFiles(folder: string, dataDir: string): Promise<void> {
  for (const name of await readdir(folder)) await rename(join(folder, name), join(dataDir, name))
}

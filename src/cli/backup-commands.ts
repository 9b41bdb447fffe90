import { open, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { isBackupName, newestOfEach } from '../backup/backup-name.ts'
import type { BackupStore } from '../backup/backup-store.ts'
import { megabytes } from '../backup/create-backup.ts'
import { readFileBytes } from '../backup/folder-store.ts'
import { NO_SIGNER, recordBackup } from '../backup/keep-backing-up.ts'
import { openStore } from '../backup/open-store.ts'
import { checkBackup, type Restored, restoreBackup } from '../backup/restore-backup.ts'
import { type Config, givenSettings, loadProcessConfig, processTarget } from '../config/config.ts'
import type { AccessList } from '../db/people/restored-access.ts'
import { openAsOwner } from '../postgres/open-database.ts'
import { systemClock } from '../runtime/clock.ts'
import { hasCode, systemReason, writeSecretFile } from '../runtime/data-dir.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { auditCommand } from './audit-command.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { createProgress, type ProgressStream } from './progress-bar.ts'
import { UsageError } from './usage-error.ts'

/** Progress is reported in tables, and then in a word; a bar needs a number of steps. */
const PROGRESS_STEPS = 1_000
const stream: ProgressStream = process.stderr

const NOT_CONFIGURED =
  'no backup is configured: set BACKUP_TO to a folder or s3://bucket/prefix, and BACKUP_RECIPIENT to the public key that paylink backup create-key prints'

/** `paylink backup`: one backup, now. */
export async function backupCommand(output: Output): Promise<number> {
  const { backup } = loadProcessConfig()
  if (backup === null) throw new UsageError(NOT_CONFIGURED)
  const { recipients, keep } = backup
  const store = openStore(backup.target)
  const made = await withOwnerPool(
    (pool, { dataDir }, ownerUrl) =>
      showingProgress((onProgress) =>
        recordBackup(pool, systemClock, {
          ...{ ownerUrl, dataDir, settings: givenSettings(), store, recipients, keep },
          onProgress,
        }),
      ),
    // Before an upgrade the backup is taken of the database as it is.
    { migrates: false },
  )
  output.line(`Backed up to ${store.description}/${made.name} (${megabytes(made.bytes)}).`)
  for (const name of made.removed) output.line(`Removed ${name}: ${keep} backups are kept.`)
  if (!made.hasSigner) output.problem(NO_SIGNER)
  const { signerKeyFile } = loadProcessConfig()
  if (signerKeyFile !== null)
    output.line(
      `Not in it: ${signerKeyFile}, the key that opens the seed. Keep a copy of that file elsewhere.`,
    )
  return 0
}

/** `paylink backup create-key FILE`: the key pair that backups are encrypted with. */
export async function createBackupKeyCommand(path: string, output: Output): Promise<number> {
  output.line(`BACKUP_RECIPIENT=${await createBackupKey(path)}`)
  output.problem(keepBackupKey(path))
  return 0
}

export const keepBackupKey = (path: string): string =>
  `${path} opens every backup: move it off this machine, to two places. Without it no backup can be restored.`

/** Writes a new secret key, never over another file, and gives its public key. */
export async function createBackupKey(path: string): Promise<string> {
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`# public key: ${recipient}\n${identity}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw new UsageError(`${path} exists, and no key is written over another`)
    throw new StartRefused(`${path} cannot be written: ${systemReason(error)}`, { cause: error })
  }
  return recipient
}

/** `paylink backup list`: the whole backups, oldest first. */
export async function listBackupsCommand(output: Output): Promise<number> {
  const { backup } = loadProcessConfig()
  if (backup === null) throw new UsageError(NOT_CONFIGURED)
  for (const name of await openStore(backup.target).list()) output.line(name)
  return 0
}

/** `paylink restore BACKUP`: into an installation that holds nothing, followed by an audit, whose exit code it has. */
export async function restoreCommand(
  backup: string,
  options: { readonly keyFile: string; readonly check: boolean },
  output: Output,
): Promise<number> {
  const identity = await readIdentity(options.keyFile)
  const bytes = await findBackup(backup)
  if (options.check) {
    const { made_at } = await showingProgress((onProgress) => checkBackup(bytes, identity, onProgress))
    output.line(`The backup of ${made_at} is whole, and this key opens it. Nothing was restored.`)
    return 0
  }
  const config = loadProcessConfig()
  let close = async (): Promise<void> => {}
  const openOwner = async (): Promise<string> => {
    const database = await openAsOwner(config)
    close = database.close
    return database.ownerUrl
  }
  try {
    const restored = await showingProgress((onProgress) =>
      restoreBackup({ dataDir: config.dataDir, openOwner, bytes, identity, onProgress }),
    )
    await printRestored(restored, config, output)
    return await auditCommand(
      { json: false },
      output,
      stream,
      loadProcessConfig(elsewhere(restored.settings)),
    )
  } finally {
    await close()
  }
}

/** The backup's settings, for the audit, but for where its installation was. */
const elsewhere = (settings: Restored['settings']): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(settings).filter(([name]) => !/DATABASE_URL$|^DATA_DIR$|_KEYS?_FILE$/.test(name)),
  )

async function printRestored(
  restored: Restored,
  { dataDir, signerKeyFile }: Config,
  output: Output,
): Promise<void> {
  const { createdAt, hasSigner, signerFolder, settings, settingsText, withdrawn, submitted, leftOut } =
    restored
  const { access, endedSignIns } = restored
  const settingsPath = resolve(dataDir, 'restored.env')
  await writeSecretFile(settingsPath, settingsText)
  const hours = (systemClock().getTime() - createdAt.getTime()) / 3_600_000
  output.line(`
Restored the backup of ${createdAt.toISOString()} (${hours.toFixed(1)} hours ago).

Before the first start:
· Its settings are in ${settingsPath}: compare them with yours.`)
  const keyFile = settings.SIGNER_KEY_FILE
  if (keyFile !== undefined && signerKeyFile === null)
    output.line(
      `· SIGNER_KEY_FILE was ${keyFile}, which no backup holds: put that file back, and set the variable.`,
    )
  output.line(
    hasSigner
      ? `· What was signed since the backup is not in it. If the signer's folder of the lost machine is left, put it in
  place of ${resolve(dataDir, signerFolder)}, start, and run paylink signer recover if the signer asks for it.`
      : `· The backup has no signer folder: put the newest one to ${resolve(dataDir, signerFolder)} where the signer runs.`,
  )
  output.line(
    `· No address that was given out since is given out again. Invoices since the backup are gone, and payments to the
  others are found on the chains. See docs/backup.md.`,
  )
  if (withdrawn.length > 0) {
    output.line(`· Payouts that were approved and not yet signed. They may have been paid since: look each up on its chain, then
  approve it again, or reject it:
    ${withdrawn.join('\n    ')}`)
  }
  if (submitted.length > 0) {
    output.line(`· Payouts that were submitted and not yet confirmed. Leave them to Paylink: within minutes of the start it finds on
  the chain what paid each of them, a replacement for a higher fee too, and confirms it; it sends the same transaction
  again where none did, and fails the payout where it cannot happen any more:
    ${submitted.map(({ id, network, txid }) => `${id} on ${network}, transaction ${txid}`).join('\n    ')}`)
  }
  output.line(`· ${endedSignIns} sign-ins of the backup ended, with all links of emails: people sign in again.
${accessText(access)}`)
  if (leftOut.length > 0)
    output.line(
      `· Tables that are not Paylink's are in the backup, and were not restored: ${leftOut.join(', ')}.`,
    )
  output.line('')
}

/** Names are their owners' words: nothing in them may steer a terminal. */
function accessText(access: Restored['access']): string {
  const { apiKeys, managers, invitations, destinations, endpoints } = access
  const list = (what: string, { count, first }: AccessList): string =>
    [
      `    ${what}: ${count}`,
      ...first.map((name) => `      ${name.replace(/\p{C}/gu, '�')}`),
      ...(count > first.length ? [`      and ${count - first.length} more`] : []),
    ].join('\n')
  return `· Look these through before the first start: what was revoked or removed after the backup counts again.
${list('Active API keys', apiKeys)}
${list('Owners and admins', managers)}
${list('Open invitations', invitations)}
${list('Live payout destinations', destinations)}
${list('Live webhook endpoints', endpoints)}`
}

async function readIdentity(path: string): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new StartRefused(`--key-file ${path} cannot be read: ${systemReason(error)}`, { cause: error })
  }
  const key = text.split('\n').find((line) => /^AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]+\s*$/.test(line))
  if (key === undefined) {
    throw new UsageError(
      `--key-file ${path} holds no secret key of age, such as paylink backup create-key makes`,
    )
  }
  return key.trim()
}

/** A file, an object of a store, or one of the configured store's, of which `latest` is the newest of the one installation. */
async function findBackup(backup: string): Promise<AsyncIterable<Uint8Array>> {
  const [, folder, name] = /^(s3:\/\/.+)\/([^/]+)$/.exec(backup) ?? []
  if (folder !== undefined && name !== undefined) return pick(openStore(processTarget(folder)), name)
  if (backup !== 'latest' && !isBackupName(backup)) return readFileBytes(backup)
  const configured = loadProcessConfig().backup
  if (configured === null)
    throw new UsageError(`${backup} is looked for in BACKUP_TO, which is not set: give a path`)
  return pick(openStore(configured.target), backup)
}

async function pick(store: BackupStore, name: string): Promise<AsyncIterable<Uint8Array>> {
  if (name !== 'latest') return store.read(name)
  const [newest, ...others] = newestOfEach(await store.list())
  if (newest === undefined) throw new StartRefused(`${store.description} holds no backup`)
  if (others.length === 0) return store.read(newest)
  throw new StartRefused(
    `${store.description} holds backups of several installations: name the one to restore. The newest of each: ${[newest, ...others].join(', ')}`,
  )
}

/** Shows on standard error how far a long work has come. */
export async function showingProgress<Result>(
  work: (onProgress: (done: number, total: number, note: string) => void) => Promise<Result>,
): Promise<Result> {
  const progress = createProgress(stream, PROGRESS_STEPS)
  try {
    return await work((done, total, note) => progress.update((PROGRESS_STEPS * done) / total, note))
  } finally {
    progress.end()
  }
}

import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { StartRefused } from './start-refused.ts'

/** Makes the folder where it is missing. Throws `StartRefused` where it cannot be written. */
export async function openDataDir(path: string): Promise<void> {
  try {
    // As root the embedded PostgreSQL runs as another user and has to pass through; every file in it is 0600.
    await makeFolder(resolve(path), process.getuid?.() === 0 ? 0o711 : 0o700)
    const probe = join(path, `.write-${randomBytes(6).toString('hex')}`)
    await writeSecretFile(probe, '')
    await unlink(probe)
  } catch (error) {
    throw new StartRefused(`DATA_DIR ${path} cannot be written: ${systemReason(error)}`, { cause: error })
  }
}

/**
 * The folder and those above it. Not `mkdir` with `recursive`, which tries for ever where the parent is there and
 * says all the same that it is not, as /proc does.
 */
async function makeFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return
    if (!hasCode(error, 'ENOENT') || (await exists(dirname(path)))) throw error
    await makeFolder(dirname(path), mode)
    await makeFolder(path, mode)
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/** Replaces a file that only we may read, so that a crash leaves either the old or the new content. */
export async function writeSecretFile(path: string, content: string): Promise<void> {
  const temporary = await writeTemporary(path, content)
  await rename(temporary, path)
}

/**
 * The content of a file that is made once: `make` is asked where it is missing, and of several processes that
 * start at the same time one wins and all read the same.
 */
export async function readOrMakeSecretFile(path: string, make: () => string): Promise<string> {
  const existing = await readFileIfPresent(path)
  if (existing !== null) return existing
  const temporary = await writeTemporary(path, make())
  try {
    await link(temporary, path)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    await unlink(temporary)
  }
  return await readFile(path, 'utf8')
}

export async function readFileIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}

async function writeTemporary(path: string, content: string): Promise<string> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  return temporary
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** What a person can act on, from the error of a system call. */
export function systemReason(error: unknown): string {
  if (hasCode(error, 'EACCES') || hasCode(error, 'EPERM')) {
    return 'permission denied; give this user the folder, or set DATA_DIR to another'
  }
  if (hasCode(error, 'EROFS')) return 'the file system is read-only; set DATA_DIR to a folder on another'
  if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT')) return 'the disk is full; free some space'
  if (hasCode(error, 'ENOTDIR') || hasCode(error, 'EEXIST')) {
    return 'a part of the path is a file; set DATA_DIR to a folder'
  }
  return error instanceof Error ? error.message : String(error)
}

/** A folder of the data folder. A staging signer never sees the seed that live money is on. */
export const signerFolderName = (staging: boolean) => (staging ? 'signer-staging' : 'signer')

/** Where the signer keeps what is its own. */
export const signerFolderOf = (of: { readonly dataDir: string; readonly staging?: boolean }): string =>
  join(of.dataDir, signerFolderName(of.staging === true))

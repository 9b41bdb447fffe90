import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, systemReason } from '../runtime/data-dir.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { isBackupName } from './backup-name.ts'
import type { BackupStore } from './backup-store.ts'

const ABANDONED_MS = 24 * 3_600_000

/** Backups as files of a folder; one that is being written has another name. */
export function folderStore(path: string): BackupStore {
  const refused = (error: unknown) =>
    new StartRefused(`the backup folder ${path} cannot be used: ${systemReason(error)}`, { cause: error })
  return {
    description: path,
    write: async (name, bytes) => {
      const unfinished = join(path, `${name}.part`)
      try {
        await mkdir(path, { recursive: true, mode: 0o700 })
      } catch (error) {
        throw refused(error)
      }
      await removeAbandoned(path)
      try {
        const written = await writeDurably(unfinished, bytes)
        await rename(unfinished, join(path, name))
        await syncFolder(path)
        return written
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error instanceof Error && 'code' in error && 'syscall' in error ? refused(error) : error
      }
    },
    read: (name) => readFileBytes(join(path, name)),
    list: async () => {
      try {
        return (await readdir(path)).filter(isBackupName).sort()
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return []
        throw refused(error)
      }
    },
    remove: (name) => rm(join(path, name), { force: true }),
  }
}

/** The bytes of a backup that is a file, wherever it is. */
export async function* readFileBytes(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path)) yield chunk
  } catch (error) {
    throw new StartRefused(`the backup ${path} cannot be read: ${systemReason(error)}`, { cause: error })
  }
}

/** What a backup that was killed left, once it is surely no other's that is still being written. */
async function removeAbandoned(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (!name.endsWith('.part') || !isBackupName(name.slice(0, -'.part'.length))) continue
    const { mtimeMs } = await stat(join(path, name))
    if (Date.now() - mtimeMs > ABANDONED_MS) await rm(join(path, name), { force: true })
  }
}

async function writeDurably(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, 'wx', 0o600)
  try {
    let written = 0
    for await (const chunk of bytes) {
      await file.writeFile(chunk)
      written += chunk.length
    }
    await file.sync()
    return written
  } finally {
    await file.close()
  }
}

/** A name is durable only when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

import { mkdtemp, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Linux keeps its files in memory. */
const MEMORY = '/dev/shm'
/** Many times what a whole run takes; the 64 MB that a container has by default are too few. */
const FREE_BYTES_MIN = 4 * 1024 ** 3

/**
 * A new folder for files that need not outlive the machine: in memory where there is room, else where temporary
 * files go. A database is a thousand files, and ext4 searches all that were lately removed for each new one: forty
 * databases, made and dropped, took 31 s of a processor on it and 7 s in memory. No program may be started from it.
 */
export async function makeMemoryFolder(prefix: string): Promise<string> {
  return mkdtemp(join((await hasRoom()) ? MEMORY : tmpdir(), prefix))
}

async function hasRoom(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(MEMORY)
    return bavail * bsize >= FREE_BYTES_MIN
  } catch {
    // There is none on macOS.
    return false
  }
}

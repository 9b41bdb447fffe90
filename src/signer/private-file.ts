import { randomBytes } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o600

/** The file's bytes, or null where there is no such file. */
export async function readPrivateFile(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/**
 * Makes a file that only its owner reads, whole or not at all, whenever the machine stops. Throws `EEXIST`
 * where it exists: a seed is never written over.
 */
export function createPrivateFile(path: string, content: string): Promise<void> {
  // Unlike a rename, a hard link fails if the name is taken.
  return write(path, content, async (temporary) => {
    await link(temporary, path)
    await rm(temporary)
  })
}

/** Puts a new content in place of a file's old one, whole or not at all. */
export function replacePrivateFile(path: string, content: string): Promise<void> {
  return write(path, content, (temporary) => rename(temporary, path))
}

async function write(
  path: string,
  content: string,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = await open(temporary, 'wx', OWNER_ONLY)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await place(temporary)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  // The name is durable only when its folder is.
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

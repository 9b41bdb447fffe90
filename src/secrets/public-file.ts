import { randomBytes } from 'node:crypto'
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'

/** The file's text, or null where there is no such file. */
export async function readPublicFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** Puts a file in its place whole, for other users of the machine to read, whatever the process keeps from them otherwise. */
export async function writePublicFile(path: string, content: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    await writeFile(temporary, content)
    await chmod(temporary, 0o644)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

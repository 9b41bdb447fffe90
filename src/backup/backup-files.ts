import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, signerFolderName } from '../runtime/data-dir.ts'

/** What a backup holds of the data folder. The rest is the database's, or made again by a start. */
const KEPT = [
  signerFolderName(false),
  signerFolderName(true),
  'secret-key',
  'address-keys.json',
  'approval-key',
  'outcome-key',
  'sandbox.json',
  'sandbox',
] as const
/** Programs that a start fetched, and files that somebody is writing. */
const LEFT_OUT = /^sandbox\/packages\/|\.(?:tmp|new|lock)$/

type DataFile = { readonly path: string; readonly bytes: Buffer }

/** The files of the data folder, by their path in it. The service may be writing: each is as it was at one moment. */
export async function* readDataFiles(dataDir: string): AsyncGenerator<DataFile> {
  for (const name of KEPT) yield* readBelow(dataDir, name)
}

async function* readBelow(dataDir: string, path: string): AsyncGenerator<DataFile> {
  if (LEFT_OUT.test(path) || LEFT_OUT.test(`${path}/`)) return
  try {
    const names = await readdir(join(dataDir, path)).catch((error: unknown) => {
      if (hasCode(error, 'ENOTDIR')) return null
      throw error
    })
    if (names === null) yield { path, bytes: await readFile(join(dataDir, path)) }
    else for (const name of names.sort()) yield* readBelow(dataDir, `${path}/${name}`)
  } catch (error) {
    // Not every installation has each, and some go while we look.
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

/** Whether a path of a backup is one that `readDataFiles` gives: it cannot lead out of the data folder. */
export const isKeptPath = (path: string): boolean =>
  KEPT.some((name) => path === name || path.startsWith(`${name}/`)) &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')

/** What stands in the way of a restore: the first file that it would write and that is there. */
export async function findKeptFile(dataDir: string): Promise<string | null> {
  for await (const { path } of readDataFiles(dataDir)) return join(dataDir, path)
  return null
}

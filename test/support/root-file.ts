import { readFile } from 'node:fs/promises'

const ROOT = new URL('../../', import.meta.url)

/** A file of the repository, by its path from the root. */
export const readRootFile = (path: string): Promise<string> => readFile(new URL(path, ROOT), 'utf8')

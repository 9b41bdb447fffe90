import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '../runtime/data-dir.ts'
import { StartRefused } from '../runtime/start-refused.ts'

/** There while a restore is under way. */
export const restoringFolder = (dataDir: string): string => join(dataDir, 'restoring')

/** Nothing may start on what a restore left half done. Throws `StartRefused`. */
export async function refuseHalfRestored(dataDir: string): Promise<void> {
  try {
    await access(restoringFolder(dataDir))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  throw new StartRefused(
    `${restoringFolder(dataDir)} says that a restore is under way, or was ended before its time: wait for it, or restore again into an empty DATA_DIR and an empty database`,
  )
}

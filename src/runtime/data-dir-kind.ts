import { join } from 'node:path'
import { readFileIfPresent, readOrMakeSecretFile, signerFolderName } from './data-dir.ts'
import { StartRefused } from './start-refused.ts'

/** In `DATA_DIR`: whether it is a staging installation's. Written at the first start, read at every one. */
const KIND_FILE = 'kind'
const STAGING = 'staging'
const NOT_STAGING = 'not staging'

type Place = { readonly dataDir: string; readonly staging: boolean }

/**
 * Throws `StartRefused` for a data folder of the other kind: keys of staging and of live money never lie in one. A
 * folder without a mark is of the kind whose seed it holds.
 */
export async function refuseOtherFolder({ dataDir, staging }: Place): Promise<void> {
  const seed = join(dataDir, signerFolderName(!staging), 'seed.json')
  const isOther = (await readFileIfPresent(seed)) !== null
  const marked = (await readFileIfPresent(join(dataDir, KIND_FILE)))?.trim()
  if (!isOther && (marked === undefined || marked === kindOf(staging))) return
  throw new StartRefused(
    staging
      ? `DATA_DIR ${dataDir} is not for staging, and STAGING is 1: give staging a folder of its own`
      : `DATA_DIR ${dataDir} is a staging installation's: set STAGING=1, or give another folder`,
  )
}

/** Marks a data folder once its database is known to be of that kind. Of several first starts the first one's mark stays. */
export async function markFolder(place: Place): Promise<void> {
  await readOrMakeSecretFile(join(place.dataDir, KIND_FILE), () => `${kindOf(place.staging)}\n`)
  await refuseOtherFolder(place)
}

const kindOf = (staging: boolean): string => (staging ? STAGING : NOT_STAGING)

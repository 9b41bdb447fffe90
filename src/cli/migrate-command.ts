import { loadProcessConfig } from '../config/config.ts'
import { makeGivenLogins, openDatabase } from '../postgres/open-database.ts'
import { openDataDir } from '../runtime/data-dir.ts'
import { markFolder, refuseOtherFolder } from '../runtime/data-dir-kind.ts'
import type { Output } from './command-context.ts'

/** `paylink migrate`: brings the database up to date, and its roles; safe when several run at once. */
export async function migrateCommand(output: Output): Promise<number> {
  const config = loadProcessConfig()
  await openDataDir(config.dataDir)
  await refuseOtherFolder(config)
  const onStep = (line: string) => output.line(line)
  const database = await openDatabase(config, { onStep, onWait: onStep })
  try {
    await markFolder(config)
    if (database.ownerUrl !== null) {
      const made = await makeGivenLogins(config, database.ownerUrl)
      for (const login of made) output.line(`made the login ${login}`)
    }
  } finally {
    await database.close()
  }
  output.line('the database is up to date')
  return 0
}

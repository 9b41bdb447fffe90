import { tryMigrations } from '../backup/try-migrations.ts'
import { openDataDir } from '../runtime/data-dir.ts'
import { showingProgress } from './backup-commands.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { UsageError } from './usage-error.ts'

/** `paylink upgrade --check`: what this release's migrations do to the database, tried on a copy; 1 where one fails. */
export async function upgradeCommand(options: { readonly check: boolean }, output: Output): Promise<number> {
  if (!options.check) throw new UsageError('give --check; to upgrade, follow docs/upgrading.md')
  const tried = await withOwnerPool(
    async (pool, { dataDir }, ownerUrl) => {
      await openDataDir(dataDir)
      return showingProgress((onProgress) => tryMigrations({ ownerUrl, pool, dataDir, onProgress }))
    },
    { migrates: false },
  )
  const { from, to, copyMs, applied, failure } = tried
  if (from === to) {
    output.line(
      `The database is at migration ${to}, as this release wants it: an upgrade changes nothing in it.`,
    )
    return 0
  }
  output.line(`This release brings the database from migration ${from} to ${to}.`)
  output.line(`Tried on a copy, which took ${seconds(copyMs)} to make:`)
  for (const { name, ms } of applied) output.line(`  ${seconds(ms).padStart(9)}  ${name}`)
  if (failure !== null) {
    output.problem(`${failure}. Nothing was changed. Do not upgrade; report this with the release's number.`)
    return EXIT_FAILED
  }
  const total = applied.reduce((sum, { ms }) => sum + ms, 0)
  output.line(
    `${seconds(total)} in all, and the time that each waits until its tables are free. Nothing was changed.`,
  )
  return 0
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

import { type Config, loadProcessConfig } from '../config/config.ts'
import { migrate } from '../postgres/migrate.ts'
import { openAsOwner } from '../postgres/open-database.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import { withoutSecrets } from '../runtime/log.ts'

/** Where a command writes for the person or program that called it. */
export type Output = { line(text: string): void; problem(text: string): void }

export const processOutput: Output = {
  line: (text) => process.stdout.write(`${text}\n`),
  problem: (text) => process.stderr.write(`paylink: ${withoutSecrets(text)}\n`),
}

/** A command needs few connections, and closes them when it ends. */
const CONNECTIONS_MAX = 4

/**
 * Runs a command with the owner's connections to the database, migrated: the running server where there is one,
 * otherwise the embedded one, started for as long as the command takes. `migrates: false` leaves the schema as it is.
 */
export async function withOwnerPool<Result>(
  work: (pool: Pool, config: Config, ownerUrl: string) => Promise<Result>,
  { config = loadProcessConfig(), migrates = true }: { config?: Config; migrates?: boolean } = {},
): Promise<Result> {
  const database = await openAsOwner(config)
  try {
    if (migrates) await migrate(database.ownerUrl, { onWait: (line) => processOutput.problem(line) })
    const pool = openPool({
      connectionString: database.ownerUrl,
      applicationName: 'paylink-command',
      max: CONNECTIONS_MAX,
      onError: () => {},
    })
    try {
      return await work(pool, config, database.ownerUrl)
    } finally {
      await pool.end()
    }
  } finally {
    await database.close()
  }
}

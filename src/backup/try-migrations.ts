import { randomBytes } from 'node:crypto'
import { rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts'
import { latestMigration, migrate } from '../postgres/migrate.ts'
import type { Pool } from '../postgres/pool.ts'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { loadDatabaseParts, type TablePart, withDatabaseParts } from './copy-database.ts'

/** A copy and the files that its migrations write anew. */
const ROOM_FACTOR = 3

type Tried = {
  /** The migration that the database is at, and the one that this release brings it to. */
  readonly from: number
  readonly to: number
  readonly copyMs: number
  readonly applied: readonly { readonly name: string; readonly ms: number }[]
  /** What went wrong with the next one; null where all were applied. */
  readonly failure: string | null
}

type TrialPlan = {
  readonly ownerUrl: string
  readonly pool: Pool
  readonly dataDir: string
  readonly onProgress: (done: number, total: number, note: string) => void
}

/**
 * Copies the database, of one moment, into a server of its own below the data folder, and runs this release's
 * migrations there. The database itself is only read. Nothing of the copy stays.
 */
export function tryMigrations({ ownerUrl, pool, dataDir, onProgress }: TrialPlan): Promise<Tried> {
  return withDatabaseParts(ownerUrl, async (shape, parts): Promise<Tried> => {
    const [from, to] = [shape.migration, await latestMigration()]
    if (from === to) return { from, to, copyMs: 0, applied: [], failure: null }
    if (from > to) {
      throw new StartRefused(
        `the database has migration ${from} and this release knows ${to}: run the check of the newer release`,
      )
    }
    await requireRoom(pool, dataDir)
    // Not `mkdtemp`: as root the server runs as another user, who has to pass through the folder.
    const folder = join(dataDir, `upgrade-check-${randomBytes(6).toString('hex')}`)
    try {
      const server = await startEmbeddedPostgres(folder)
      try {
        const startedAt = performance.now()
        await migrate(server.ownerUrl, { through: from })
        const tables = shape.tables.map(({ name }) => name)
        const reported = async function* (): AsyncGenerator<TablePart> {
          for await (const part of parts()) {
            onProgress(tables.indexOf(part.table), tables.length, `copying ${part.table}`)
            yield part
          }
        }
        await loadDatabaseParts(server.ownerUrl, shape, reported())
        return { from, to, copyMs: performance.now() - startedAt, ...(await applyTo(server.ownerUrl)) }
      } finally {
        await server.stop()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
}

async function applyTo(copyUrl: string): Promise<Pick<Tried, 'applied' | 'failure'>> {
  const applied: { name: string; ms: number }[] = []
  try {
    await migrate(copyUrl, { onApplied: (name, ms) => applied.push({ name, ms }) })
    return { applied, failure: null }
  } catch (error) {
    return { applied, failure: describeError(error) }
  }
}

async function requireRoom(pool: Pool, dataDir: string): Promise<void> {
  const { rows } = await pool.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes')
  const { bavail, bsize } = await statfs(dataDir)
  const [free, needed] = [bavail * bsize, ROOM_FACTOR * (rows[0]?.bytes ?? 0)]
  if (free >= needed) return
  const gigabytes = (bytes: number) => (bytes / 1024 ** 3).toFixed(1)
  throw new StartRefused(
    `a copy of the database needs ${gigabytes(needed)} GB in ${dataDir}, which has ${gigabytes(free)}: make room, or set DATA_DIR to another disk for this command`,
  )
}

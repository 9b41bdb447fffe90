import type { Config } from '../config/config.ts'
import { REPORT_AGE_MS_MAX } from '../core/people/place-account.ts'
import { countDirectoryFacts } from '../db/people/directory-changes.ts'
import { keyMark } from '../directory/lookup.ts'
import { versionOfDirectory } from '../directory/open-directory.ts'
import { listCells, type RegisteredCell } from '../directory/registry.ts'
import { DIRECTORY_MIGRATIONS } from '../directory/schema.ts'
import { countSharedPeople, listCellsWithout } from '../directory/shared-rows.ts'
import { CONNECTION_MS_MAX } from '../directory/sign-in-directory.ts'
import { openPool, type Pool, type Queryable } from '../postgres/pool.ts'
import { describeError } from '../runtime/log.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** People come and go while both sides are counted: a smaller difference, or share, says nothing. */
const MISSING_MIN = 10
const MISSING_SHARE_MIN = 0.01

/** Whether the directory of cells answers, and knows this cell and its people; nothing where none is configured. */
export async function inspectDirectory(
  { directory, cell }: Pick<Config, 'directory' | 'cell'>,
  db: Queryable,
): Promise<Finding[]> {
  if (directory === null) return []
  const pool = openPool({
    connectionString: directory.url,
    applicationName: 'paylink-doctor',
    max: 1,
    onError: () => {},
    connectMsMax: CONNECTION_MS_MAX,
    answerMsMax: CONNECTION_MS_MAX,
  })
  try {
    return await lookInto(pool, { db, cell, key: directory.key })
  } catch (error) {
    return [
      fault(
        `The directory of cells could not be read: ${describeError(error)}; new browsers do not find their cell: check DIRECTORY_DATABASE_URL`,
      ),
    ]
  } finally {
    await pool.end()
  }
}

async function lookInto(
  pool: Pool,
  { db, cell, key }: { readonly db: Queryable; readonly cell: number; readonly key: Uint8Array },
): Promise<Finding[]> {
  const [version, latest] = [await versionOfDirectory(pool), DIRECTORY_MIGRATIONS.length]
  if (version === 0)
    return [fault('DIRECTORY_DATABASE_URL leads to no directory of cells: see paylink cells add')]
  if (version < latest)
    return [
      fault(
        `The directory of cells has schema ${version}, and this release ${latest}: run paylink cells list with its owner’s login`,
      ),
    ]
  const own = (await listCells(pool)).find(({ number }) => number === cell)
  if (own === undefined)
    return [fault(`The directory of cells does not know cell ${cell}: run paylink cells add ${cell}`)]
  const { reportAgeMs } = own
  if (reportAgeMs === null)
    return [
      fault(
        `Cell ${cell} has never reported to the directory of cells, and leads nobody to another: start a process with the role api and DIRECTORY_DATABASE_URL`,
      ),
    ]
  const isOld = reportAgeMs > REPORT_AGE_MS_MAX
  const age = `${Math.max(0, Math.round(reportAgeMs / 1_000))} s ago`
  return [
    isOld
      ? fault(
          `Cell ${cell} last reported to the directory of cells ${age}, and gets no new accounts: see the log of the processes with the role api`,
        )
      : ok(`Cell ${cell} reported to the directory of cells ${age}`),
    peopleFinding(await countDirectoryFacts(db, 'person'), await countSharedPeople(pool, cell)),
    ...keyFindings(await listCellsWithout(pool, keyMark(key)), cell),
    ...roomFindings(own),
  ]
}

function peopleFinding(here: number, there: number): Finding {
  const text = `The directory of cells has ${there} of this cell’s ${here} people`
  return Math.abs(here - there) > Math.max(MISSING_MIN, here * MISSING_SHARE_MIN)
    ? fault(`${text}: restart a process with the role api, which compares them`)
    : ok(text)
}

function keyFindings(others: readonly number[], cell: number): Finding[] {
  if (others.length === 0) return []
  const text = others.includes(cell)
    ? `The processes of cell ${cell} look up in the directory of cells with another DIRECTORY_KEY than this command`
    : `Cells that look up in the directory of cells with another DIRECTORY_KEY than cell ${cell}: ${others.join(', ')}`
  return [
    fault(
      `${text}, or run an older release: give all cells the same key, or people are refused where they come first`,
    ),
  ]
}

function roomFindings({ number, state, room, merchants }: RegisteredCell): Finding[] {
  const how = `run paylink cells add ${number} --room … to open it`
  if (state === 'draining') return [notice(`Cell ${number} is drained, and takes no new accounts: ${how}`)]
  return merchants < room
    ? []
    : [notice(`Cell ${number} is full with ${merchants} merchants, and takes no new accounts: ${how}`)]
}

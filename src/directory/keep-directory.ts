import {
  countDirectoryFacts,
  type DirectoryCell,
  type DirectoryKind,
  deleteDirectoryChanges,
  findDirectoryFacts,
  listDirectoryChanges,
  listDirectoryFacts,
  loadDirectoryCell,
  saveDirectoryCell,
} from '../db/people/directory-changes.ts'
import type { Pool, Queryable } from '../postgres/pool.ts'
import { type Tx, withSystemTransaction } from '../postgres/transaction.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { emailLookup, keyMark, passkeyLookup } from './lookup.ts'
import { loadSharedRows, removeSharedRows, writeSharedRows } from './shared-rows.ts'

/** One look at a nearly empty table of the cell's own database. */
const EVERY_MS = 2_000
const REPORT_MS = 60_000
const COMPARE_MS = 24 * 3_600_000
const AT_ONCE_MAX = 1_000
/** An arbitrary constant: with the cell's number, the advisory lock in the directory under which one process writes. */
const WRITER_LOCK = 729_546_530
const KINDS: readonly DirectoryKind[] = ['person', 'passkey', 'merchant']

type Deps = {
  /** The cell's own database. */
  readonly pool: Pool
  readonly directory: Pool
  readonly key: Uint8Array
  readonly cell: number
  readonly log: Log
}
/** The cell's row in the directory. */
type CellRow = DirectoryCell & { readonly isReported: boolean }

/**
 * Keeps a cell's rows in the directory as they are in the cell: all of them compared at the start, each day and where the
 * directory turns out to be another one, and otherwise what changed. Every process of the cell may do so: the directory's
 * own lock puts them one behind the other. While it is away, changes wait in the cell's database.
 */
export function keepDirectory(deps: Deps): { stop(): Promise<void> } {
  let compareAtMs = 0
  let reportAtMs = 0
  let isAway = false
  const round = async (): Promise<void> => {
    const nowMs = performance.now()
    if (nowMs >= compareAtMs) {
      const isFirst = await compareAll(deps)
      // Who was signing up when the first one began noted nothing: they have ended until the second.
      compareAtMs = nowMs + (isFirst ? REPORT_MS : COMPARE_MS)
      reportAtMs = nowMs + REPORT_MS
    }
    const isSame = (await writeChanges(deps)) && (nowMs < reportAtMs || (await report(deps)))
    if (nowMs >= reportAtMs) reportAtMs = nowMs + REPORT_MS
    if (!isSame) compareAtMs = 0
    if (isAway) deps.log.info('the directory of cells is written again')
    isAway = false
  }
  return repeat(round, {
    everyMs: EVERY_MS,
    onError: (error) => {
      if (!isAway)
        deps.log.warn(
          { err: error },
          'the directory of cells could not be written: changes wait until it can',
        )
      isAway = true
    },
  })
}

/** Writes what differs, and registers the cell where the directory lost it; whether changes are noted only from now on. */
async function compareAll(deps: Deps): Promise<boolean> {
  const { pool, cell } = deps
  const known = await loadDirectoryCell(pool)
  const before: DirectoryCell = known ?? { state: 'draining', room: 0, position: 0 }
  // Noted before they are read: a change meanwhile is written again.
  if (known === null) await saveDirectoryCell(pool, before)
  await asOnlyWriter(deps, async (tx) => {
    await tx.query(
      'insert into cell (number, state, room) values ($1, $2, $3) on conflict (number) do nothing',
      [cell, before.state, before.room],
    )
    for (const kind of KINDS) await compareKind(deps, tx, kind)
    const row = await updateCell(tx, cell, {
      isChanged: true,
      merchants: await countDirectoryFacts(pool, 'merchant'),
    })
    if (row !== null) await saveDirectoryCell(pool, row)
  })
  return known === null
}

async function compareKind({ pool, key, cell }: Deps, tx: Tx, kind: DirectoryKind): Promise<void> {
  const theirs = await loadSharedRows(tx, kind, cell)
  if (kind === 'passkey' && !theirs.delete(keyMark(key)))
    await writeSharedRows(tx, kind, cell, new Map([[keyMark(key), '']]))
  for (let after = ''; ; ) {
    const facts = await listDirectoryFacts(pool, kind, { after, max: AT_ONCE_MAX })
    const missing = new Map<string, string>()
    for (const { subject, value } of facts) {
      const shared = sharedKey(key, kind, subject)
      if (theirs.get(shared) !== value) missing.set(shared, value)
      theirs.delete(shared)
    }
    await writeSharedRows(tx, kind, cell, missing)
    const last = facts.at(-1)
    if (last === undefined || facts.length < AT_ONCE_MAX) break
    after = last.subject
  }
  await removeSharedRows(tx, kind, cell, [...theirs.keys()])
}

/** Writes what changed; false where the directory is not the one that had the changes before. */
async function writeChanges(deps: Deps): Promise<boolean> {
  const { pool, cell, key } = deps
  if ((await listDirectoryChanges(pool, 1)).length === 0) return true
  const written = await asOnlyWriter(deps, async (tx) => {
    const changes = await listDirectoryChanges(pool, AT_ONCE_MAX)
    const own = await loadDirectoryCell(pool)
    // One that lacks the cell's rows is not to say that it had a report.
    if ((await readCell(tx, cell))?.position !== own?.position) return null
    const row = await updateCell(tx, cell, {
      isChanged: true,
      merchants: await countDirectoryFacts(pool, 'merchant'),
    })
    if (row === null) return null
    for (const kind of KINDS) {
      const subjects = changes.filter((one) => one.kind === kind).map(({ subject }) => subject)
      const facts = subjects.length === 0 ? [] : await findDirectoryFacts(pool, kind, subjects)
      const kept = new Map(facts.map(({ subject, value }) => [sharedKey(key, kind, subject), value]))
      await writeSharedRows(tx, kind, cell, kept)
      const gone = subjects.map((subject) => sharedKey(key, kind, subject)).filter((one) => !kept.has(one))
      await removeSharedRows(tx, kind, cell, gone)
    }
    // Before the commit, so that the next writer finds both the same; one that fails has all rows compared.
    await saveDirectoryCell(pool, row)
    return changes
  })
  if (written === null) return false
  await deleteDirectoryChanges(pool, written)
  return true
}

/** Says how many merchants there are, unless another process just did; false where the directory is another one. */
function report(deps: Deps): Promise<boolean> {
  const { pool, cell } = deps
  return asOnlyWriter(deps, async (tx) => {
    const own = await loadDirectoryCell(pool)
    const found = await readCell(tx, cell)
    if (found === null || found.position !== own?.position) return false
    if (found.state !== own.state || found.room !== own.room) await saveDirectoryCell(pool, found)
    if (!found.isReported)
      await updateCell(tx, cell, { isChanged: false, merchants: await countDirectoryFacts(pool, 'merchant') })
    return true
  })
}

/** A transaction of the directory that no other process of the cell has at the same time. */
function asOnlyWriter<Result>({ directory, cell }: Deps, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return withSystemTransaction(directory, async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1, $2)', [WRITER_LOCK, cell])
    return work(tx)
  })
}

const COLUMNS = `state, room, position, coalesce(reported_at > now() - interval '50 seconds', false) as "isReported"`

async function readCell(db: Queryable, cell: number): Promise<CellRow | null> {
  const { rows } = await db.query<CellRow>(`select ${COLUMNS} from cell where number = $1`, [cell])
  return rows[0] ?? null
}

/** Null where the directory lacks the cell. */
async function updateCell(
  db: Queryable,
  cell: number,
  { isChanged, merchants }: { isChanged: boolean; merchants: number },
): Promise<CellRow | null> {
  const { rows } = await db.query<CellRow>(
    `update cell set merchants = $2, reported_at = now(), position = position + $3 where number = $1 returning ${COLUMNS}`,
    [cell, merchants, isChanged ? 1 : 0],
  )
  return rows[0] ?? null
}

function sharedKey(key: Uint8Array, kind: DirectoryKind, subject: string): string {
  if (kind === 'person') return emailLookup(key, subject)
  return kind === 'passkey' ? passkeyLookup(key, subject) : subject
}

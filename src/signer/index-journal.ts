import { join } from 'node:path'
import { z } from 'zod'
import { readIndexMarks } from '../db/addresses/account-keys.ts'
import type { Pool } from '../postgres/pool.ts'
import { readPrivateFile, replacePrivateFile } from './private-file.ts'
import { SignerRefused } from './refused.ts'

/** How far a keyspace was used, as far as the signer ever saw. Neither number ever falls. */
export type IndexMark = {
  /** The first index that was not derived. */
  readonly nextIndex: number
  /** How many indexes below that had left the pool. */
  readonly given: number
}
export type IndexMarks = ReadonlyMap<string, IndexMark>

const index = z.int().nonnegative()
const journalSchema = z.strictObject({
  version: z.literal(1),
  // An older file held only the highest address, which says less.
  marks: z.record(z.string(), z.object({ next_index: index, given: index.default(0) })),
})

const journalPath = (folder: string): string => join(folder, 'journal.json')

/** The marks on disk; empty before the first were written. */
export async function readJournal(folder: string): Promise<IndexMarks> {
  const content = await readPrivateFile(journalPath(folder))
  if (content === null) return new Map()
  try {
    const { marks } = journalSchema.parse(JSON.parse(content.toString('utf8')))
    return new Map(
      Object.entries(marks).map(([keyspace, mark]) => [
        keyspace,
        { nextIndex: mark.next_index, given: mark.given },
      ]),
    )
  } catch (error) {
    throw new SignerRefused(`${journalPath(folder)} is damaged: restore it from a backup`, { cause: error })
  }
}

/** Throws, and leaves what is there, where the marks could not be read again: the rows that they come from hold any number. */
export async function writeJournal(folder: string, marks: IndexMarks): Promise<void> {
  const entries = [...marks].map(([keyspace, mark]) => [
    keyspace,
    { next_index: mark.nextIndex, given: mark.given },
  ])
  const file: z.input<typeof journalSchema> = { version: 1, marks: Object.fromEntries(entries) }
  await replacePrivateFile(journalPath(folder), `${JSON.stringify(journalSchema.parse(file))}\n`)
}

/** The higher of both marks in each keyspace, and whether that is more than `known` says. */
function raiseMarks(known: IndexMarks, seen: IndexMarks): { marks: IndexMarks; raised: boolean } {
  const marks = new Map(known)
  let raised = false
  for (const [keyspace, mark] of seen) {
    const before = marks.get(keyspace) ?? { nextIndex: 0, given: 0 }
    if (mark.nextIndex <= before.nextIndex && mark.given <= before.given) continue
    raised = true
    marks.set(keyspace, {
      nextIndex: Math.max(mark.nextIndex, before.nextIndex),
      given: Math.max(mark.given, before.given),
    })
  }
  return { marks, raised }
}

/** Raises the marks on disk to what the database has given out, if that is more. */
export async function keepJournal(pool: Pool, folder: string): Promise<void> {
  const seen = new Map((await readIndexMarks(pool)).map((row) => [row.keyspace, row]))
  const { marks, raised } = raiseMarks(await readJournal(folder), seen)
  if (raised) await writeJournal(folder, marks)
}

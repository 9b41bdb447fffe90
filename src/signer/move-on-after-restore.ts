import { raiseNextIndex, readIndexMarks } from '../db/addresses/account-keys.ts'
import { deleteWaitingBatches } from '../db/addresses/address-batches.ts'
import { deletePoolAddresses } from '../db/addresses/address-pool.ts'
import type { Pool } from '../postgres/pool.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import type { IndexMark, IndexMarks } from './index-journal.ts'

type MovedOn = { readonly keyspace: string; readonly nextIndex: number; readonly discarded: number }

/**
 * Far more addresses than can be given out between the journal's last entry and the loss of the database. An
 * index left out costs nothing; one used twice sends two buyers to one address.
 */
export const SAFETY_GAP = 10_000

/** The first index that was surely never used, where `mark` is the last that is known; the very first without one. */
export function indexBeyond(mark: IndexMark | undefined): number {
  return mark === undefined ? 0 : mark.nextIndex + SAFETY_GAP
}

/**
 * Where the database knows of less than the journal does, it was restored from a backup: addresses that were
 * given out since stand in its pool again. Empties that pool and moves the index past all that was ever seen.
 */
export async function moveOnAfterRestore(pool: Pool, journal: IndexMarks): Promise<MovedOn[]> {
  const moved: MovedOn[] = []
  for (const now of await readIndexMarks(pool)) {
    const mark = journal.get(now.keyspace)
    if (mark === undefined) continue
    if (now.nextIndex >= mark.nextIndex && now.given >= mark.given) continue
    const nextIndex = Math.max(indexBeyond(mark), indexBeyond(now))
    const discarded = await withSystemTransaction(pool, async (tx) => {
      await raiseNextIndex(tx, now.keyspace, nextIndex)
      await deleteWaitingBatches(tx, now.keyspace)
      return deletePoolAddresses(tx, now.keyspace)
    })
    moved.push({ keyspace: now.keyspace, nextIndex, discarded })
  }
  return moved
}

import type { AccessSeals } from '../../core/people/access-seals.ts'
import type { AccessKind } from '../../core/people/sealed-rows.ts'
import { loadSealedRow, lockAccessSet, writeAccessSet } from '../../db/people/access-rows.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Tx, withSystemTransaction } from '../../postgres/transaction.ts'

type Changed = { readonly kind: AccessKind; readonly ownerId: string; readonly id: string }

/**
 * Brings a shop's or person's set of rows up to date after one of them was made, changed or deleted. A set that
 * somebody else changed stays as it is: what they did must not be covered up by what comes after.
 */
export async function recordAccess(
  tx: Tx,
  seals: AccessSeals,
  { kind, ownerId, id }: Changed,
): Promise<void> {
  const empty = { ownerId, kind, entries: [] }
  const set = await lockAccessSet(tx, { ...empty, seal: seals.sealSet(empty) })
  if (!seals.isSetSealed(set)) return
  const row = await loadSealedRow(tx, kind, id)
  const others = set.entries.filter((entry) => !entry.startsWith(`${id} `))
  const isThere = row !== null && seals.isSealed(kind, row)
  const entries = (isThere ? [...others, `${id} ${String(row.seal)}`] : others).sort()
  await writeAccessSet(tx, { ownerId, kind, entries, seal: seals.sealSet({ ownerId, kind, entries }) })
}

/** The same in a transaction of its own, once the change is committed. */
export const recordAccessAlone = (pool: Pool, seals: AccessSeals, changed: Changed): Promise<void> =>
  withSystemTransaction(pool, (tx) => recordAccess(tx, seals, changed))

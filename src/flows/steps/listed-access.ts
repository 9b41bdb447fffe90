import type { AccessSeals } from '../../core/people/access-seals.ts'
import type { AccessKind, SealedRow } from '../../core/people/sealed-rows.ts'
import { loadAccessSet, loadSealedRow } from '../../db/people/access-rows.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** What a list that Paylink wrote names; a row is null where it was deleted or changed with SQL since. */
type Listed = readonly (SealedRow | null)[]

/** The rows that a shop's or person's list names; `broken` where somebody else wrote the list. */
async function loadListed(
  db: Queryable,
  seals: AccessSeals,
  { kind, ownerId }: { kind: AccessKind; ownerId: string },
): Promise<Listed | 'broken'> {
  const set = await loadAccessSet(db, kind, ownerId)
  if (set === null) return []
  if (!seals.isSetSealed(set)) return 'broken'
  const listed: (SealedRow | null)[] = []
  for (const entry of set.entries) {
    const [id = ''] = entry.split(' ')
    const row = await loadSealedRow(db, kind, id)
    const isWhole = row !== null && entry === `${id} ${String(row.seal)}` && seals.accepts(kind, row)
    listed.push(isWhole ? row : null)
  }
  return listed
}

/**
 * How many owners and admins a shop has, at most: a member whose row was deleted or changed with SQL may have been
 * one, and behind a list that somebody else wrote there may be any number.
 */
export async function countManagers(db: Queryable, seals: AccessSeals, merchantId: string): Promise<number> {
  const listed = await loadListed(db, seals, { kind: 'member', ownerId: merchantId })
  if (listed === 'broken') return Number.POSITIVE_INFINITY
  return listed.filter((row) => row === null || row.role === 'owner' || row.role === 'admin').length
}

/** Whether a person has a second factor, or had one until it was deleted or changed with SQL. */
export async function hasSecondFactor(db: Queryable, seals: AccessSeals, personId: string): Promise<boolean> {
  const passkeys = await loadListed(db, seals, { kind: 'passkey', ownerId: personId })
  if (passkeys === 'broken' || passkeys.length > 0) return true
  const authenticators = await loadListed(db, seals, { kind: 'twoFactor', ownerId: personId })
  return authenticators === 'broken' || authenticators.some((row) => row === null || row.verified !== false)
}

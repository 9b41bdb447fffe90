import type { AccessSeals } from '../core/people/access-seals.ts'
import type { AccessKind } from '../core/people/sealed-rows.ts'
import { loadSealedRow } from '../db/people/access-rows.ts'
import {
  deletePasskeysOf,
  deleteSessionsOf,
  deleteTwoFactorsOf,
  saveWithoutTwoFactor,
} from '../db/people/people.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withSystemTransaction } from '../postgres/transaction.ts'
import { recordAccess } from './steps/record-access.ts'

type Deps = { readonly pool: Pool; readonly seals: AccessSeals }

/**
 * Ends every second factor of a person whose address is not confirmed: whoever signed up with it may not be the one who
 * reads its mail. `sessions`: their sign-ins too, with the factors, so that none of them makes another in between.
 */
export const endUnconfirmedFactors = (
  { pool, seals }: Deps,
  personId: string,
  { sessions }: { readonly sessions: boolean },
): Promise<void> =>
  withSystemTransaction(pool, async (tx) => {
    const person = await loadSealedRow(tx, 'user', personId)
    if (person === null || person.emailVerified === true) return
    if (sessions) await deleteSessionsOf(tx, personId)
    if (person.twoFactorEnabled === true && seals.accepts('user', person)) {
      const seal = seals.seal('user', { ...person, twoFactorEnabled: false })
      await saveWithoutTwoFactor(tx, { personId, seal, sealBefore: String(person.seal) })
    }
    await recordDeleted(
      tx,
      seals,
      { kind: 'passkey', ownerId: personId },
      await deletePasskeysOf(tx, personId),
    )
    await recordDeleted(
      tx,
      seals,
      { kind: 'twoFactor', ownerId: personId },
      await deleteTwoFactorsOf(tx, personId),
    )
  })

async function recordDeleted(
  tx: Tx,
  seals: AccessSeals,
  of: { readonly kind: AccessKind; readonly ownerId: string },
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) await recordAccess(tx, seals, { ...of, id })
}

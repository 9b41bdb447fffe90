import type { AccessSeals } from '../../src/core/people/access-seals.ts'
import { writeSeal } from '../../src/db/people/access-rows.ts'
import { acceptAccess, sealedRows } from '../../src/flows/seal-access.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { openAccessSeals } from '../../src/secrets/access-seals.ts'
import type { Keyring } from '../../src/secrets/keyring.ts'

/** The seals of a key, which log nothing. */
export const quietSeals = (keyring: Keyring): AccessSeals => openAccessSeals(keyring, { error: () => {} })

/** Runs a statement of a test's own, whose rows then count as if Paylink had written them. */
export type WriteSealed = ReturnType<typeof sealedWriter>

export const sealedWriter = (owner: Pool, seals: AccessSeals) => {
  return async (sql: string, values: unknown[] = []) => {
    const result = await owner.query(sql, values)
    await acceptAccess({ pool: owner, clock: () => new Date(), seals })
    await withSystemTransaction(owner, async (tx) => {
      for (const model of ['session', 'verification'] as const) {
        for await (const row of sealedRows(tx, model)) {
          if (!seals.isSealed(model, row)) await writeSeal(tx, model, row.id, seals.seal(model, row))
        }
      }
    })
    return result
  }
}

import type { AccessSeals } from '../../src/core/people/access-seals.ts'
import { writeSeal } from '../../src/db/people/access-rows.ts'
import { acceptRows, sealedRows } from '../../src/flows/seal-access.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { openAccessSeals } from '../../src/secrets/access-seals.ts'
import type { Keyring } from '../../src/secrets/keyring.ts'

/** The seals of a key, which log nothing. */
export const quietSeals = (keyring: Keyring): AccessSeals => openAccessSeals(keyring, { error: () => {} })

/** What ends by itself, beside which all other sealed rows last. */
const ENDING_ROWS = ['session', 'verification'] as const

/**
 * Runs a statement of a test's own, whose rows then count as if Paylink had written them; at once, so that a running
 * program meets none of them without its seal. Of one that writes only sessions no other row is read.
 */
export type WriteSealed = ReturnType<typeof sealedWriter>

export const sealedWriter = (owner: Pool, seals: AccessSeals) => {
  return (sql: string, values: unknown[] = [], { writesOnlySessions = false } = {}) =>
    withSystemTransaction(owner, async (tx) => {
      const result = await tx.query(sql, values)
      if (!writesOnlySessions) await acceptRows(tx, { clock: () => new Date(), seals })
      for (const model of writesOnlySessions ? (['session'] as const) : ENDING_ROWS) {
        for await (const row of sealedRows(tx, model)) {
          if (!seals.isSealed(model, row)) await writeSeal(tx, model, row.id, seals.seal(model, row))
        }
      }
      return result
    })
}

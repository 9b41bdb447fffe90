import { readAuditChain } from '../db/people/audit-log.ts'
import { hashOf } from '../flows/append-audit-entry.ts'
import type { Queryable } from '../postgres/pool.ts'

const PAGE = 1_000

/**
 * Reads a merchant's whole audit log and takes every hash anew. `at` is the first number that is missing or whose
 * entry is not the one that was written. Entries cut off at the end cannot be told from entries never written:
 * keep the last hash elsewhere to prove those too.
 */
export async function verifyAuditLog(
  db: Queryable,
  merchantId: string,
): Promise<{ kind: 'whole'; entries: number } | { kind: 'broken'; at: number }> {
  let previous: Buffer | null = null
  let number = 0
  for (;;) {
    const page = await readAuditChain(db, { merchantId, afterNumber: number, limit: PAGE })
    for (const entry of page) {
      const { hash, ...fields } = entry
      if (entry.number !== number + 1 || !hash.equals(hashOf(previous, fields))) {
        return { kind: 'broken', at: number + 1 }
      }
      previous = hash
      number = entry.number
    }
    if (page.length < PAGE) return { kind: 'whole', entries: number }
  }
}

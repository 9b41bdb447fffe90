import { createHash } from 'node:crypto'
import { type AuditEntry, auditText } from '../core/people/audit-entry.ts'
import { insertAuditEntry, lockAuditChain } from '../db/people/audit-log.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'

/** What is recorded of an act; number, id, time and hash are the chain's. */
type AuditedAct = Pick<AuditEntry, 'actor' | 'action' | 'resourceId' | 'phase' | 'code' | 'requestId'>

/** Adds an entry to the merchant's chain, after whatever stands at its end. */
export async function appendAuditEntry(
  deps: { pool: Pool; clock: Clock },
  tenant: Tenant,
  act: AuditedAct,
): Promise<void> {
  await withTransaction(deps.pool, tenant, async (tx) => {
    const last = await lockAuditChain(tx, tenant.merchantId)
    const now = deps.clock()
    const entry: AuditEntry = {
      ...tenant,
      ...act,
      id: newId('auditEntry', now),
      number: (last?.number ?? 0) + 1,
      createdAtMs: now.getTime(),
    }
    await insertAuditEntry(tx, { ...entry, hash: hashOf(last?.hash ?? null, entry) })
  })
}

/** SHA-256 of an entry after the one before it. */
export function hashOf(previous: Uint8Array | null, entry: AuditEntry): Buffer {
  const text = auditText(previous === null ? '' : Buffer.from(previous).toString('hex'), entry)
  return createHash('sha256').update(text).digest()
}

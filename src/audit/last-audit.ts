import { type AuditRun, listLastAuditRuns } from '../db/ledger/audit-runs.ts'
import type { Queryable } from '../postgres/pool.ts'
import { isAuditSealed } from '../secrets/audit-seal.ts'

/**
 * The last audit that came to its end; null where there was none. `publicKey`: of the key that seals audits. What it did not seal
 * counts for nothing and is given to `onUnsealed`, the newest one; null believes every row.
 */
export async function loadLastAudit(
  db: Queryable,
  publicKey: Uint8Array | null,
  onUnsealed: (run: AuditRun) => void = () => {},
): Promise<AuditRun | null> {
  const runs = await listLastAuditRuns(db)
  const isOurs = ({ run, seal }: (typeof runs)[number]): boolean =>
    publicKey === null || (seal !== null && isAuditSealed(publicKey, run, seal))
  const last = runs.find(isOurs)
  const [newest] = runs
  if (newest !== undefined && newest !== last) onUnsealed(newest.run)
  return last?.run ?? null
}

import { cancelStatement } from '../db/ledger/audit.ts'
import { beginAuditRun, beginOwnAuditRun, finishAuditRun } from '../db/ledger/audit-runs.ts'
import type { ChainNode } from '../nodes/chain-nodes.ts'
import type { Pool } from '../postgres/pool.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import { type Clock, isDue } from '../runtime/clock.ts'
import { repeat } from '../runtime/repeat.ts'
import { sealAudit } from '../secrets/audit-seal.ts'
import type { SigningKey } from '../secrets/signing-key.ts'
import { type CheckResult, runAudit } from './run-audit.ts'
import { summarise } from './summarise.ts'

/** How often the service audits itself, whichever of its processes does. */
const EVERY_MINUTES = 360
/** How long a process believes what others wrote of audits: then it audits for itself. */
const BELIEVED_MS = 86_400_000
/** How often it looks whether it is time, and how long after the start first. */
const LOOK_INTERVAL_MS = 60_000

type KeptAuditDeps = {
  readonly pool: Pool
  /** Reads what is stored, in place of the primary; absent or null where there is none. */
  readonly standby?: Pool | null
  readonly nodes: readonly ChainNode[]
  readonly addressKeysFile: string | null
  /** What seals how an audit ended; null where the process was given none. */
  readonly sealKey: SigningKey | null
  readonly clock: Clock
  readonly log: {
    error(fields: object, message: string): void
    warn(fields: object, message: string): void
    info(fields: object, message: string): void
  }
}

/** The service stops, and the audit with it. */
class AuditEnded extends Error {
  override name = 'AuditEnded'
}

/** Audits when due, and stores and reports the result; null when not due, or when another process audits. */
export async function auditWhenDue(
  deps: KeptAuditDeps,
  everyMinutes = EVERY_MINUTES,
  stop: AbortSignal = new AbortController().signal,
): Promise<readonly CheckResult[] | null> {
  const { pool, clock } = deps
  const startedAt = clock()
  const due = { everyMinutes, sealed: deps.sealKey !== null }
  if (!(await withSystemTransaction(pool, (tx) => beginAuditRun(tx, startedAt, due)))) return null
  return auditFrom(startedAt, deps, stop)
}

/**
 * Looks whether it is time. A row says that another process has audited, and whoever has the watcher's login can write one:
 * a process that has not audited for a day does so whatever the rows say.
 */
export function createAuditor(
  deps: KeptAuditDeps,
): (stop?: AbortSignal) => Promise<readonly CheckResult[] | null> {
  const { pool, clock } = deps
  let auditedAt = clock()
  return async (stop = new AbortController().signal) => {
    const now = clock()
    if (!isDue(auditedAt.getTime(), BELIEVED_MS, now.getTime())) {
      const results = await auditWhenDue(deps, EVERY_MINUTES, stop)
      if (results !== null) auditedAt = now
      return results
    }
    auditedAt = now
    await beginOwnAuditRun(pool, now)
    return auditFrom(now, deps, stop)
  }
}

async function auditFrom(
  startedAt: Date,
  deps: KeptAuditDeps,
  stop: AbortSignal,
): Promise<readonly CheckResult[]> {
  const { pool, clock, log, sealKey } = deps
  const { results, standbyAt } = await auditUntil(deps, stop)
  const run = summarise(results)
  for (const { name, rule, findings } of results) {
    if (findings.length === 0) continue
    log.error(
      { check: name, findings: findings.slice(0, FINDINGS_LOGGED) },
      `the audit found that not ${rule}`,
    )
  }
  const { checks, discrepancies, notChecked } = run
  log.info({ checks, discrepancies, notChecked, standbyAt }, 'the books were audited')
  const finishedAt = clock()
  const seal = sealKey === null ? null : sealAudit(sealKey, { startedAt, finishedAt, ...run })
  await finishAuditRun(pool, startedAt, finishedAt, run, seal)
  return results
}

/** Ends within a moment of the stop: the statement that the database works at is cancelled, and nodes are hung up on. */
async function auditUntil(
  { pool, standby = null, nodes, log, addressKeysFile }: KeptAuditDeps,
  stop: AbortSignal,
): Promise<{ results: readonly CheckResult[]; standbyAt: string | null }> {
  let backend: { pid: number; pool: Pool } | null = null
  let standbyAt: string | null = null
  const cancel = (): void => {
    if (backend === null) return
    cancelStatement(backend.pool, backend.pid).catch((error: unknown) =>
      log.warn({ err: error }, 'the audit could not be ended at once'),
    )
  }
  const requireService = (): void => {
    if (stop.aborted) throw new AuditEnded('the service stops')
  }
  stop.addEventListener('abort', cancel)
  try {
    const results = await runAudit(pool, nodes, {
      onProgress: requireService,
      onBackend: (working) => {
        backend = working
      },
      standby,
      onRead: (from) => {
        standbyAt = from.standbyAt
        if (from.passedOver !== null)
          log.warn({ err: from.passedOver }, 'the standby was not audited; the primary is')
      },
      stop,
      addressKeysFile,
    })
    return { results, standbyAt }
  } finally {
    stop.removeEventListener('abort', cancel)
  }
}

/** What is logged of one check; `paylink audit` lists more. */
const FINDINGS_LOGGED = 5

/** Does so until it is stopped. */
export const keepAuditing = (deps: KeptAuditDeps): { stop(): Promise<void> } =>
  repeat(createAuditor(deps), {
    everyMs: LOOK_INTERVAL_MS,
    firstMs: LOOK_INTERVAL_MS,
    onError: (error) => deps.log.warn({ err: error }, 'the audit could not be run; it is tried again'),
  })

import { auditParts, type CheckResult, runAudit } from '../audit/run-audit.ts'
import { summarise } from '../audit/summarise.ts'
import { verifyAuditLog } from '../audit/verify-audit-log.ts'
import type { Config } from '../config/config.ts'
import { finishAuditRun } from '../db/ledger/audit-runs.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { configuredNodes } from '../nodes/chain-nodes.ts'
import { openSandboxNodes } from '../nodes/open-sandbox-nodes.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import type { ReadFrom } from '../postgres/standby.ts'
import { systemClock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { sealAudit } from '../secrets/audit-seal.ts'
import { findOutcomeKey } from '../secrets/outcome-key.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { openSealsForAudit } from './open-seals.ts'
import { createProgress, type ProgressStream } from './progress-bar.ts'
import { standbyUrlFor } from './role-pools.ts'
import { UsageError } from './usage-error.ts'

/** `paylink audit`: exit code 1 and a list where anything disagrees. */
export async function auditCommand(
  options: { json: boolean },
  output: Output,
  stream: ProgressStream = process.stderr,
  given?: Config,
): Promise<number> {
  const reads: ReadFrom[] = []
  const results = await withOwnerPool(
    async (pool, config, ownerUrl) => {
      const log = createLogger('error', 'stderr')
      const seals = await openSealsForAudit(config, pool)
      const sandboxes = await openSandboxNodes(config, { clock: systemClock, log })
      const nodes = [...configuredNodes(config), ...sandboxes]
      const standby = openStandbyOf(config, ownerUrl)
      const progress = createProgress(stream, auditParts(nodes))
      try {
        const startedAt = systemClock()
        const found = await runAudit(pool, nodes, {
          onProgress: (done, _total, note) => progress.update(done, note),
          addressKeysFile: config.addressKeysFile,
          standby,
          onRead: (from) => reads.push(from),
          ...(seals === null ? {} : { seals }),
        })
        // The public page and the metrics show this run, too.
        const [finishedAt, run, key] = [systemClock(), summarise(found), await findOutcomeKey(config)]
        const seal = key === null ? null : sealAudit(key, { startedAt, finishedAt, ...run })
        await finishAuditRun(pool, startedAt, finishedAt, run, seal)
        return found
      } finally {
        progress.end()
        await standby?.end()
        for (const { sandbox } of sandboxes) await sandbox?.stop()
      }
    },
    given === undefined ? {} : { config: given },
  )
  const agrees = results.every(({ findings }) => findings.length === 0)
  const { standbyAt = null, passedOver = null } = reads.at(-1) ?? {}
  if (passedOver !== null) output.problem(`the standby was not read, the primary was: ${passedOver.message}`)
  if (options.json)
    output.line(JSON.stringify({ ok: agrees, standby_at: standbyAt, checks: results.map(toJson) }))
  else {
    print(results, output)
    if (standbyAt !== null)
      output.line(`Read on the standby, with all that the primary had written up to ${standbyAt}.`)
  }
  return agrees ? 0 : 1
}

/** Connections to the standby as the owner, who audits; null where none is configured. */
function openStandbyOf({ standbyDatabaseUrl }: Config, ownerUrl: string): Pool | null {
  if (standbyDatabaseUrl === null) return null
  return openPool({
    connectionString: standbyUrlFor(standbyDatabaseUrl, ownerUrl),
    applicationName: 'paylink-command',
    max: 1,
    onError: () => {},
  })
}

function toJson({ name, rule, findings, notChecked }: CheckResult): object {
  return {
    name,
    rule,
    status: findings.length > 0 ? 'failed' : notChecked !== null ? 'not_checked' : 'ok',
    reason: notChecked,
    findings: findings.map(({ merchantId, subject, detail }) => ({
      merchant_id: merchantId,
      subject,
      detail,
    })),
  }
}

function print(results: readonly CheckResult[], output: Output): void {
  for (const { rule, findings, notChecked } of results) {
    const mark = findings.length > 0 ? '✗' : notChecked !== null ? '?' : '✓'
    output.line(`${mark} ${rule}${notChecked === null ? '' : `: not checked, ${notChecked}`}`)
    for (const { merchantId, subject, detail } of findings) {
      output.line(`    ${merchantId === null ? '' : `${merchantId} `}${subject} ${detail}`)
    }
  }
  const failed = results.filter(({ findings }) => findings.length > 0).length
  output.line(
    failed === 0 ? 'Everything that was checked agrees.' : `${failed} of ${results.length} checks failed.`,
  )
}

/** `paylink audit-log verify`: proves that no entry of a merchant's audit log was changed, taken out or put in. */
export async function verifyAuditLogCommand(
  options: { merchant: string; json: boolean },
  output: Output,
): Promise<number> {
  const { merchant: merchantId, json } = options
  const result = await withOwnerPool(async (pool) =>
    (await merchantExists(pool, merchantId)) ? await verifyAuditLog(pool, merchantId) : null,
  )
  if (result === null)
    throw new UsageError(`No such merchant: ${merchantId}. Its id is in the dashboard under Settings.`)
  if (json) output.line(JSON.stringify({ merchant_id: merchantId, ...result }))
  else if (result.kind === 'whole') output.line(`The audit log is whole: ${result.entries} entries.`)
  else
    output.line(
      `The audit log was tampered with: entry ${result.at} is missing or is not the one that was written.`,
    )
  return result.kind === 'whole' ? 0 : EXIT_FAILED
}

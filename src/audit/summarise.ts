import type { AuditRunReport } from '../db/ledger/audit-runs.ts'
import type { CheckResult } from './run-audit.ts'

/** An audit in numbers, with whose the findings are left out: what is kept of it and shown to everybody. */
export function summarise(results: readonly CheckResult[]): AuditRunReport {
  return {
    checks: results.length,
    notChecked: results.filter(({ notChecked }) => notChecked !== null).length,
    discrepancies: results.reduce((sum, { findings }) => sum + findings.length, 0),
    report: results.map(({ name, findings, notChecked }) => ({
      name,
      findings: findings.length,
      reason: notChecked,
    })),
  }
}

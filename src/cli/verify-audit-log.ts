import { verifyAuditLog } from '../audit/verify-audit-log.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { UsageError } from './usage-error.ts'

/** `paylink audit-log verify`: proves that no entry of a merchant's audit log was changed, taken out or put in. */
export async function verifyAuditLogCommand(
  options: { merchant: string; json: boolean },
  output: Output,
): Promise<number> {
  const { merchant: merchantId, json } = options
  const result = await withOwnerPool(async (pool) =>
    (await merchantExists(pool, merchantId)) ? await verifyAuditLog(pool, merchantId) : null,
  )
  if (result === null) throw new UsageError(`--merchant ${merchantId} is not known`)
  if (json) output.line(JSON.stringify({ merchant_id: merchantId, ...result }))
  else if (result.kind === 'whole') output.line(`The audit log is whole: ${result.entries} entries.`)
  else
    output.line(
      `The audit log was tampered with: entry ${result.at} is missing or is not the one that was written.`,
    )
  return result.kind === 'whole' ? 0 : EXIT_FAILED
}

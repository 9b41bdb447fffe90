import { auditAccess } from '../audit/audit-access.ts'
import type { Finding } from '../db/ledger/audit.ts'
import { acceptAccess } from '../flows/seal-access.ts'
import { withOneMoment } from '../postgres/transaction.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { openCommandSeals } from './open-seals.ts'

const SHOWN_MAX = 1_000
const MINUTES_MAX = 10

/** `paylink access check`: who may do what that Paylink did not write; exit code 1 where there is any. */
export async function accessCheckCommand(options: { json: boolean }, output: Output): Promise<number> {
  const findings = await withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    return withOneMoment(pool, MINUTES_MAX, (tx) => auditAccess(tx, seals, SHOWN_MAX))
  })
  if (options.json) output.line(JSON.stringify({ ok: findings.length === 0, findings: findings.map(toJson) }))
  else print(findings, output)
  return findings.length === 0 ? 0 : EXIT_FAILED
}

/** `paylink access accept`: seals whatever people, members and keys the database holds now. */
export async function accessAcceptCommand(output: Output): Promise<number> {
  const rows = await withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    return acceptAccess({ pool, clock: systemClock, seals })
  })
  output.line(`Sealed ${rows} rows. All members, keys and people in the database count from now on.`)
  return 0
}

const toJson = ({ merchantId, subject, detail }: Finding): object => ({
  merchant_id: merchantId,
  subject,
  detail,
})

function print(findings: readonly Finding[], output: Output): void {
  for (const { merchantId, subject, detail } of findings) {
    output.line(`${merchantId === null ? '' : `${merchantId} `}${subject} ${detail}`)
  }
  output.line(
    findings.length === 0
      ? 'Paylink wrote every person, member and key.'
      : 'If all of these are as they should be, paylink access accept makes them count.',
  )
}

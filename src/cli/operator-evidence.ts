import type { Config } from '../config/config.ts'
import { approvalText } from '../core/payout/approval-text.ts'
import { findFeePayoutTenant } from '../payouts/store/fees.ts'
import { loadPayout } from '../payouts/store/payouts.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import { systemClock } from '../runtime/clock.ts'
import {
  type ApprovalEvidence,
  type ApprovedPayout,
  BATCH_MAX,
  batchDigest,
  sealApprovalCode,
} from '../secrets/approval-evidence.ts'
import { approvalDigest } from '../secrets/approval-key.ts'
import { totpStepAt } from '../secrets/totp.ts'
import { requireSealKey } from './operator-commands.ts'
import { UsageError } from './usage-error.ts'

/** An operator's code, sealed to the signer for the live ones of these payouts and no others; null where none is live. */
export async function operatorEvidence(
  pool: Pool,
  { addressKeysFile }: Config,
  ids: readonly string[],
  code: string | undefined,
): Promise<ApprovalEvidence | null> {
  const batch: ApprovedPayout[] = []
  for (const id of new Set(ids)) {
    const tenant = await findFeePayoutTenant(pool, id)
    if (tenant?.livemode !== true) continue
    const stored = await withTransaction(pool, tenant, (tx) => loadPayout(tx, tenant, id, { source: 'fees' }))
    if (stored !== null) batch.push([id, approvalDigest(approvalText(stored.payout)).toString('hex')])
  }
  if (batch.length === 0) return null
  if (batch.length > BATCH_MAX)
    throw new UsageError(`One code approves at most ${BATCH_MAX} payouts: give fewer ids.`)
  if (code === undefined || !/^\d{6}$/.test(code))
    throw new UsageError(
      'To approve live payouts, give --code with the 6-digit code of your authenticator app. Set one up with paylink operator authenticator.',
    )
  const signerKey = await requireSealKey(addressKeysFile)
  const sealed = sealApprovalCode(signerKey, batchDigest(batch), {
    code,
    step: totpStepAt(systemClock().getTime()),
  })
  return { ...sealed, batch }
}

import { ChainUnavailable } from '../../chain/adapter.ts'
import { tenantOf } from '../../core/tenant.ts'
import { wouldCount } from '../../core/x402/judge-authorization.ts'
import { loadInvoice } from '../../db/invoices/invoices.ts'
import { refuseUnsignedX402, type X402Authorization } from '../../db/invoices/x402-authorizations.ts'
import { isConstraintViolation } from '../../postgres/constraint-violation.ts'
import { isDatabaseAway } from '../../postgres/database-away.ts'
import type { Pool } from '../../postgres/pool.ts'
import { withTransaction } from '../../postgres/transaction.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { DeduplicatedLog } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'
import { unlessRefused } from './unless-refused.ts'

type Parts = { readonly pool: Pool; readonly clock: Clock }

/** Whether it still pays its invoice, which may have been paid otherwise, or be over, since it was accepted. */
export async function wouldPay({ pool, clock }: Parts, authorization: X402Authorization): Promise<boolean> {
  const tenant = tenantOf(authorization)
  const stored = await withTransaction(pool, tenant, (tx) => loadInvoice(tx, tenant, authorization.invoiceId))
  return stored !== null && wouldCount(stored.invoice, authorization.value, clock().getTime())
}

/** Refuses it for good. Where the signer was faster after all, it stays as it is, and is sent. */
export async function refuseUnsigned(
  { pool, clock }: Parts,
  authorization: X402Authorization,
  reason: string,
): Promise<void> {
  await withTransaction(pool, tenantOf(authorization), (tx) =>
    refuseUnsignedX402(tx, authorization, { reason, now: clock() }),
  )
}

/** One whose rows contradict each other or are of no payment, or about which the node refuses a question, must not hold up the others. */
export async function followAlone(
  parts: { readonly log: Log; readonly providers: { readonly isLast: boolean } },
  { id }: X402Authorization,
  { alerts, work }: { readonly alerts: DeduplicatedLog; readonly work: () => Promise<void> },
): Promise<void> {
  try {
    await unlessRefused(parts, { about: id, alerts }, work)
  } catch (error) {
    if (!(error instanceof Error) || error instanceof ChainUnavailable || isDatabaseAway(error)) throw error
    const message = isConstraintViolation(error)
      ? 'an x402 authorization contradicts another'
      : 'an x402 authorization cannot be followed'
    if (alerts.isNew(id, message)) parts.log.error({ err: error, authorizationId: id }, message)
  }
}

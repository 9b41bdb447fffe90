import { approvalText } from '../core/payout/approval-text.ts'
import { advancePayout, type Payout, type PayoutSource } from '../core/payout/payout.ts'
import { LIMIT_WINDOW_MS } from '../core/payout/payout-limits.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { loadPaymentRules } from '../db/invoices/payment-rules.ts'
import { lockLedger } from '../db/ledger/ledger.ts'
import { countOperators } from '../db/people/operators.ts'
import { countManagers } from '../flows/steps/listed-access.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ApprovalEvidence } from '../secrets/approval-evidence.ts'
import { approvalDigest, openApprovalKey } from '../secrets/approval-key.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { commitPayoutAdvance } from './record-payout.ts'
import { publishApprovalKey } from './store/approval-keys.ts'
import { loadFeeDestination } from './store/fee-destinations.ts'
import { loadPayoutDestination } from './store/payout-destinations.ts'
import { findKeyCreator, insertPayoutApproval, loadPayout, sumApprovedSince } from './store/payouts.ts'

export type PayoutDecided =
  | { readonly kind: 'decided'; readonly payout: Payout; readonly deliveries: number }
  | { readonly kind: 'not_found' }
  /** Somebody decided already. */
  | { readonly kind: 'not_open' }
  | { readonly kind: 'own_request' }
  | { readonly kind: 'destination_removed' }
  /** More would be approved in a day than the merchant's limit. */
  | { readonly kind: 'over_limit' }

type Decision = {
  readonly tenant: Tenant
  /** Whose payouts are decided on: one of the other source is not found. */
  readonly source: PayoutSource
  readonly payoutId: string
  readonly decision: 'approve' | 'reject'
  /** API key or person; of fees an operator. */
  readonly by: string
  /** By what a person approves a live payout. */
  readonly evidence?: ApprovalEvidence
  readonly requestId: string
}

/**
 * Approves or rejects a payout, as the merchant or, for fees, as the operator. An approval is stored with the digest
 * of exactly what was approved, signed with the API's own key; the person who asked for the payout cannot approve it
 * if another owner, admin or operator could.
 */
export function decidePayout(
  deps: { pool: Pool; clock: Clock; keyring: Keyring; seals: AccessSeals },
  decision: Decision,
): Promise<PayoutDecided> {
  const { tenant, source, payoutId, by, requestId } = decision
  return withTransaction(deps.pool, tenant, async (tx): Promise<PayoutDecided> => {
    const before = await loadPayout(tx, tenant, payoutId, { source, forUpdate: true })
    if (before === null) return { kind: 'not_found' }
    const now = deps.clock()
    const advance = advancePayout(before.payout, { kind: decision.decision, by, nowMs: now.getTime() })
    if (advance.kind === 'refused') return { kind: 'not_open' }
    if (decision.decision === 'approve') {
      const refused = await refuseApproval(tx, deps.seals, before.payout, { by, now })
      if (refused !== null) return refused
      const { evidence = null } = decision
      await storeApproval(tx, before.payout, { by, now, keyring: deps.keyring, evidence })
    }
    const { deliveries } = await commitPayoutAdvance(tx, before, advance, { now, requestId, by: 'merchant' })
    return { kind: 'decided', payout: advance.next, deliveries }
  })
}

async function refuseApproval(
  tx: Tx,
  seals: AccessSeals,
  payout: Payout,
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<{ readonly kind: 'own_request' | 'destination_removed' | 'over_limit' } | null> {
  const tenant = { merchantId: payout.merchantId, livemode: payout.livemode }
  const isOfFees = payout.source === 'fees'
  // A request by an API key counts as made by the person who created the key.
  const isOwn =
    payout.requestedBy === by || (!isOfFees && (await findKeyCreator(tx, tenant, payout.requestedBy)) === by)
  const countOthers = () => (isOfFees ? countOperators(tx) : countManagers(tx, seals, tenant.merchantId))
  if (isOwn && (await countOthers()) > 1) return { kind: 'own_request' }
  const destination = isOfFees
    ? await loadFeeDestination(tx, tenant.livemode, payout.destinationId, { share: true })
    : await loadPayoutDestination(tx, tenant, payout.destinationId, { share: true })
  // A destination's address and asset never change; once off the list it is not paid to any more.
  const isListed = destination?.address === payout.destination && destination.asset === payout.asset
  if (!isListed) return { kind: 'destination_removed' }
  return isOfFees || (await isWithinLimit(tx, payout, now)) ? null : { kind: 'over_limit' }
}

/**
 * Requests from many days may be approved on one. Holds the merchant's ledger lock, so that concurrent approvals see
 * each other.
 */
async function isWithinLimit(tx: Tx, { asset, amount, ...payout }: Payout, now: Date): Promise<boolean> {
  const tenant = { merchantId: payout.merchantId, livemode: payout.livemode }
  await lockLedger(tx, tenant)
  const limit = (await loadPaymentRules(tx, tenant)).payoutDailyLimits[asset]
  if (limit === undefined) return true
  const since = new Date(now.getTime() - LIMIT_WINDOW_MS)
  return amount + (await sumApprovedSince(tx, tenant, asset, since)) <= limit
}

async function storeApproval(
  tx: Tx,
  payout: Payout,
  approval: {
    readonly by: string
    readonly now: Date
    readonly keyring: Keyring
    readonly evidence: ApprovalEvidence | null
  },
): Promise<void> {
  const key = openApprovalKey(approval.keyring)
  const digest = approvalDigest(approvalText(payout))
  const tenant = { merchantId: payout.merchantId, livemode: payout.livemode }
  await publishApprovalKey(tx, key.publicKey, approval.now)
  await insertPayoutApproval(tx, tenant, {
    payoutId: payout.id,
    approver: approval.by,
    digest,
    signature: key.sign(digest),
    now: approval.now,
    evidence: approval.evidence,
  })
}

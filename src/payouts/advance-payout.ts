import type { Outpoint } from '../core/chain/outpoint.ts'
import { eventBody } from '../core/event/envelope.ts'
import {
  type PayoutTransfer,
  payoutTransfers,
  RESERVE_ACCOUNTS,
  reserveTransferId,
} from '../core/ledger/payout.ts'
import { approvalText } from '../core/payout/approval-text.ts'
import {
  advancePayout,
  type Payout,
  type PayoutAdvance,
  PayoutContradicted,
  type PayoutInput,
  type PayoutSource,
  type PayoutTransaction,
  requestEffects,
} from '../core/payout/payout.ts'
import { LIMIT_WINDOW_MS } from '../core/payout/payout-limits.ts'
import { renderPayout } from '../core/payout/render.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { tenantOf } from '../core/tenant.ts'
import { insertEvent } from '../db/delivery/events.ts'
import { loadPaymentRules } from '../db/invoices/payment-rules.ts'
import { loadLedgerCredit, lockLedger } from '../db/ledger/ledger.ts'
import { countOperators } from '../db/people/operators.ts'
import { countManagers } from '../flows/steps/listed-access.ts'
import { postCoveredTransfer, postTransfers } from '../flows/steps/post-transfers.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { ApprovalEvidence } from '../secrets/approval-evidence.ts'
import { approvalDigest, openApprovalKey } from '../secrets/approval-key.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { publishApprovalKey } from './store/approval-keys.ts'
import { loadFeeDestination } from './store/fee-destinations.ts'
import { loadPayoutDestination } from './store/payout-destinations.ts'
import { sumApprovedSince } from './store/payout-sums.ts'
import { releasePayoutInputs } from './store/payout-transactions.ts'
import {
  findKeyCreator,
  insertPayout,
  insertPayoutApproval,
  loadPayout,
  type StoredPayout,
  updateDecidedPayout,
  updateTrackedPayout,
} from './store/payouts.ts'

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
 * of exactly what was approved, signed with the API's own key; the person who requested the payout cannot approve it
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
  const tenant = tenantOf(payout)
  const isOfFees = payout.source === 'fees'
  // A request by an API key counts as one by the person who created the key.
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
async function isWithinLimit(tx: Tx, payout: Payout, now: Date): Promise<boolean> {
  const { asset, amount } = payout
  const tenant = tenantOf(payout)
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
  const tenant = tenantOf(payout)
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

/** The outcome of a payout's transactions. Facts are absolute: reported twice, they change nothing. */
export type PayoutFact =
  /** A node has accepted it. */
  | { readonly kind: 'sent'; readonly transaction: PayoutTransaction }
  /** It is in a block and final. */
  | { readonly kind: 'final'; readonly transaction: PayoutTransaction }
  /** It will never happen. Coins of `unspent` are free again. */
  | { readonly kind: 'dead'; readonly code: string; readonly unspent: readonly Outpoint[] }

/** Records what the chain, or the signer, did to a payout, with its ledger transfers and events. */
export function recordPayout(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: { readonly tenant: Tenant; readonly payoutId: string; readonly fact: PayoutFact },
): Promise<{ readonly changed: boolean; readonly deliveries: number }> {
  const { tenant, payoutId, fact } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const now = deps.clock()
    let changed = false
    let deliveries = 0
    for (const step of stepsOf(fact, now.getTime())) {
      const before = await loadPayout(tx, tenant, payoutId, { source: null, forUpdate: true })
      if (before === null) break
      const isKnown =
        step.kind === 'replace' &&
        before.payout.txid === step.transaction.txid &&
        before.payout.networkFee === step.transaction.networkFee
      const advance = advancePayout(before.payout, step)
      if (isKnown || advance.kind === 'refused') continue
      const written = await commitPayoutAdvance(tx, before, advance, { now, requestId: null, by: 'chain' })
      if (fact.kind === 'dead') await releasePayoutInputs(tx, tenant, payoutId, fact.unspent)
      changed = true
      deliveries += written.deliveries
    }
    return { changed, deliveries }
  })
}

/** Every milestone that was passed is announced, even if several were passed at once. */
function stepsOf(fact: PayoutFact, nowMs: number): readonly PayoutInput[] {
  switch (fact.kind) {
    case 'sent':
      return [
        { kind: 'submit', transaction: fact.transaction, nowMs },
        { kind: 'replace', transaction: fact.transaction, nowMs },
      ]
    case 'final':
      return [
        { kind: 'submit', transaction: fact.transaction, nowMs },
        { kind: 'confirm', transaction: fact.transaction, nowMs },
      ]
    case 'dead':
      return [{ kind: 'fail', code: fact.code, nowMs }]
  }
}

type Context = { readonly now: Date; readonly requestId: string | null }

/**
 * Reserves a new payout's amount and writes it with its event, in the caller's transaction. `not_covered`, with
 * nothing written, where the balance that it takes from is less than the amount.
 */
export async function commitNewPayout(
  tx: Tx,
  payout: Payout,
  context: Context,
): Promise<{ kind: 'written'; deliveries: number } | { kind: 'not_covered' }> {
  const tenant = tenantOf(payout)
  for (const transfer of payoutTransfers(payout, 'reserve', payout)) {
    const isCovered = await postCoveredTransfer(tx, tenant, ledgerTransfer(payout, transfer, context.now))
    if (!isCovered) return { kind: 'not_covered' }
  }
  const events = requestEffects(payout).flatMap((effect) => (effect.kind === 'event' ? effect.type : []))
  await insertPayout(tx, payout, events.length)
  let deliveries = 0
  for (const [at, type] of events.entries()) deliveries += await emit(tx, payout, type, at + 1, context)
  return { kind: 'written', deliveries }
}

/**
 * Writes an advanced payout with its ledger transfers and its event. The row was read with `forUpdate` in the same
 * transaction. `by` says which columns the caller's role may write: the merchant's decision, or what the chain did.
 */
export async function commitPayoutAdvance(
  tx: Tx,
  before: StoredPayout,
  advance: Extract<PayoutAdvance, { kind: 'advanced' }>,
  context: Context & { readonly by: 'merchant' | 'chain' },
): Promise<{ deliveries: number }> {
  const { next } = advance
  let { eventCount } = before
  let deliveries = 0
  for (const effect of advance.effects) {
    if (effect.kind === 'ledger') {
      await post(tx, next, effect.move, context.now)
      continue
    }
    eventCount += 1
    deliveries += await emit(tx, next, effect.type, eventCount, context)
  }
  const update = context.by === 'merchant' ? updateDecidedPayout : updateTrackedPayout
  if (!(await update(tx, before, next, eventCount))) {
    throw new Error(`payout ${next.id} was advanced without holding its row`)
  }
  return { deliveries }
}

/** What goes back or out is what the ledger says was reserved, whatever the payout's row says by now. */
async function post(tx: Tx, payout: Payout, move: 'reserve' | 'return' | 'settle', now: Date): Promise<void> {
  const tenant = tenantOf(payout)
  const reserved = await loadLedgerCredit(tx, tenant, reserveTransferId(payout.id))
  if (reserved === null) throw new PayoutContradicted(`nothing was set aside for payout ${payout.id}`)
  if (move === 'settle' && reserved.asset !== payout.asset)
    throw new PayoutContradicted(`payout ${payout.id} sends another asset than was set aside`)
  const source = reserved.account === RESERVE_ACCOUNTS.fees ? 'fees' : 'available'
  const posted = payoutTransfers(payout, move, { source, amount: reserved.amount }).map((transfer) => ({
    ...ledgerTransfer(payout, transfer, now),
    asset: reserved.asset,
  }))
  // What comes back pays first what is missing.
  await postTransfers(tx, tenant, posted)
}

const ledgerTransfer = (payout: Payout, transfer: PayoutTransfer, createdAt: Date) => ({
  ...transfer,
  invoiceId: null,
  paymentId: null,
  payoutId: payout.id,
  asset: payout.asset,
  usdCents: null,
  createdAt,
})

async function emit(
  tx: Tx,
  payout: Payout,
  type: string,
  sequence: number,
  { now, requestId }: Context,
): Promise<number> {
  const id = newId('event', now)
  const body = eventBody({
    id,
    type,
    merchantId: payout.merchantId,
    resourceId: payout.id,
    livemode: payout.livemode,
    createdAtMs: now.getTime(),
    sequence,
    requestId,
    data: renderPayout(payout),
  })
  const event = { id, type, resourceId: payout.id, sequence, body, requestId, createdAt: now }
  return (await insertEvent(tx, tenantOf(payout), event)).deliveries
}

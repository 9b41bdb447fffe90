import type { Outpoint } from '../core/chain/outpoint.ts'
import { eventBody } from '../core/event/envelope.ts'
import {
  type PayoutTransfer,
  payoutTransfers,
  RESERVE_ACCOUNTS,
  reserveTransferId,
} from '../core/ledger/payout.ts'
import {
  advancePayout,
  type Payout,
  type PayoutAdvance,
  PayoutContradicted,
  type PayoutInput,
  type PayoutTransaction,
  requestEffects,
} from '../core/payout/payout.ts'
import { renderPayout } from '../core/payout/render.ts'
import { tenantOf } from '../core/tenant.ts'
import { insertEvent } from '../db/delivery/events.ts'
import { loadLedgerCredit } from '../db/ledger/ledger.ts'
import { postCoveredTransfer, postTransfers } from '../flows/steps/post-transfers.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { releasePayoutInputs } from './store/payout-transactions.ts'
import {
  insertPayout,
  loadPayout,
  type StoredPayout,
  updateDecidedPayout,
  updateTrackedPayout,
} from './store/payouts.ts'

/** What became of a payout's transactions. Facts are absolute: reported twice, they change nothing. */
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
 * Sets a new payout's money aside and writes it with its event, in the caller's transaction. `not_covered`, with
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
 * transaction. `by` tells which columns the caller's role may write: the merchant's decision, or what the chain did.
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

/** What goes back or out is what the ledger says was set aside, whatever the payout's row says by now. */
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

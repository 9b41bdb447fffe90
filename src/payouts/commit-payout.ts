import { eventBody } from '../core/event/envelope.ts'
import {
  type PayoutTransfer,
  payoutTransfers,
  RESERVE_ACCOUNTS,
  reserveTransferId,
} from '../core/ledger/payout.ts'
import { type Payout, type PayoutAdvance, PayoutContradicted, requestEffects } from '../core/payout/payout.ts'
import { renderPayout } from '../core/payout/render.ts'
import { tenantOf } from '../core/tenant.ts'
import { insertEvent } from '../db/delivery/events.ts'
import { loadLedgerCredit } from '../db/ledger/ledger.ts'
import { postCoveredTransfer, postTransfers } from '../flows/steps/post-transfers.ts'
import type { Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { insertPayout, type StoredPayout, updateCarriedPayout, updateDecidedPayout } from './store/payouts.ts'

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
  const update = context.by === 'merchant' ? updateDecidedPayout : updateCarriedPayout
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

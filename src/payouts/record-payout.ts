import { advancePayout, type PayoutInput, type UtxoPayoutClient } from '../core/payout/payout.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { commitPayoutAdvance } from './commit-payout.ts'
import { type Outpoint, releasePayoutInputs } from './store/payout-transactions.ts'
import { loadPayout } from './store/payouts.ts'

/** What became of a payout's transactions. Facts are absolute: told twice, they change nothing. */
export type PayoutFact =
  /** A node has accepted it. */
  | { readonly kind: 'sent'; readonly carrier: UtxoPayoutClient }
  /** It is in a block and final. */
  | { readonly kind: 'final'; readonly carrier: UtxoPayoutClient }
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
        before.payout.txid === step.carrier.txid &&
        before.payout.networkFee === step.carrier.networkFee
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
        { kind: 'submit', carrier: fact.carrier, nowMs },
        { kind: 'replace', carrier: fact.carrier, nowMs },
      ]
    case 'final':
      return [
        { kind: 'submit', carrier: fact.carrier, nowMs },
        { kind: 'confirm', carrier: fact.carrier, nowMs },
      ]
    case 'dead':
      return [{ kind: 'fail', code: fact.code, nowMs }]
  }
}

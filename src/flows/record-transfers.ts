import type { Clock } from '../clock.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import type { EvmIdentities } from '../core/invoice/render.ts'
import type { TransferFact } from '../core/invoice/types.ts'
import { commitAdvance } from '../db/commit-advance.ts'
import type { Pool } from '../db/pool.ts'
import type { Shortfall } from '../db/post-transfers.ts'
import { loadInvoice } from '../db/queries/invoices.ts'
import { type Tenant, type Tx, withTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'

/**
 * Applies to an invoice where its transfers stand on chain. One transaction: transfers, invoice, ledger, events and
 * deliveries. Applying the same facts again changes nothing. What the chain took back is recorded even if it was
 * already paid out: `shortfalls` says how much, for an alarm.
 */
export async function recordTransfers(
  deps: {
    pool: Pool
    clock: Clock
    evmOf?: EvmIdentities | undefined
    /** Called first in the transaction; what it throws leaves everything as it was. */
    guard?: (tx: Tx) => Promise<void>
  },
  input: {
    tenant: Tenant
    invoiceId: string
    /** All of one network. */
    facts: readonly TransferFact[]
    /** Height of the last block these facts come from. */
    tipHeight: number
  },
): Promise<{ changed: boolean; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const { tenant, invoiceId, facts, tipHeight } = input
  const network = facts[0]?.network
  return withTransaction(deps.pool, tenant, async (tx) => {
    await deps.guard?.(tx)
    const before = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (before === null)
      throw new Error(`a transfer was matched to invoice ${invoiceId}, which does not exist`)
    const now = deps.clock()
    const advance = advanceInvoice(before.invoice, {
      kind: 'transfers',
      facts,
      newPaymentIds: facts.map(() => newId('payment', now)),
      nowMs: now.getTime(),
    })
    if (advance.kind === 'refused') throw new Error(`transfers were refused: ${advance.code}`)
    const ownHeight = (asked: string) => (asked === network ? tipHeight : null)
    const networkFacts = { tipHeightOf: ownHeight, evmOf: deps.evmOf }
    return commitAdvance(tx, tenant, before, advance, { now, networkFacts, requestId: null })
  })
}

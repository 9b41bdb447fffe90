import { isIdOf } from '../core/ids.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import { isOfSum, keyOfTransfer } from '../core/invoice/block-sums.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { Invoice, TransferFact } from '../core/invoice/types.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import { withBlockSums } from '../db/ledger/received.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { commitAdvance } from './steps/commit-advance.ts'
import type { Shortfall } from './steps/post-transfers.ts'
import { recordDeposits } from './steps/record-deposits.ts'

/**
 * Applies to an invoice, or to a deposit account, where its transfers stand on chain. One transaction: transfers, invoice, ledger, events and
 * deliveries. Applying the same facts again changes nothing. What the chain took back is recorded even if it was
 * already paid out: `shortfalls` says how much, for an alarm.
 */
export async function recordTransfers(
  deps: {
    pool: Pool
    clock: Clock
    identityOf?: ChainIdentities | undefined
    /** Called first in the transaction; what it throws leaves everything as it was. */
    guard?: (tx: Tx) => Promise<void>
  },
  input: {
    tenant: Tenant
    /** Or the deposit account's, whose address was paid. */
    invoiceId: string
    /** All of one network. */
    facts: readonly TransferFact[]
    /** Height of the last block these facts come from. */
    tipHeight: number
  },
): Promise<{ changed: boolean; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const { tenant, invoiceId, facts, tipHeight } = input
  if (isIdOf('depositAddress', invoiceId))
    return recordDeposits(deps, { tenant, accountId: invoiceId, facts, tipHeight: input.tipHeight })
  const network = facts[0]?.network
  return withTransaction(deps.pool, tenant, async (tx) => {
    await deps.guard?.(tx)
    const found = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (found === null)
      throw new Error(`a transfer was matched to invoice ${invoiceId}, which does not exist`)
    const sums = blockSumsOf(found.invoice, facts)
    const before = { ...found, invoice: await withBlockSums(tx, tenant, found.invoice, sums) }
    const now = deps.clock()
    const advance = advanceInvoice(before.invoice, {
      kind: 'transfers',
      facts,
      newPaymentIds: facts.map(() => newId('payment', now)),
      nowMs: now.getTime(),
    })
    if (advance.kind === 'refused') throw new Error(`transfers were refused: ${advance.code}`)
    const ownHeight = (requested: string) => (requested === network ? tipHeight : null)
    const networkFacts = { tipHeightOf: ownHeight, identityOf: deps.identityOf }
    return commitAdvance(tx, tenant, before, advance, { now, networkFacts, requestId: null })
  })
}

/** The blocks whose sums these facts may be about, and those where it is about what the sum is of. */
function blockSumsOf(invoice: Invoice, facts: readonly TransferFact[]) {
  const known = new Set(invoice.payments.map(keyOfTransfer))
  const blocks = new Set<string>()
  const withParts = new Set<string>()
  for (const fact of facts) {
    if (known.has(keyOfTransfer(fact))) continue
    blocks.add(fact.txid)
    const block = fact.state === 'block' ? fact.block.hash : fact.knownIn
    if (block === null || isOfSum(fact)) continue
    blocks.add(block)
    withParts.add(block)
  }
  return { blocks: [...blocks], withParts: [...withParts] }
}

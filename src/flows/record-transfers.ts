import { isIdOf } from '../core/ids.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import { isOfSum, keyOfTransfer } from '../core/invoice/block-sums.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { Invoice, TransferFact } from '../core/invoice/types.ts'
import { lockInvoices } from '../db/invoices/invoices.ts'
import { withBlockSums } from '../db/ledger/received.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { type Advanced, commitAdvances } from './steps/commit-advance.ts'
import type { Shortfall } from './steps/post-transfers.ts'
import { recordDeposits } from './steps/record-deposits.ts'

type Deps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly identityOf?: ChainIdentities | undefined
  /** Called first in the transaction; what it throws leaves everything as it was. */
  readonly guard?: (tx: Tx) => Promise<void>
}

/** What the chain says of an invoice, or of the deposit account whose address was paid. All facts are of one network. */
type Reported = { readonly invoiceId: string; readonly facts: readonly TransferFact[] }

/** Whether more than one of these may be recorded in one transaction: not deposit accounts, which take several each. */
export const isRecordedTogether = ({ invoiceId }: Pick<Reported, 'invoiceId'>): boolean =>
  !isIdOf('depositAddress', invoiceId)

/**
 * Applies to an invoice, or to a deposit account, where its transfers stand on chain. One transaction: transfers, invoice,
 * ledger, events and deliveries. Applying the same facts again changes nothing. What the chain took back is recorded even
 * if it was already paid out: `shortfalls` says how much, for an alarm. `tipHeight` is that of the last block these facts
 * come from.
 */
export async function recordTransfers(
  deps: Deps,
  input: Reported & { readonly tenant: Tenant; readonly tipHeight: number },
): Promise<{ changed: boolean; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const { changed, ...rest } = await recordTogether(deps, { ...input, invoices: [input] })
  return { ...rest, changed: changed.length > 0 }
}

/**
 * The same for several invoices of one merchant and network, each once, in one transaction; a deposit account is alone.
 * Returns the ids of those that changed.
 */
export async function recordTogether(
  deps: Deps,
  input: { readonly tenant: Tenant; readonly invoices: readonly Reported[]; readonly tipHeight: number },
): Promise<{ changed: readonly string[]; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const { tenant, invoices, tipHeight } = input
  const [first] = invoices
  if (first !== undefined && !isRecordedTogether(first)) {
    const account = { tenant, accountId: first.invoiceId, facts: first.facts, tipHeight }
    const { changed, ...rest } = await recordDeposits(deps, account)
    return { ...rest, changed: changed ? [first.invoiceId] : [] }
  }
  const network = first?.facts[0]?.network
  return withTransaction(deps.pool, tenant, async (tx) => {
    await deps.guard?.(tx)
    const ids = invoices.map(({ invoiceId }) => invoiceId)
    if (new Set(ids).size < ids.length) throw new Error('an invoice is to be recorded twice at once')
    const stored = await lockInvoices(tx, tenant, ids)
    const now = deps.clock()
    const advances: Advanced[] = []
    for (const { invoiceId, facts } of invoices) {
      const found = stored.get(invoiceId)
      if (found === undefined)
        throw new Error(`a transfer was matched to invoice ${invoiceId}, which does not exist`)
      const sums = blockSumsOf(found.invoice, facts)
      const before = { ...found, invoice: await withBlockSums(tx, tenant, found.invoice, sums) }
      const advance = advanceInvoice(before.invoice, {
        kind: 'transfers',
        facts,
        newPaymentIds: facts.map(() => newId('payment', now)),
        nowMs: now.getTime(),
      })
      if (advance.kind === 'refused') throw new Error(`transfers were refused: ${advance.code}`)
      advances.push({ before, advance })
    }
    const ownHeight = (requested: string) => (requested === network ? tipHeight : null)
    const networkFacts = { tipHeightOf: ownHeight, identityOf: deps.identityOf }
    return commitAdvances(tx, tenant, advances, { now, networkFacts, requestId: null })
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

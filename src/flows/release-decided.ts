import { ASSET_IDS } from '../core/assets.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import { type DecidedInvoice, listDecidedInSuspense } from '../db/ledger/decided-in-suspense.ts'
import { withBlockSums } from '../db/ledger/received.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { commitAdvance } from './steps/commit-advance.ts'

/** Invoices looked up at a time, and how often in one call; the next call goes on. */
const INVOICES_MAX = 100
const LOOKS_MAX = 100

type ReleaseParts = {
  readonly pool: Pool
  readonly clock: Clock
  readonly identityOf?: ChainIdentities | undefined
  /** Called with an invoice that cannot be changed: it holds up no other. */
  readonly onFailed: (invoiceId: string, error: unknown) => void
}

/**
 * Makes available what merchants decided of while no payout was made in its coin, as deciding of it now would: an earlier
 * release left it in suspense, and may do so again for as long as its processes run beside ours. Returns how many invoices
 * it changed; doing it again changes nothing.
 */
export async function releaseDecided(parts: ReleaseParts): Promise<number> {
  const seen: string[] = []
  let released = 0
  for (let looks = 0, isFull = true; isFull && looks < LOOKS_MAX; looks++) {
    const wanted = { assets: ASSET_IDS, except: seen, limit: INVOICES_MAX }
    const found = await listDecidedInSuspense(parts.pool, wanted)
    isFull = found.length === INVOICES_MAX
    for (const of of found) {
      seen.push(of.invoiceId)
      try {
        if (await releaseOne(parts, of)) released += 1
      } catch (error) {
        parts.onFailed(of.invoiceId, error)
      }
    }
  }
  return released
}

function releaseOne(
  { pool, clock, identityOf }: ReleaseParts,
  { invoiceId, ...tenant }: DecidedInvoice,
): Promise<boolean> {
  return withTransaction(pool, tenant, async (tx) => {
    const found = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (found === null) return false
    const before = { ...found, invoice: await withBlockSums(tx, tenant, found.invoice, 'all') }
    const now = clock()
    // No news of any transfer: what stands where the facts do not put it is booked anew.
    const nothing = { kind: 'transfers', facts: [], newPaymentIds: [], nowMs: now.getTime() } as const
    const advance = advanceInvoice(before.invoice, nothing)
    if (advance.kind === 'refused') throw new Error(`nothing new was refused: ${advance.code}`)
    const networkFacts = { tipHeightOf: () => null, identityOf }
    return (await commitAdvance(tx, tenant, before, advance, { now, networkFacts, requestId: null })).changed
  })
}

import { ASSET_IDS, type Network, networkOf } from '../core/assets.ts'
import { advanceInvoice, networksBeside } from '../core/invoice/advance.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { ChainReading, ExpiryReading, Invoice } from '../core/invoice/types.ts'
import { loadNetworkState } from '../db/chain/network-state.ts'
import { findInvoicesPastDeadline, loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { commitAdvance } from './steps/commit-advance.ts'

/** Invoices of an asset settled by one call; the watcher calls again on its next pass. */
const EXPIRED_PER_CALL_MAX = 200

type ExpiryParts = {
  readonly pool: Pool
  readonly clock: Clock
  readonly identityOf?: ChainIdentities | undefined
  /** Called first in each transaction; what it throws leaves the invoice as it was. */
  readonly guard?: (tx: Tx) => Promise<void>
  /** Called with an invoice that cannot be expired; what it throws ends the call, as the error does without it. */
  readonly onFailed?: (invoiceId: string, error: unknown) => void
}

/**
 * Expires unpaid invoices. Only after the network's tip and mempool were read in full, beginning at `readAtMs`: a
 * node's outage expires nothing. Returns the invoices that expired, each committed by itself: one that cannot be holds
 * up no other.
 */
export async function expireInvoices(deps: ExpiryParts, input: ChainReading): Promise<string[]> {
  const livemode = input.network.endsWith('-live')
  const expired: string[] = []
  for (const asset of ASSET_IDS) {
    if (networkOf(asset, livemode) !== input.network) continue
    const failed: string[] = []
    for (let isFull = true, failedBefore = -1; isFull && failed.length > failedBefore; ) {
      failedBefore = failed.length
      const due = await findInvoicesPastDeadline(deps.pool, {
        asset,
        livemode,
        deadlineBefore: new Date(input.readAtMs),
        except: failed,
        limit: EXPIRED_PER_CALL_MAX,
      })
      isFull = due.length === EXPIRED_PER_CALL_MAX
      for (const { merchantId, invoiceId } of due) {
        try {
          if (await expireOne(deps, { merchantId, livemode }, invoiceId, input)) expired.push(invoiceId)
        } catch (error) {
          if (deps.onFailed === undefined) throw error
          deps.onFailed(invoiceId, error)
          failed.push(invoiceId)
        }
      }
    }
  }
  return expired
}

/** Whether an open invoice of the network has its deadline before this time. */
export async function isAnyDueBefore(pool: Pool, network: Network, deadlineBefore: Date): Promise<boolean> {
  const livemode = network.endsWith('-live')
  for (const asset of ASSET_IDS) {
    if (networkOf(asset, livemode) !== network) continue
    const next = { asset, livemode, deadlineBefore, waiting: 'included', except: [], limit: 1 } as const
    if ((await findInvoicesPastDeadline(pool, next)).length > 0) return true
  }
  return false
}

function expireOne(
  deps: ExpiryParts,
  tenant: { merchantId: string; livemode: boolean },
  invoiceId: string,
  reading: ChainReading,
): Promise<boolean> {
  return withTransaction(deps.pool, tenant, async (tx) => {
    await deps.guard?.(tx)
    const before = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (before === null) return false
    const advance = advanceInvoice(before.invoice, {
      kind: 'deadline_read',
      readAtMs: reading.readAtMs,
      reading: await withOthers(tx, before.invoice, reading),
    })
    if (advance.kind === 'refused') throw new Error(`a deadline was refused: ${advance.code}`)
    const ownHeight = (requested: string) => (requested === reading.network ? reading.tipHeight : null)
    const networkFacts = { tipHeightOf: ownHeight, identityOf: deps.identityOf }
    const { changed } = await commitAdvance(tx, tenant, before, advance, {
      now: deps.clock(),
      networkFacts,
      requestId: null,
    })
    return changed
  })
}

/** Adds how far the other networks were read on which the invoice could be paid. */
async function withOthers(tx: Tx, invoice: Invoice, reading: ChainReading): Promise<ExpiryReading> {
  const others = []
  for (const network of networksBeside(invoice)) {
    const { height, hash, readAt } = (await loadNetworkState(tx, network)) ?? {}
    if (height == null || hash == null || readAt == null) continue
    others.push({ network, tipHeight: height, tipHash: hash, readAtMs: readAt.getTime() })
  }
  return others.length === 0 ? reading : { ...reading, others }
}

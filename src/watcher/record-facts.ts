import { type ChainAdapter, ChainHalted, type ProviderAgreement } from '../chain/adapter.ts'
import type { InvoiceOwner } from '../core/chain/owned-transfer.ts'
import type { InvoiceFacts } from '../core/chain/reconcile.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { ChainReading } from '../core/invoice/types.ts'
import { lockLatestTerm } from '../db/chain/network-watch.ts'
import { expireInvoices } from '../flows/expire-invoices.ts'
import { isRecordedTogether, recordTogether } from '../flows/record-transfers.ts'
import type { Shortfall } from '../flows/steps/post-transfers.ts'
import { isDatabaseAway } from '../postgres/database-away.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError } from '../runtime/log.ts'
import type { Leadership } from './leadership.ts'

/** Transactions with invoices that run at the same time. */
const IN_FLIGHT = 4
/** Invoices of a merchant in one transaction: whoever asks about one of them waits no longer than these take. */
export const TOGETHER_MAX = 16

export type RecordingParts = {
  readonly adapter: ChainAdapter
  readonly pool: Pool
  readonly clock: Clock
  /** What several providers must agree on before value is final; null where one alone decides. */
  readonly agreement: ProviderAgreement | null
  /** Called after each commit. */
  readonly notifier: { invoiceChanged(invoiceId: string): void; deliveriesWaiting(): void }
  /** How payment links in events identify private test networks. */
  readonly identityOf?: ChainIdentities | undefined
  /** Called when the chain took back money that was already paid out: a person must look. */
  readonly onShortfall?: (missing: Shortfall & InvoiceOwner) => void
  readonly leadership: Pick<Leadership, 'term' | 'lost'>
}

/** Another process follows the network now. */
export class LeadershipLost extends Error {
  override name = 'LeadershipLost'
}

type Group = [InvoiceFacts, ...InvoiceFacts[]]
type Failure = { readonly invoiceId: string; readonly error: unknown }

/**
 * Commits facts, each invoice's in one transaction. If one invoice cannot be recorded, the others still are, and the
 * network halts with its id: moving the checkpoint past its payment would lose it; a halted network reads it again.
 */
export async function recordFacts(
  parts: RecordingParts,
  invoices: readonly InvoiceFacts[],
  tipHeight: number,
): Promise<void> {
  const failed: Failure[] = []
  // An invoice of many payments takes its time: the others come before it.
  const groups = groupsOf(invoices.toSorted((a, b) => a.facts.length - b.facts.length))
  for (let at = 0; at < groups.length; at += IN_FLIGHT) {
    requireLeadership(parts)
    const batch = groups.slice(at, at + IN_FLIGHT)
    const ends = await Promise.allSettled(batch.map((group) => recordGroup(parts, group, tipHeight)))
    for (const end of ends) {
      if (end.status === 'rejected') throw end.reason
      failed.push(...end.value)
    }
  }
  const [first] = failed
  if (first === undefined) return
  const others = failed.length === 1 ? '' : ` and ${failed.length - 1} others`
  throw new ChainHalted(
    `what was read for invoice ${first.invoiceId}${others} cannot be recorded (${describeError(first.error)}): no further block is read until it can`,
    { cause: first.error },
  )
}

/** Of one merchant and mode each, in the order of their first. One with several payments is alone, as deposit accounts are. */
function groupsOf(invoices: readonly InvoiceFacts[]): Group[] {
  const groups: Group[] = []
  const open = new Map<string, Group>()
  for (const one of invoices) {
    if (one.facts.length > 1 || !isRecordedTogether(one)) {
      groups.push([one])
      continue
    }
    const key = `${one.tenant.merchantId} ${one.tenant.livemode}`
    const group = open.get(key)
    if (group !== undefined && group.length < TOGETHER_MAX) {
      group.push(one)
      continue
    }
    const begun: Group = [one]
    groups.push(begun)
    open.set(key, begun)
  }
  return groups
}

/** Records invoices together; where that fails, each by itself, so that only what cannot be recorded is left. */
async function recordGroup(parts: RecordingParts, group: Group, tipHeight: number): Promise<Failure[]> {
  try {
    await record(parts, group, tipHeight)
    return []
  } catch (error) {
    if (error instanceof LeadershipLost) throw error
    if (group.length === 1) {
      if (!isOfInvoice(error)) throw error
      return [{ invoiceId: group[0].invoiceId, error }]
    }
  }
  const failures: Failure[] = []
  for (const one of group) failures.push(...(await recordGroup(parts, [one], tipHeight)))
  return failures
}

async function record(parts: RecordingParts, invoices: Group, tipHeight: number): Promise<void> {
  const { pool, clock, notifier, identityOf } = parts
  const [{ tenant, invoiceId }] = invoices
  const guard = (tx: Tx) => requireTerm(parts, tx)
  const deps = { pool, clock, identityOf, guard }
  const { changed, deliveries, shortfalls } = await recordTogether(deps, { tenant, invoices, tipHeight })
  for (const id of changed) notifier.invoiceChanged(id)
  if (deliveries > 0) notifier.deliveriesWaiting()
  for (const missing of shortfalls)
    parts.onShortfall?.({ ...missing, tenant, invoiceId: missing.invoiceId ?? invoiceId })
}

/** Whether an error is about the invoice that was being written, and not about the database or leadership. */
const isOfInvoice = (error: unknown): boolean =>
  !(error instanceof LeadershipLost || (error instanceof Error && isDatabaseAway(error)))

/** Work on what belongs to no tenant, which commits only while this process leads. */
export function whileLeading<Result>(
  parts: RecordingParts,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  requireLeadership(parts)
  return withSystemTransaction(parts.pool, async (tx) => {
    await requireTerm(parts, tx)
    return work(tx)
  })
}

/** Leadership is lost some seconds before its holder notices: only the transaction itself can tell. */
async function requireTerm({ adapter, leadership }: RecordingParts, tx: Tx): Promise<void> {
  if (!(await lockLatestTerm(tx, adapter.network, leadership.term)))
    throw new LeadershipLost(`another process follows ${adapter.network}`)
}

function requireLeadership({ adapter, leadership }: RecordingParts): void {
  if (leadership.lost.aborted) throw new LeadershipLost(`another process follows ${adapter.network}`)
}

/** Expires what was not paid in time. Returns which invoice cannot be, and why; it keeps no other one open. */
export async function expireDue(parts: RecordingParts, reading: ChainReading): Promise<string | null> {
  const { pool, clock, identityOf, notifier } = parts
  const failed: string[] = []
  const guard = (tx: Tx) => requireTerm(parts, tx)
  const onFailed = (invoiceId: string, error: unknown) => {
    if (!isOfInvoice(error)) throw error
    failed.push(`invoice ${invoiceId} cannot be expired: ${describeError(error)}`)
  }
  const expired = await expireInvoices({ pool, clock, identityOf, guard, onFailed }, reading)
  for (const invoiceId of expired) notifier.invoiceChanged(invoiceId)
  if (expired.length > 0) notifier.deliveriesWaiting()
  const [first = null] = failed
  return failed.length > 1 ? `${first}; nor can ${failed.length - 1} others be` : first
}

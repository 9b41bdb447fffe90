import type { ChainReading } from '../core/invoice/types.ts'
import { expireInvoices } from '../flows/expire-invoices.ts'
import type { Tx } from '../postgres/transaction.ts'
import { describeError } from '../runtime/log.ts'
import { isOfInvoice, type RecordingParts, requireTurn } from './record-reading.ts'

/** Expires what was not paid in time. Returns which invoice cannot be, and why; it keeps no other one open. */
export async function expireDue(parts: RecordingParts, reading: ChainReading): Promise<string | null> {
  const { pool, clock, evmOf, notifier } = parts
  const failed: string[] = []
  const guard = (tx: Tx) => requireTurn(parts, tx)
  const onFailed = (invoiceId: string, error: unknown) => {
    if (!isOfInvoice(error)) throw error
    failed.push(`invoice ${invoiceId} cannot be expired: ${describeError(error)}`)
  }
  const expired = await expireInvoices({ pool, clock, evmOf, guard, onFailed }, reading)
  for (const invoiceId of expired) notifier.invoiceChanged(invoiceId)
  if (expired.length > 0) notifier.deliveriesWaiting()
  const [first = null] = failed
  return failed.length > 1 ? `${first}; nor can ${failed.length - 1} others be` : first
}

import type { Log } from '../../runtime/log.ts'
import type { Told } from '../../runtime/told.ts'

/** An alarm, once for each kind of complaint about a payout, a sweep or an x402 authorization as long as this signer runs. */
export function complain(
  { told, log }: { readonly told: Told; readonly log: Log },
  { id }: { readonly id: string },
  message: string,
  err?: unknown,
): void {
  if (told.isNew(id, message)) log.error({ payoutId: id, err }, message)
}

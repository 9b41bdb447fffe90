import type { DeduplicatedLog } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'

/** An alarm, once for each kind of alert about a payout, a sweep or an x402 authorization as long as this signer runs. */
export function alert(
  { alerts, log }: { readonly alerts: DeduplicatedLog; readonly log: Log },
  { id }: { readonly id: string },
  message: string,
  err?: unknown,
): void {
  if (alerts.isNew(id, message)) log.error({ payoutId: id, err }, message)
}

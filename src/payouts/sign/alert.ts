import { isIdOf } from '../../core/ids.ts'
import type { DeduplicatedLog } from '../../runtime/deduplicated-log.ts'
import type { Log } from '../../runtime/log.ts'

/** What an alert may be about, beside a network as a whole. */
const SUBJECTS = ['payout', 'sweep', 'x402Authorization', 'maintenance'] as const

/**
 * An alert, once for each message about a payout, a sweep, an x402 authorization, a maintenance transaction or a network, as
 * long as this signer runs. `id`: the network's name where it is about that.
 */
export function alert(
  { alerts, log }: { readonly alerts: DeduplicatedLog; readonly log: Log },
  { id }: { readonly id: string },
  message: string,
  err?: unknown,
): void {
  if (!alerts.isNew(id, message)) return
  const kind = SUBJECTS.find((each) => isIdOf(each, id))
  log.error({ [kind === undefined ? 'network' : `${kind}Id`]: id, err }, message)
}

import type { Log } from '../log.ts'

/** An alarm, once for each payout, sweep or x402 authorization as long as this signer runs. */
export function complain(
  { told, log }: { readonly told: Set<string>; readonly log: Log },
  { id }: { readonly id: string },
  message: string,
  err?: unknown,
): void {
  if (told.has(id)) return
  told.add(id)
  log.error({ payoutId: id, err }, message)
}

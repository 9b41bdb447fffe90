import { revokeApiKey } from '../flows/revoke-api-key.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { openCommandSeals } from './open-seals.ts'
import { UsageError } from './usage-error.ts'

/** `paylink key revoke`: ends a key. Ending it again changes nothing. */
export async function revokeKeyCommand(
  id: string,
  options: { json: boolean },
  output: Output,
): Promise<number> {
  const result = await withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    return revokeApiKey({ pool, clock: systemClock, seals }, id)
  })
  if (result.kind === 'key_not_found') {
    throw new UsageError('there is no key of that id: paylink key list --merchant ID shows the ids')
  }
  const { merchantId, revokedAt } = result
  const revoked = { id, merchant_id: merchantId, revoked_at: revokedAt.toISOString() }
  output.line(
    options.json
      ? JSON.stringify(revoked)
      : `${id} was revoked at ${revoked.revoked_at}; no request uses it any more`,
  )
  return 0
}

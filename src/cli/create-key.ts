import { createApiKey } from '../flows/create-api-key.ts'
import { systemClock } from '../runtime/clock.ts'
import { isScope, SCOPES, type Scope } from '../wire/scopes.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { openCommandSeals } from './open-seals.ts'
import { UsageError } from './usage-error.ts'

/** `paylink key create`: makes an API key and prints it, the only time it is ever shown. */
export async function createKeyCommand(
  options: { merchant: string; mode: string; scopes: string; json: boolean },
  output: Output,
): Promise<number> {
  const { merchant: merchantId, mode } = options
  if (mode !== 'test' && mode !== 'live') throw new UsageError('--mode must be test or live')
  const scopes = parseScopes(options.scopes)
  const livemode = mode === 'live'
  const result = await withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    return createApiKey({ pool, clock: systemClock, seals }, { merchantId, livemode, scopes })
  })
  if (result.kind === 'merchant_not_found') {
    throw new UsageError(`--merchant ${merchantId} is not known: make it with paylink merchant create`)
  }
  if (result.kind === 'limit_reached') {
    throw new UsageError(
      `Merchant ${merchantId} has as many active ${mode} keys as it may. Revoke one with paylink key revoke.`,
    )
  }
  const { id, key } = result
  if (options.json) output.line(JSON.stringify({ id, key, merchant_id: merchantId, livemode, scopes }))
  else {
    output.line(key)
    output.problem(`key ${id} is shown only now; keep it on the merchant's server`)
  }
  return 0
}

function parseScopes(text: string): Scope[] {
  const names = text.split(',').map((name) => name.trim())
  const scopes = names
    .filter((name) => name !== '')
    .map((name) => {
      if (isScope(name)) return name
      throw new UsageError(`--scopes has ${JSON.stringify(name)}, which is none of ${SCOPES.join(', ')}`)
    })
  return [...new Set(scopes)]
}

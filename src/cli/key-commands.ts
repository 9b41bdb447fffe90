import { listApiKeys } from '../db/people/api-keys.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { createApiKey } from '../flows/create-api-key.ts'
import { revokeApiKey } from '../flows/revoke-api-key.ts'
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
    throw new UsageError(`No such merchant: ${merchantId}. Create one with "paylink merchant create".`)
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

/** `paylink key list`: what keys a merchant has and had. The keys themselves are stored nowhere. */
export async function listKeysCommand(
  options: { merchant: string; json: boolean },
  output: Output,
): Promise<number> {
  const { merchant: merchantId } = options
  const keys = await withOwnerPool(async (pool) =>
    (await merchantExists(pool, merchantId)) ? await listApiKeys(pool, merchantId) : null,
  )
  if (keys === null)
    throw new UsageError(`No such merchant: ${merchantId}. Its id is in the dashboard under Settings.`)
  if (options.json) {
    const listed = keys.map(({ id, livemode, scopes, createdAt, revokedAt }) => ({
      id,
      livemode,
      scopes,
      created_at: createdAt.toISOString(),
      revoked_at: revokedAt?.toISOString() ?? null,
    }))
    output.line(JSON.stringify({ merchant_id: merchantId, keys: listed }))
    return 0
  }
  for (const { id, livemode, scopes, createdAt, revokedAt } of keys) {
    const state = revokedAt === null ? 'works' : `revoked ${revokedAt.toISOString()}`
    const rights = scopes.length === 0 ? 'no scopes' : scopes.join(',')
    output.line(
      `${id}  ${livemode ? 'live' : 'test'}  created ${createdAt.toISOString()}  ${state}  ${rights}`,
    )
  }
  if (keys.length === 0) output.line('No keys.')
  return 0
}

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

import { listApiKeys } from '../db/people/api-keys.ts'
import { merchantExists } from '../db/people/merchants.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { UsageError } from './usage-error.ts'

/** `paylink key list`: what keys a merchant has and had. The keys themselves are stored nowhere. */
export async function listKeysCommand(
  options: { merchant: string; json: boolean },
  output: Output,
): Promise<number> {
  const { merchant: merchantId } = options
  const keys = await withOwnerPool(async (pool) =>
    (await merchantExists(pool, merchantId)) ? await listApiKeys(pool, merchantId) : null,
  )
  if (keys === null) throw new UsageError(`--merchant ${merchantId} is not known`)
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
    output.line(`${id}  ${livemode ? 'live' : 'test'}  made ${createdAt.toISOString()}  ${state}  ${rights}`)
  }
  if (keys.length === 0) output.line('No keys.')
  return 0
}

import { parseId } from '../core/ids.ts'
import { loadBranding, loadLogo, type StoredBranding } from '../db/checkout/branding.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'

/** How a merchant's pages look, in both modes. */
export function readBranding(pool: Pool, merchantId: string): Promise<StoredBranding> {
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadBranding(tx, merchantId))
}

/** A merchant's logo; null for an id that is none, a merchant without one, or a digest of another picture. */
export async function readLogo(
  pool: Pool,
  merchantId: string,
  digest: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (parseId('merchant', merchantId) === null) return null
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadLogo(tx, merchantId, digest))
}

import { type HexColour, parseColour } from '../core/checkout/brand-colours.ts'
import { parseId } from '../core/ids.ts'
import type { Seller } from '../core/receipt/seller.ts'
import {
  type BrandingChange,
  loadBranding,
  loadLogo,
  type StoredBranding,
  upsertBranding,
} from '../db/checkout/branding.ts'
import { merchantExists } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/** What is to change; what is absent stays, and null goes back to the default. The seller's details are checked by the API. */
export type BrandingWish = Partial<Seller> & {
  readonly name?: string | null
  readonly colour?: string | null
  readonly logo?: Exclude<BrandingChange['logo'], undefined>
  readonly homeCurrency?: Exclude<BrandingChange['homeCurrency'], undefined>
}

type BrandingSet =
  | { readonly kind: 'set' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'invalid'; readonly field: 'name' | 'colour' }

const NAME_LENGTH_MAX = 120

/** Changes how a merchant's pages look: name, colour (`#rrggbb`), logo as `encodeLogo` made it, who sells, and its own currency. */
export async function setBranding(
  deps: { readonly pool: Pool; readonly clock: Clock },
  merchantId: string,
  wish: BrandingWish,
): Promise<BrandingSet> {
  if (typeof wish.name === 'string' && !isName(wish.name)) return { kind: 'invalid', field: 'name' }
  const colour: HexColour | null | undefined =
    typeof wish.colour === 'string' ? parseColour(wish.colour) : wish.colour
  if (typeof wish.colour === 'string' && colour === null) return { kind: 'invalid', field: 'colour' }
  const { colour: _, ...rest } = wish
  const change: BrandingChange = { ...rest, ...(colour === undefined ? {} : { colour }) }
  const tenant = { merchantId, livemode: false }
  return withTransaction(deps.pool, tenant, async (tx): Promise<BrandingSet> => {
    if (!(await merchantExists(tx, merchantId))) return { kind: 'not_found' }
    await upsertBranding(tx, merchantId, change, deps.clock())
    return { kind: 'set' }
  })
}

function isName(name: string): boolean {
  const length = [...name].length
  return name.trim() !== '' && length <= NAME_LENGTH_MAX && !/\p{Cc}/u.test(name)
}

/** How a merchant's pages look, in both modes, and who sells. */
export function readBranding(pool: Pool, merchantId: string): Promise<StoredBranding> {
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadBranding(tx, merchantId))
}

/** A merchant's logo or a picture of its tills; null for an id that is none, or a digest of no picture of its. */
export async function readLogo(
  pool: Pool,
  merchantId: string,
  digest: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (parseId('merchant', merchantId) === null) return null
  return withTransaction(pool, { merchantId, livemode: false }, (tx) => loadLogo(tx, merchantId, digest))
}

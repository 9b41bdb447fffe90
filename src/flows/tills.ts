import { SLUG_PATTERN } from '../core/checkout/payment-link.ts'
import type { Takings, TillFacts } from '../core/checkout/till.ts'
import { formatFiat, parseFiat } from '../core/money.ts'
import { currencyDecimals } from '../core/rates/currencies.ts'
import { findLinkOwner, loadPaymentLink, loadStaffCode, setStaffCode } from '../db/checkout/payment-links.ts'
import { loadTillSales } from '../db/invoices/till-sales.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../secrets/keyring.ts'
import {
  isStaffCode,
  isTillSession,
  newStaffCode,
  staffCodeDigest,
  tillSession,
} from '../secrets/staff-code.ts'

type TillDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly keyring: Keyring
}

type FoundTill = Omit<TillFacts, 'isSignedIn'> & { readonly code: Buffer | null }

/** Gives a till a new staff code, which ends the sessions of the old one; null for a link that is no till. */
export async function renewStaffCode(
  { pool, keyring }: Pick<TillDeps, 'pool' | 'keyring'>,
  tenant: Tenant,
  linkId: string,
): Promise<string | null> {
  const code = newStaffCode()
  const digest = staffCodeDigest(keyring, linkId, code)
  const isSet = await withTransaction(pool, tenant, (tx) => setStaffCode(tx, tenant, linkId, digest))
  return isSet ? code : null
}

/** What the till of a slug shows to whoever has this cookie; null for a slug that opens no till. */
export async function readTill(
  deps: TillDeps,
  slug: string,
  session: string | undefined,
): Promise<TillFacts | null> {
  const found = await findTill(deps.pool, slug)
  if (found === null) return null
  const { code, ...facts } = found
  const nowMs = deps.clock().getTime()
  const isSignedIn =
    code !== null &&
    session !== undefined &&
    isTillSession(deps.keyring, facts.linkId, code, { session, nowMs })
  return { ...facts, isSignedIn }
}

/** What the cookie of somebody with this code holds; null for a wrong code. The caller counts the tries. */
export async function signInAtTill(deps: TillDeps, slug: string, given: string): Promise<string | null> {
  const found = await findTill(deps.pool, slug)
  if (found === null || found.code === null) return null
  const { linkId, code } = found
  if (!isStaffCode(deps.keyring, linkId, code, given)) return null
  return tillSession(deps.keyring, linkId, code, deps.clock().getTime())
}

/** What a till took since a moment. */
export async function readTakings(
  { pool }: Pick<TillDeps, 'pool'>,
  { merchantId, livemode, linkId, till: { currency } }: TillFacts,
  sinceMs: number,
): Promise<Takings> {
  const tenant = { merchantId, livemode }
  const { count, total, tips, sales } = await withTransaction(pool, tenant, (tx) =>
    loadTillSales(tx, tenant, { linkId, currency, sinceMs }),
  )
  const decimals = currencyDecimals(currency)
  const whole = (amount: string) => formatFiat(parseFiat(amount, decimals) ?? 0n, decimals)
  return {
    count,
    total: whole(total),
    tips: whole(tips),
    sales: sales.map((sale) => ({ ...sale, amount: whole(sale.amount) })),
  }
}

async function findTill(pool: Pool, slug: string): Promise<FoundTill | null> {
  if (!SLUG_PATTERN.test(slug)) return null
  const owner = await findLinkOwner(pool, slug)
  if (owner === null) return null
  const { tenant, linkId } = owner
  return withTransaction(pool, tenant, async (tx) => {
    const link = await loadPaymentLink(tx, tenant, linkId)
    const merchantName = await loadMerchantName(tx, tenant.merchantId)
    if (link === null || !link.active || link.till === null || merchantName === null) return null
    const code = await loadStaffCode(tx, tenant, linkId)
    return { ...tenant, merchantName, linkId, linkName: link.name, till: link.till, code }
  })
}

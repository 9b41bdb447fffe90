import type { PaymentLink } from '../core/checkout/payment-link.ts'
import { insertPaymentLink } from '../db/checkout/payment-links.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { randomBase62 } from '../secrets/random-base62.ts'

const SLUG_LENGTH = 10
/** A slug is taken once in 62¹⁰ times for each link that exists; five times in a row is a fault of the generator. */
const SLUG_TRIES_MAX = 5

/** Writes a new link under a slug of its own, in the caller's transaction. */
export async function createPaymentLink(
  tx: Tx,
  tenant: Tenant,
  details: Pick<PaymentLink, 'name' | 'usdCents' | 'asset' | 'allowDynamicAmount' | 'durationMinutes'>,
  now: Date,
): Promise<PaymentLink> {
  const { merchantId, livemode } = tenant
  for (let tries = 0; tries < SLUG_TRIES_MAX; tries++) {
    const link: PaymentLink = {
      ...details,
      merchantId,
      livemode,
      id: newId('paymentLink', now),
      slug: `pl_${randomBase62(SLUG_LENGTH)}`,
      active: true,
      createdAtMs: now.getTime(),
    }
    if (await insertPaymentLink(tx, tenant, link)) return link
  }
  throw new Error(`${SLUG_TRIES_MAX} random slugs in a row were taken`)
}

import { type BuyerAmountFault, buyerAmountFault } from '../core/checkout/buyer-amount.ts'
import { ownCharge, type PaymentLink, type TotalFault, totalFault } from '../core/checkout/payment-link.ts'
import { PICTURE_UNKNOWN, picturesOf, tillFault } from '../core/checkout/till.ts'
import type { Market } from '../core/invoice/market.ts'
import { insertPaymentLink, loadPaymentLink, updatePaymentLink } from '../db/checkout/payment-links.ts'
import { hasPictures } from '../db/checkout/till-pictures.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { ownTag } from '../runtime/own-cell.ts'
import { randomBase62 } from '../secrets/random-base62.ts'

const SLUG_LENGTH = 10
/** A slug is taken once in 62⁷ times or fewer for each link that exists; five times in a row is a fault of the generator. */
const SLUG_ATTEMPTS_MAX = 5

/** Writes a new link under a slug of its own, in the caller's transaction. */
export async function createPaymentLink(
  tx: Tx,
  tenant: Tenant,
  details: Pick<
    PaymentLink,
    | 'name'
    | 'usdCents'
    | 'price'
    | 'asset'
    | 'allowDynamicAmount'
    | 'buyerAmount'
    | 'till'
    | 'durationMinutes'
  >,
  now: Date,
): Promise<PaymentLink> {
  const { merchantId, livemode } = tenant
  for (let attempts = 0; attempts < SLUG_ATTEMPTS_MAX; attempts++) {
    const link: PaymentLink = {
      ...details,
      merchantId,
      livemode,
      id: newId('paymentLink', now),
      slug: newSlug(),
      active: true,
      createdAtMs: now.getTime(),
    }
    if (await insertPaymentLink(tx, tenant, link)) return link
  }
  throw new Error(`${SLUG_ATTEMPTS_MAX} random slugs in a row were taken`)
}

function newSlug(): string {
  const tag = ownTag('-')
  return `pl_${tag}${randomBase62(SLUG_LENGTH - tag.length)}`
}

type UpdatedLink =
  | { readonly kind: 'updated'; readonly link: PaymentLink }
  | { readonly kind: 'not_found' }
  /** A link that takes no amount of a checkout has to have one of its own. */
  | { readonly kind: 'amount_needed' }
  | ({ readonly kind: 'refused' } & TotalFault)
  | ({ readonly kind: 'bad_buyer_amount' } & BuyerAmountFault)

/** Changes what may change of a link; what is under way on it stays as it was. */
export function changePaymentLink(
  deps: { readonly pool: Pool },
  input: {
    readonly tenant: Tenant
    readonly linkId: string
    readonly changes: Partial<
      Pick<PaymentLink, 'active' | 'name' | 'durationMinutes' | 'usdCents' | 'price' | 'buyerAmount' | 'till'>
    >
    readonly market: Market
    readonly nowMs: number
  },
): Promise<UpdatedLink> {
  const { tenant, linkId, changes, market, nowMs } = input
  return withTransaction(deps.pool, tenant, async (tx): Promise<UpdatedLink> => {
    const before = await loadPaymentLink(tx, tenant, linkId, { forUpdate: true })
    if (before === null) return { kind: 'not_found' }
    const link = { ...before, ...changes }
    const charge = ownCharge(link)
    if (charge === null && !link.allowDynamicAmount) return { kind: 'amount_needed' }
    const asked = { ...link, own: charge }
    const wrong = buyerAmountFault(link.buyerAmount, asked) ?? tillFault(asked)
    if (wrong !== null) return { kind: 'bad_buyer_amount', ...wrong }
    if (!(await hasPictures(tx, tenant, picturesOf(changes.till))))
      return { kind: 'bad_buyer_amount', ...PICTURE_UNKNOWN }
    const isCharged = changes.usdCents != null || changes.price != null
    const fault = isCharged ? totalFault({ charge, asset: link.asset }, market, nowMs) : null
    if (fault !== null) return { kind: 'refused', ...fault }
    await updatePaymentLink(tx, tenant, link)
    return { kind: 'updated', link }
  })
}

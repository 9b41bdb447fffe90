import { type BuyerAmount, buyerAmountFault, wholeAmount } from '../../../core/checkout/buyer-amount.ts'
import { ownCharge, type PaymentLink, totalFault } from '../../../core/checkout/payment-link.ts'
import { PICTURE_UNKNOWN, picturesOf, type Till, tillFault } from '../../../core/checkout/till.ts'
import { wholePrice } from '../../../core/invoice/price.ts'
import type { CurrencyAmount } from '../../../core/invoice/types.ts'
import { parseUsd } from '../../../core/money.ts'
import { listPaymentLinks, loadPaymentLink, paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { hasPictures, keepPicture } from '../../../db/checkout/till-pictures.ts'
import { changePaymentLink, createPaymentLink } from '../../../flows/payment-links.ts'
import { renewStaffCode } from '../../../flows/tills.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { encodeSquare } from '../../../runtime/encode-logo.ts'
import { pageOf } from '../../../wire/list.ts'
import {
  type BuyerAmountBody,
  createPaymentLinkBody,
  listPaymentLinksQuery,
  paymentLinkList,
  paymentLinkView,
  staffCodeView,
  type TillBody,
  tillPictureView,
  updatePaymentLinkBody,
  uploadTillPictureBody,
} from '../../../wire/payment-link.ts'
import { paymentLinkViewOf } from '../../views/checkout-views.ts'
import { listView } from '../../views/list-view.ts'
import { PICTURE_REFUSED } from '../picture-refused.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createPaymentLinkRoute = defineRoute({
  method: 'post',
  path: '/payment-links',
  operationId: 'createPaymentLink',
  tag: 'Payment links',
  summary: 'Create a payment link',
  description:
    'A page that many buyers pay at. With `allow_dynamic_amount` make a checkout session on it for each order; without, every buyer pays `usd_amount`, or `price` in your own currency.',
  scope: 'payment_links:write',
  body: createPaymentLinkBody,
  example: {
    name: 'Coffee beans, 1 kg',
    usd_amount: '24.90',
    allow_dynamic_amount: true,
    duration_minutes: 30,
  },
  success: { status: 201, description: 'The link was created.', schema: paymentLinkView },
  problems: ['amount_too_small', 'amount_too_large', 'asset_not_accepted', 'rate_unavailable'],

  prepare: async (deps, { tenant, body }) => {
    const total = { usdCents: null, price: null, ...chargeIn(body), asset: body.asset ?? null }
    const market = await deps.marketOf(tenant)
    const { asset } = total
    const charge = ownCharge(total)
    const allowDynamicAmount = body.allow_dynamic_amount ?? false
    const buyerAmount = buyerAmountIn(body.buyer_amount ?? null)
    const till = body.till === undefined ? null : tillIn(body.till)
    const asked = { allowDynamicAmount, own: charge, buyerAmount, till }
    return {
      details: { ...total, allowDynamicAmount, buyerAmount, till },
      wrong: buyerAmountFault(buyerAmount, asked) ?? tillFault(asked),
      fault: totalFault({ charge, asset }, market, deps.clock().getTime()),
    }
  },

  refuse: (_deps, _request, { fault, wrong }) => {
    if (wrong !== null) throw new ApiProblem('parameter_invalid', wrong)
    if (fault !== null && fault.code !== 'rate_unavailable')
      throw new ApiProblem(fault.code, { param: fault.param })
  },

  create: async (deps, { tenant, body }, tx, { details, wrong, fault }) => {
    if (wrong !== null) throw new ApiProblem('parameter_invalid', wrong)
    if (fault !== null) throw new ApiProblem(fault.code, { param: fault.param })
    if (!(await hasPictures(tx, tenant, picturesOf(details.till))))
      throw new ApiProblem('parameter_invalid', PICTURE_UNKNOWN)
    const link = await createPaymentLink(
      tx,
      tenant,
      { ...details, name: body.name, durationMinutes: body.duration_minutes ?? null },
      deps.clock(),
    )
    return { view: paymentLinkViewOf(deps, link) }
  },
})

/** What a body changes of a link's charge: dollars and a price take each other's place. */
function chargeIn({
  usd_amount: usdAmount,
  price,
}: {
  readonly usd_amount?: string | null | undefined
  readonly price?: CurrencyAmount | null | undefined
}): Partial<Pick<PaymentLink, 'usdCents' | 'price'>> {
  if (usdAmount != null) return { usdCents: parseUsd(usdAmount), price: null }
  if (price != null) return { usdCents: null, price: wholePrice(price) }
  return { ...(usdAmount === null ? { usdCents: null } : {}), ...(price === null ? { price: null } : {}) }
}

/** As it is stored: every amount with all the decimals of its currency, which its schema checked. */
function buyerAmountIn(body: BuyerAmountBody | null): BuyerAmount | null {
  if (body === null) return null
  const { currency = 'USD', minimum, maximum, suggested = [] } = body
  const whole = (amount: string) => wholeAmount(amount, currency) ?? amount
  return {
    currency,
    minimum: minimum === undefined ? null : whole(minimum),
    maximum: maximum === undefined ? null : whole(maximum),
    suggested: suggested.map(whole),
  }
}

/** As it is stored, like a buyer's amounts. */
const tillIn = ({ currency, items = [], tips = [] }: TillBody): Till => ({
  currency,
  items: items.map((item) => ({ ...item, amount: wholeAmount(item.amount, currency) ?? item.amount })),
  tips,
})

export const listPaymentLinksRoute = defineRoute({
  method: 'get',
  path: '/payment-links',
  operationId: 'listPaymentLinks',
  tag: 'Payment links',
  summary: 'List payment links',
  description: 'Newest first.',
  scope: 'payment_links:read',
  query: listPaymentLinksQuery,
  success: { status: 200, description: 'A page of payment links.', schema: paymentLinkList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listPaymentLinks(tx, tenant, pageOf(query), query.q),
    )
    const data = page.links.map((link) => paymentLinkViewOf(deps, link))
    return listView('/payment-links', page.hasMore, data)
  },
})

export const getPaymentLinkRoute = defineRoute({
  method: 'get',
  path: '/payment-links/:id',
  operationId: 'getPaymentLink',
  tag: 'Payment links',
  summary: 'Get a payment link',
  scope: 'payment_links:read',
  success: { status: 200, description: 'The payment link.', schema: paymentLinkView },
  problems: [],
  exists: paymentLinkExists,

  handler: async (deps, { tenant, id }) => {
    const link = await withTransaction(deps.pool, tenant, (tx) => loadPaymentLink(tx, tenant, id))
    if (link === null) throw new ApiProblem('not_found')
    return paymentLinkViewOf(deps, link)
  },
})

export const updatePaymentLinkRoute = defineRoute({
  method: 'patch',
  path: '/payment-links/:id',
  operationId: 'updatePaymentLink',
  tag: 'Payment links',
  summary: 'Change a payment link',
  description:
    'Omitted fields stay as they are. Existing checkout sessions and invoices keep their amounts and deadlines.',
  scope: 'payment_links:write',
  body: updatePaymentLinkBody,
  example: { active: false },
  success: { status: 200, description: 'The payment link as it is now.', schema: paymentLinkView },
  problems: ['amount_too_small', 'amount_too_large', 'asset_not_accepted', 'rate_unavailable'],
  exists: paymentLinkExists,

  handler: async (deps, { tenant, id, body }) => {
    const { active, name, duration_minutes: durationMinutes } = body
    const outcome = await changePaymentLink(deps, {
      tenant,
      linkId: id,
      changes: {
        ...(active === undefined ? {} : { active }),
        ...(name === undefined ? {} : { name }),
        ...(durationMinutes === undefined ? {} : { durationMinutes }),
        ...chargeIn(body),
        ...(body.buyer_amount === undefined ? {} : { buyerAmount: buyerAmountIn(body.buyer_amount) }),
        ...(body.till === undefined ? {} : { till: tillIn(body.till) }),
      },
      market: await deps.marketOf(tenant),
      nowMs: deps.clock().getTime(),
    })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'refused') throw new ApiProblem(outcome.code, { param: outcome.param })
    if (outcome.kind === 'bad_buyer_amount') throw new ApiProblem('parameter_invalid', outcome)
    if (outcome.kind === 'amount_needed') {
      throw new ApiProblem('parameter_invalid', {
        param: 'usd_amount',
        message: 'A link without dynamic amounts needs an amount.',
      })
    }
    return paymentLinkViewOf(deps, outcome.link)
  },
})

export const renewStaffCodeRoute = defineRoute({
  method: 'post',
  path: '/payment-links/:id/renew-staff-code',
  operationId: 'renewStaffCode',
  tag: 'Payment links',
  summary: 'Renew a till’s staff code',
  description:
    'For a link with a `till`. Staff sign in with it at the link’s `url`, where they can sell and nothing else. It is shown here only, takes the place of the code before, and signs everybody out who used that.',
  scope: 'payment_links:write',
  success: { status: 200, description: 'The new code, shown once.', schema: staffCodeView },
  problems: [],
  exists: paymentLinkExists,

  handler: async (deps, { tenant, id }) => {
    const code = await renewStaffCode(deps, tenant, id)
    if (code === null) throw new ApiProblem('not_found')
    return { id, staff_code: code }
  },
})

/** Eight by eight dots of one colour. */
const EXAMPLE_PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAMAAADz0U65AAAAA1BMVEXMmWY7nafAAAAADElEQVQImWNgoA4AAABIAAF7pRHIAAAAAElFTkSuQmCC'

export const uploadTillPictureRoute = defineRoute({
  method: 'post',
  path: '/till-pictures',
  operationId: 'uploadTillPicture',
  tag: 'Payment links',
  summary: 'Upload a picture for a till',
  description:
    'For the items of a `till`, which name it by its digest. The same picture has the same digest. You have at most 100 in each mode; when there are more, those that no till shows are removed.',
  scope: 'payment_links:write',
  body: uploadTillPictureBody,
  example: { picture: EXAMPLE_PICTURE },
  success: { status: 200, description: 'The picture was kept.', schema: tillPictureView },
  problems: [],

  handler: async (deps, { tenant, body }) => {
    const encoded = await encodeSquare(Buffer.from(body.picture, 'base64'))
    const refuse = (message: string) => new ApiProblem('parameter_invalid', { param: 'picture', message })
    if (encoded.kind === 'refused') throw refuse(PICTURE_REFUSED[encoded.reason])
    const { digest } = encoded.logo
    const isKept = await withTransaction(deps.pool, tenant, (tx) =>
      keepPicture(tx, tenant, encoded.logo, deps.clock()),
    )
    if (!isKept) throw refuse('Your tills show 100 pictures already.')
    return { digest }
  },
})

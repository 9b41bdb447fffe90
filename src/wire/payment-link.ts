import { z } from 'zod'
import { SUGGESTED_MAX } from '../core/checkout/buyer-amount.ts'
import { ITEM_NAME_MAX, TILL_ITEMS_MAX, TIP_PERCENT_MAX, TIPS_MAX, tillUnits } from '../core/checkout/till.ts'
import { WINDOW_MINUTES } from '../core/payment-rules.ts'
import { CURRENCIES, currencyDecimals } from '../core/rates/currencies.ts'
import { currencyAmount, idView, line, picture, returnUrl, text, timestamp, usdAmount } from './fields.ts'
import { assetName, priceView, rateView } from './invoice.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

const DURATION_ERROR = `Must be one of ${WINDOW_MINUTES.join(', ')}`
const SESSION_MINUTES_MIN = 5
const SESSION_MINUTES_MAX = 1_440
const SESSION_MINUTES_ERROR = `Must be a whole number from ${SESSION_MINUTES_MIN} to ${SESSION_MINUTES_MAX}`

const linkName = text(1, 120).meta({ description: 'What the buyer pays for.' })
const duration = z
  .int({ error: DURATION_ERROR })
  .refine((value) => WINDOW_MINUTES.some((minutes) => minutes === value), { error: DURATION_ERROR })
  .meta({ enum: [...WINDOW_MINUTES] })

const buyerSum = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,11})(\.[0-9]{1,18})?$/, 'Must be an amount such as "5.00"')
  .meta({ examples: ['5.00'] })

const buyerAmount = z
  .strictObject({
    currency: z
      .enum(['USD', ...CURRENCIES], { error: `Must be USD, or one of ${CURRENCIES.join(', ')}` })
      .meta({ description: 'What the page asks in; that of the link’s own amount. Default: USD.' })
      .optional(),
    minimum: buyerSum.meta({ description: 'The least that a buyer may enter.' }).optional(),
    maximum: buyerSum.meta({ description: 'The most that a buyer may enter.' }).optional(),
    suggested: z
      .array(buyerSum)
      .max(SUGGESTED_MAX, `Must have at most ${SUGGESTED_MAX} amounts`)
      .meta({ description: 'Amounts that the page offers with one press.' })
      .optional(),
  })
  .superRefine(({ currency = 'USD', minimum, maximum, suggested = [] }, context) => {
    const decimals = currencyDecimals(currency)
    const message = `Must have ${decimals === 0 ? 'no' : `at most ${decimals}`} decimals, as ${currency} has`
    const named = [
      [['minimum'], minimum],
      [['maximum'], maximum],
      ...suggested.map((amount, at) => [['suggested', at], amount] as const),
    ] as const
    for (const [path, amount] of named) {
      if ((amount?.split('.')[1] ?? '').length > decimals)
        context.addIssue({ code: 'custom', path: [...path], message })
    }
  })
export type BuyerAmountBody = z.output<typeof buyerAmount>
const BUYER_AMOUNT = 'For tips, donations and top-ups: what buyers may pay where they say how much.'

const tillCurrency = z.enum(['USD', ...CURRENCIES], {
  error: `Must be USD, or one of ${CURRENCIES.join(', ')}`,
})

const till = z
  .strictObject({
    currency: tillCurrency.meta({ description: 'What the till counts in.' }),
    items: z
      .array(
        z.strictObject({
          name: line(1, ITEM_NAME_MAX),
          amount: z
            .string()
            .regex(/^(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?$/, 'Must be an amount such as "2.50"')
            .meta({ examples: ['2.50'] }),
          picture: z
            .string()
            .regex(/^[0-9a-f]{32}$/, 'Must be the digest of a picture')
            .meta({ description: 'The digest that `POST /till-pictures` answered.' })
            .optional(),
        }),
      )
      .max(TILL_ITEMS_MAX, `Must have at most ${TILL_ITEMS_MAX} items`)
      .meta({ description: 'What is sold with one press.' })
      .optional(),
    tips: z
      .array(z.int().min(1).max(TIP_PERCENT_MAX))
      .max(TIPS_MAX, `Must have at most ${TIPS_MAX} percentages`)
      .meta({ description: 'Percentages to choose a tip from. None: the till asks for no tip.' })
      .optional(),
  })
  .superRefine(({ currency, items = [], tips = [] }, context) => {
    for (const [at, { amount }] of items.entries()) {
      const units = tillUnits(amount, currency)
      const message = 'Must be more than zero, with no more decimals than its currency has'
      if (units === null || units === 0n)
        context.addIssue({ code: 'custom', path: ['items', at, 'amount'], message })
    }
    if (new Set(tips).size < tips.length)
      context.addIssue({ code: 'custom', path: ['tips'], message: 'Must have each percentage once' })
  })
export type TillBody = z.output<typeof till>
const TILL =
  'Makes the link’s page a till, at which staff take payments. Only with `allow_dynamic_amount`, and without an amount or `buyer_amount`.'

/** `POST /payment-links`. */
export const createPaymentLinkBody = z
  .strictObject({
    name: linkName,
    usd_amount: usdAmount
      .meta({
        description:
          'Charged where a checkout gives no total of its own; needed, or `price`, unless `allow_dynamic_amount` is true. 0.50 to 100000.00, and at least the minimum of the asset.',
      })
      .optional(),
    price: currencyAmount
      .meta({
        description:
          'Charged in your own currency in place of dollars: each buyer pays what it is worth at the rate of the moment, rounded up to the cent.',
      })
      .optional(),
    asset: assetName
      .meta({ description: 'The coin to begin with; your default coin of the moment unless given.' })
      .optional(),
    allow_dynamic_amount: z
      .boolean()
      .meta({
        description:
          'Whether checkout sessions, and buyers by `?usd=` or `?amount=&currency=`, give the total.',
      })
      .optional(),
    buyer_amount: buyerAmount
      .meta({ description: `${BUYER_AMOUNT} Only with \`allow_dynamic_amount\`.` })
      .optional(),
    till: till.meta({ description: TILL }).optional(),
    duration_minutes: duration
      .meta({
        description:
          'Minutes that a buyer has to pay, one of 15, 30, 60, 180, 720 and 1440; your default of the moment unless given.',
      })
      .optional(),
  })
  .superRefine((body, context) => {
    if (body.price !== undefined) return refuseBoth(body, context)
    if (body.usd_amount !== undefined || body.allow_dynamic_amount === true) return
    context.addIssue({ code: 'custom', path: ['usd_amount'], params: { code: 'parameter_missing' } })
  })
  .meta({ id: 'CreatePaymentLink' })

/** Two totals would be two answers to compare. */
function refuseBoth(body: { usd_amount?: unknown; price?: unknown }, context: z.RefinementCtx): void {
  if (body.usd_amount == null || body.price == null) return
  context.addIssue({ code: 'custom', path: ['price'], message: 'Cannot be combined with usd_amount' })
}

/** `PATCH /payment-links/:id`. What is left out stays as it is. */
export const updatePaymentLinkBody = z
  .strictObject({
    active: z
      .boolean()
      .meta({ description: 'An inactive link opens no new checkout; those under way are still paid.' })
      .optional(),
    name: linkName.optional(),
    duration_minutes: duration
      .nullable()
      .meta({ description: 'Null: your default of the moment.' })
      .optional(),
    usd_amount: usdAmount
      .nullable()
      .meta({
        description:
          'Null takes it away, where the link has dynamic amounts. An amount takes the place of a `price`.',
      })
      .optional(),
    price: currencyAmount
      .nullable()
      .meta({ description: 'Takes the place of `usd_amount`. Null takes the price away.' })
      .optional(),
    buyer_amount: buyerAmount
      .nullable()
      .meta({ description: `${BUYER_AMOUNT} Replaces all of it; null takes it away.` })
      .optional(),
    till: till.meta({ description: `${TILL} Replaces all of it.` }).optional(),
  })
  .superRefine(refuseBoth)
  .meta({ id: 'UpdatePaymentLink' })

export const paymentLinkView = z
  .object({
    id: idView('plink'),
    object: z.literal('payment_link'),
    livemode: z.boolean(),
    name: z.string(),
    slug: z.string().meta({ examples: ['pl_4fK9sQ2xZa'] }),
    url: z.string().meta({ description: 'What buyers open. Opening it makes nothing.' }),
    usd_amount: z.string().nullable().meta({ description: 'Null also where the link has a `price`.' }),
    price: priceView.nullable().meta({ description: 'What it charges in your own currency.' }),
    asset: assetName.nullable().meta({ description: 'Null: your default coin of the moment.' }),
    allow_dynamic_amount: z.boolean(),
    buyer_amount: z
      .object({
        currency: z.string(),
        minimum: z.string().nullable(),
        maximum: z.string().nullable(),
        suggested: z.array(z.string()),
      })
      .nullable()
      .meta({ description: BUYER_AMOUNT }),
    till: z
      .object({
        currency: z.string(),
        items: z.array(z.object({ name: z.string(), amount: z.string(), picture: z.string().optional() })),
        tips: z.array(z.int()),
      })
      .nullable()
      .meta({ description: 'What staff sell at it; null for a page that buyers open.' }),
    duration_minutes: z.int().nullable().meta({ description: 'Null: your default of the moment.' }),
    active: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'PaymentLink' })

/** `POST /payment-links/:id/renew-staff-code`. */
export const staffCodeView = z
  .object({ id: idView('plink'), staff_code: z.string().meta({ examples: ['48219073'] }) })
  .meta({ id: 'StaffCode' })

/** `POST /till-pictures`. */
export const uploadTillPictureBody = z
  .strictObject({
    picture: picture.meta({
      description: 'In base64; with the request at most 64 KiB. The square in its middle is shown.',
    }),
  })
  .meta({ id: 'UploadTillPicture' })
export const tillPictureView = z.object({ digest: z.string() }).meta({ id: 'TillPicture' })

export const paymentLinkList = listOf(paymentLinkView)

/** `GET /payment-links`. */
export const listPaymentLinksQuery = z
  .strictObject({
    ...listParameters('plink'),
    q: text(1, 255)
      .meta({ description: 'Part of a name or an id, in any case of letters; among the newest 10,000.' })
      .optional(),
  })
  .superRefine(refuseTwoPositions)

/** `POST /payment-links/:id/checkout-sessions`. */
export const createCheckoutSessionBody = z
  .strictObject({
    order_reference: text(1, 255).meta({
      description: 'Your order. One order has one session, for ever and in both modes together.',
    }),
    usd_amount: usdAmount
      .meta({ description: 'Total of the order, 0.50 to 100000.00; needed unless `price` is given.' })
      .optional(),
    price: currencyAmount
      .meta({
        description:
          'Total of the order in your own currency. `usd_amount` is what it is worth when the session is created, rounded up to the cent.',
      })
      .optional(),
    expires_in_minutes: z
      .int({ error: SESSION_MINUTES_ERROR })
      .min(SESSION_MINUTES_MIN, SESSION_MINUTES_ERROR)
      .max(SESSION_MINUTES_MAX, SESSION_MINUTES_ERROR)
      .meta({
        description:
          'Payment window of this session, 5 to 1440; the one of the link unless given, then your default.',
      })
      .optional(),
    return_url: returnUrl.optional(),
  })
  .superRefine((body, context) => {
    if (body.usd_amount !== undefined || body.price !== undefined) return refuseBoth(body, context)
    context.addIssue({ code: 'custom', path: ['usd_amount'], params: { code: 'parameter_missing' } })
  })
  .meta({ id: 'CreateCheckoutSession' })

export const checkoutSessionView = z
  .object({
    id: idView('cs'),
    object: z.literal('checkout_session'),
    livemode: z.boolean(),
    payment_link_id: idView('plink'),
    order_reference: z.string(),
    return_url: z.string().nullable(),
    usd_amount: z.string(),
    price: priceView.nullable().meta({
      description: 'What was asked for in your own currency; `usd_amount` was computed from it.',
    }),
    price_rate: rateView.nullable().meta({
      description:
        'The rate that turned `price` into `usd_amount`, in US dollars per unit, and where it came from.',
    }),
    status: z.enum(['active', 'completed', 'expired', 'cancelled']),
    invoice_id: idView('inv').nullable().meta({ description: 'Set when the buyer continues.' }),
    expires_at: timestamp.meta({
      description: 'The final deadline of the payment; opening the URL does not renew it.',
    }),
    checkout_url: z.string().meta({
      description: 'Send the buyer here, unchanged. It shows neither the order nor the total.',
    }),
    replayed: z.boolean().meta({
      description:
        'Whether the request found the session made before. False wherever a session is only read.',
    }),
    created_at: timestamp,
  })
  .meta({ id: 'CheckoutSession' })

export const checkoutSessionList = listOf(checkoutSessionView)

/** `GET /payment-links/:id/checkout-sessions`. */
export const listCheckoutSessionsQuery = z
  .strictObject({ ...listParameters('cs'), order_reference: text(1, 255).optional() })
  .superRefine(refuseTwoPositions)

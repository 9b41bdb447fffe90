import { z } from 'zod'
import { ASSET_IDS, FOREIGN_COIN_IDS } from '../core/assets.ts'
import { INVOICE_STATUSES, PAYMENT_REVIEW_REASONS, PAYMENT_STATUSES } from '../core/invoice/types.ts'
import { DOLLARS, TOKEN_SYMBOLS } from '../core/token-symbols.ts'
import {
  amountView,
  coinAmount,
  currencyAmount,
  emailAddress,
  id,
  idView,
  instant,
  line,
  returnUrl,
  text,
  timestamp,
  usdAmount,
} from './fields.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

export const assetName = z.enum(ASSET_IDS, { error: `Must be one of ${ASSET_IDS.join(', ')}` })

const requestedNames = [...ASSET_IDS, ...TOKEN_SYMBOLS, DOLLARS] as const
const requestedAssetName = z.enum(requestedNames, { error: `Must be one of ${requestedNames.join(', ')}` })

/** What may arrive: besides the assets, a token of ours where no invoice asks for it. */
export const paymentAssetName = z.enum([...ASSET_IDS, ...FOREIGN_COIN_IDS]).meta({
  description:
    'The asset; or what no invoice asks for and no payout is made in, and waits for you (`wrong_asset`): `WSOL`, wrapped SOL.',
})

const METADATA_KEYS_MAX = 50
const METADATA_KEY_LENGTH_MAX = 64
const METADATA_BYTES_MAX = 8 * 1024

/** The merchant's own object, kept and given back exactly as it came. */
const metadata = z
  .custom<{ [key: string]: unknown }>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'Must be an object' },
  )
  .superRefine((value, context) => {
    const keys = Object.keys(value)
    if (keys.length > METADATA_KEYS_MAX) {
      context.addIssue({ code: 'custom', message: `Must have at most ${METADATA_KEYS_MAX} keys` })
    }
    const long = keys.find((key) => key === '' || [...key].length > METADATA_KEY_LENGTH_MAX)
    if (long !== undefined) {
      context.addIssue({
        code: 'custom',
        message: `Keys must have 1 to ${METADATA_KEY_LENGTH_MAX} characters`,
      })
    }
    if (new TextEncoder().encode(JSON.stringify(value)).length > METADATA_BYTES_MAX) {
      context.addIssue({
        code: 'custom',
        message: `Must be at most ${METADATA_BYTES_MAX / 1024} KiB of JSON`,
      })
    }
  })
  .meta({
    type: 'object',
    additionalProperties: true,
    maxProperties: METADATA_KEYS_MAX,
    propertyNames: { minLength: 1, maxLength: METADATA_KEY_LENGTH_MAX },
    description:
      'Any JSON object of yours, at most 8 KiB; returned in the API and in events exactly as given.',
  })

/** `POST /invoices`. */
export const createInvoiceBody = z
  .strictObject({
    usd_amount: usdAmount.meta({ description: 'Total in US dollars, 0.50 to 100000.00.' }).optional(),
    price: currencyAmount
      .meta({
        description:
          'Total in your own currency in place of dollars. `usd_amount` is what it is worth at the rate of the moment, rounded up to the cent: 0.50 to 100000.00 dollars.',
      })
      .optional(),
    amount: coinAmount
      .meta({ description: 'Total in coins in place of dollars; needs `asset`, refuses `usd_amount`.' })
      .optional(),
    asset: requestedAssetName
      .meta({
        description:
          'Starting coin; your default coin unless given. A token without its network (`USDC`, `USDT`): it can be paid on every network on which you accept it, `also_accepts` names them, and payments on several of them are added up. `USD` takes the dollar tokens of every issuer, each on every such network, at the rates of `token_rates`.',
      })
      .optional(),
    allow_asset_selection: z
      .boolean()
      .meta({ description: 'Whether the buyer may change the coin.' })
      .optional(),
    customer_email: emailAddress.optional(),
    external_reference: text(0, 255).meta({ description: 'Your own reference.' }).optional(),
    description: line(1, 500)
      .meta({ description: 'What the buyer pays for, on one line: shown on the page and the receipt.' })
      .optional(),
    metadata: metadata.optional(),
    return_url: returnUrl.optional(),
  })
  .superRefine((body, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (body.price !== undefined) {
      if (body.usd_amount !== undefined) refuse('price', 'Cannot be combined with usd_amount')
      if (body.amount !== undefined) refuse('price', 'Cannot be combined with amount')
      return
    }
    if (body.amount === undefined) {
      if (body.usd_amount === undefined) {
        context.addIssue({ code: 'custom', path: ['usd_amount'], params: { code: 'parameter_missing' } })
      }
      return
    }
    if (body.usd_amount !== undefined) refuse('amount', 'Cannot be combined with usd_amount')
    if (body.allow_asset_selection === true) {
      refuse('allow_asset_selection', 'Cannot be true where the coin amount is fixed')
    }
    if (body.asset === undefined) {
      context.addIssue({ code: 'custom', path: ['asset'], params: { code: 'parameter_missing' } })
    }
  })
  .meta({ id: 'CreateInvoice' })

export const paymentView = z
  .object({
    id: idView('pay'),
    asset: paymentAssetName,
    txid: z.string(),
    output_index: z.int(),
    amount: amountView,
    transfers_count: z.int().meta({
      description:
        'How many outputs or transfers the amount sums: those of one transaction; or, beyond the first 50 payments of an invoice, those of one block, whose hash `txid` then is, with an `output_index` below zero.',
    }),
    status: z.enum(PAYMENT_STATUSES),
    confirmations: z.int(),
    confirmations_required: z.int().nullable().meta({
      description: 'Blocks that make the payment final; null where `finality` is a word of the chain.',
    }),
    finality: z.enum(['blocks', 'safe', 'finalized']).meta({
      description:
        'What makes the payment final: a count of blocks (`confirmations_required`), or that the chain itself calls its block `safe` or `finalized`.',
    }),
    late: z.boolean().meta({ description: 'Seen within ten minutes after the deadline.' }),
    review_reason: z.enum(PAYMENT_REVIEW_REASONS).nullable(),
    detected_at: timestamp,
    confirmed_at: timestamp.nullable(),
  })
  .meta({ id: 'Payment' })

/** An amount of another currency than the US dollar, as we answer it. */
export const priceView = z.object({
  amount: z.string().meta({ examples: ['49.99'] }),
  currency: z.string(),
})

export const rateView = z.object({
  usd_per_unit: z.string(),
  quoted_at: timestamp,
  sources: z.array(z.object({ name: z.string(), usd_per_unit: z.string(), at: timestamp })),
})

const tipReadingView = z.object({
  network: z.string(),
  tip_height: z.int(),
  tip_hash: z.string(),
  read_at: timestamp,
})

const expiryReadingView = tipReadingView.extend({
  providers: z.array(z.string()).meta({ description: 'Host names of the nodes or servers that were read.' }),
  others: z
    .array(tipReadingView)
    .meta({ description: 'How far the networks of `also_accepts` had been read.' }),
})

const alsoAcceptedView = z.object({
  asset: assetName,
  payment_uri: z.string(),
  address: z.string().meta({ description: 'All EVM networks share one; Solana has its own.' }),
  amount_remaining: amountView.meta({ description: 'What is left, where it is sent in this asset.' }),
})

const dustView = z.object({ asset: paymentAssetName, transfers_count: z.int(), amount: amountView })

export const invoiceView = z
  .object({
    id: idView('inv'),
    object: z.literal('invoice'),
    livemode: z.boolean(),
    status: z.enum(INVOICE_STATUSES),
    status_reason: z.string().nullable(),
    review_reason: z.enum([...PAYMENT_REVIEW_REASONS, 'reorged']).nullable(),
    usd_amount: z.string().nullable().meta({ description: 'Null where a coin amount was asked for.' }),
    price: priceView.nullable().meta({
      description:
        'What was asked for in your own currency; `usd_amount` was computed from it. Null where dollars or coins were asked for.',
    }),
    price_rate: rateView.nullable().meta({
      description:
        'The rate that turned `price` into `usd_amount`, in US dollars per unit, and where it came from.',
    }),
    amount_source: z.enum(['merchant', 'buyer']),
    asset: assetName,
    amount: amountView,
    amount_detected: amountView,
    amount_confirmed: amountView,
    amount_remaining: amountView,
    address: z.string(),
    payment_uri: z.string(),
    also_accepts: z.array(alsoAcceptedView).meta({
      description:
        'The same token on other networks, which counts as `asset` does; of an invoice in `USD` other issuers’ as well, at their rates.',
    }),
    rate: rateView
      .nullable()
      .meta({ description: 'The price that fixed the coin amount, and where it came from.' }),
    token_rates: z.array(rateView.extend({ symbol: z.string() })).meta({
      description:
        'Of an invoice in `USD`, at what each token counts. `amount_detected`, `amount_confirmed` and `amount_remaining` are then what came in all tokens, as worth in `asset`. Else empty.',
    }),
    allow_asset_selection: z.boolean(),
    customer_email: z.string().nullable(),
    external_reference: z.string().nullable(),
    order_reference: z.string().nullable(),
    description: z.string().nullable().meta({ description: 'What the buyer pays for, as you said.' }),
    expected_usd_amount: z.string().nullable(),
    checkout_session_id: z.string().nullable(),
    payment_link_id: z.string().nullable(),
    payment_link_name: z.string().nullable().meta({ description: 'As it is now. Events leave it out.' }),
    metadata: z.record(z.string(), z.unknown()).nullable(),
    return_url: z.string().nullable(),
    checkout_url: z.string().meta({ description: 'Where to send the buyer. Events leave it out.' }),
    expires_at: timestamp,
    created_at: timestamp,
    paid_at: timestamp.nullable(),
    expiry_reading: expiryReadingView.nullable().meta({
      description:
        'Why it expired: every block up to this tip, and the mempool at it, were read, and nothing paid. Null before it expires.',
    }),
    cancelled_at: timestamp.nullable(),
    reopened_from: z.string().nullable(),
    payments: z.array(paymentView).meta({
      description:
        'The 20 that matter most, oldest first: the newest, then those that count towards the amount before those that wait for your decision, the largest first. All are at `/invoices/:id/payments`.',
    }),
    payments_count: z.int().meta({ description: 'How many payments there are in all.' }),
    dust: z.array(dustView).meta({
      description: 'What came in amounts too small to be a payment: recorded, and otherwise ignored.',
    }),
  })
  .meta({ id: 'Invoice' })

export const invoiceList = listOf(invoiceView)

export const paymentList = listOf(paymentView)

/** `GET /invoices/:id/payments`. */
export const listPaymentsQuery = z.strictObject(listParameters('pay')).superRefine(refuseTwoPositions)

/** `GET /invoices`. */
export const listInvoicesQuery = z
  .strictObject({
    ...listParameters('inv'),
    status: z.enum(INVOICE_STATUSES).optional(),
    asset: assetName.optional(),
    attention: z
      .literal('open', { error: 'Must be open' })
      .meta({
        description:
          'Only invoices that wait for your decision: under review, overpaid, or still paid in part after the deadline, and not dismissed since the last payment. Of each kind the newest 1,000.',
      })
      .optional(),
    external_reference: text(1, 255).optional(),
    order_reference: text(1, 255).optional(),
    payment_link_id: id('plink').meta({ description: 'Only invoices of this payment link.' }).optional(),
    created_after: instant.optional(),
    created_before: instant.optional(),
    q: text(1, 255)
      .meta({
        description:
          'The beginning of an id, reference or email address, letters as written; a whole deposit address or transaction id.',
      })
      .optional(),
  })
  .superRefine(refuseTwoPositions)

/** `POST /invoices/:id/resolve`. */
export const resolveInvoiceBody = z
  .strictObject({
    resolution: z.enum(['accept', 'dismiss'], { error: 'Must be accept or dismiss' }),
    note: text(0, 1_000).meta({ description: 'For your own records.' }).optional(),
    payment_ids: z
      .array(id('pay'))
      .min(1)
      .max(100)
      .meta({
        description:
          'For `dismiss`: the payments that you have looked at. Only their reviews close, and one that came since stays open. Without it all reviews close.',
      })
      .optional(),
  })
  .superRefine(({ resolution, payment_ids: ids }, context) => {
    if (resolution === 'accept' && ids !== undefined)
      context.addIssue({ code: 'custom', path: ['payment_ids'], message: 'Is for dismiss alone' })
  })
  .meta({ id: 'ResolveInvoice' })

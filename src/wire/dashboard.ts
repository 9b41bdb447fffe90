import { z } from 'zod'
import { ASSET_IDS } from '../core/assets.ts'
import { BUYER_EMAIL_KINDS, BUYER_LANGUAGES, NOT_SENT_REASONS } from '../core/checkout/buyer-emails.ts'
import { CURRENCIES } from '../core/rates/currencies.ts'
import { coinAmount, idView, instant, line, lines, picture, text, timestamp } from './fields.ts'
import { assetName, paymentAssetName } from './invoice.ts'
import { listOf, listParameters, refuseTwoPositions, wholeNumber } from './list.ts'
import { SCOPES } from './scopes.ts'
import { endpointFormat } from './webhook-endpoint.ts'

/** What the dashboard alone asks for: nobody but a person who is signed in reaches these. */

export const apiKeyView = z
  .object({
    id: idView('key'),
    object: z.literal('api_key'),
    livemode: z.boolean(),
    name: z.string().nullable(),
    last_characters: z.string().nullable().meta({ description: 'The end of the key, to tell keys apart.' }),
    scopes: z.array(z.string()),
    created_at: timestamp,
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'ApiKey' })
export const createdApiKeyView = apiKeyView
  .extend({ key: z.string().meta({ description: 'Shown here only.', examples: ['sk_test_…'] }) })
  .meta({ id: 'CreatedApiKey' })
export const apiKeyList = listOf(apiKeyView)
export const createApiKeyBody = z.strictObject({
  name: text(1, 120),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
})
export const listApiKeysQuery = z
  .strictObject({
    ...listParameters('key'),
    q: text(1, 255).meta({ description: 'Part of a name or an id, or the last four characters.' }).optional(),
  })
  .superRefine(refuseTwoPositions)

const percent = z
  .string()
  .regex(/^(?:[0-9]|[1-4][0-9])(?:\.[0-9]{1,2})?$|^50(?:\.0{1,2})?$/, 'Must be a percentage from "0" to "50"')
const capUsd = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?$/, 'Must be a dollar amount such as "1.00"')
const tolerance = z.strictObject({ percent, cap_usd: capUsd })
const tier = z.union([z.int().min(1).max(1_000), z.enum(['safe', 'finalized'])])
const tiers = z.tuple([tier, tier, tier])
const window = z.literal([15, 30, 60, 180, 720, 1440])

/** Emails to the `customer_email` of new invoices. */
const buyerEmailRules = {
  buyer_link_emails: z.boolean().meta({ description: 'The link, when an invoice is created.' }),
  buyer_reminder_emails: z.boolean().meta({
    description: 'A reminder with a quarter of the time left, if there are two hours or more to pay.',
  }),
  buyer_receipt_emails: z.boolean().meta({ description: 'The receipt, once it is paid.' }),
  buyer_email_language: z.enum(BUYER_LANGUAGES),
}

export const paymentRulesView = z
  .object({
    object: z.literal('payment_rules'),
    livemode: z.boolean(),
    accepted_assets: z.array(assetName).nullable().meta({
      description: 'Null: all in test mode, in live mode those whose network runs here.',
    }),
    default_asset: assetName.nullable(),
    window_minutes: z.int(),
    tolerance_under: tolerance,
    tolerance_over: tolerance,
    minimums: z.record(z.string(), z.string()),
    confirmations: z.record(z.string(), tiers).meta({
      description: 'For invoices under 1,000 US dollars, under 10,000, and from there on.',
    }),
    reopen_expired: z.boolean(),
    any_network: z.boolean(),
    stablecoins_at_par: z.boolean().meta({
      description:
        'Whether each dollar token counts as a dollar on invoices in `USD`, in place of its own rate.',
    }),
    receipt_emails: z.boolean(),
    ...buyerEmailRules,
    solana_funded_addresses: z.boolean(),
    payout_daily_limits: z.record(z.string(), z.string()).meta({
      description: 'Coins that payouts may take out of the balance in 24 hours, by asset; absent: no limit.',
    }),
  })
  .meta({ id: 'PaymentRules' })
export const updatePaymentRulesBody = z.strictObject({
  accepted_assets: z.array(assetName).min(1).max(ASSET_IDS.length).nullable().optional(),
  default_asset: assetName.nullable().optional(),
  window_minutes: window.optional(),
  tolerance_under: tolerance.optional(),
  tolerance_over: tolerance.optional(),
  minimums: z.partialRecord(assetName, coinAmount).optional(),
  confirmations: z.partialRecord(assetName, tiers).optional(),
  reopen_expired: z.boolean().optional(),
  any_network: z.boolean().optional(),
  stablecoins_at_par: z.boolean().optional(),
  receipt_emails: z.boolean().optional(),
  ...z.object(buyerEmailRules).partial().shape,
  solana_funded_addresses: z.boolean().optional(),
  payout_daily_limits: z.partialRecord(assetName, coinAmount).optional(),
})

export const auditEntryView = z
  .object({
    id: idView('aud'),
    object: z.literal('audit_entry'),
    livemode: z.boolean(),
    number: z.int().meta({ description: '1, 2, 3… in the chain of the merchant, over both modes.' }),
    actor: z.string(),
    action: z.string(),
    resource_id: z.string().nullable(),
    phase: z.enum(['begun', 'done', 'refused']),
    code: z.string().nullable(),
    request_id: z.string(),
    created_at: timestamp,
    hash: z.string(),
  })
  .meta({ id: 'AuditEntry' })
export const auditEntryList = listOf(auditEntryView)
export const listAuditEntriesQuery = z
  .strictObject({ ...listParameters('aud') })
  .superRefine(refuseTwoPositions)

export const requestLogView = z
  .object({
    id: idView('log'),
    object: z.literal('request_log'),
    livemode: z.boolean(),
    request_id: z.string(),
    caller: z.string().meta({ description: 'The API key or the person.' }),
    method: z.string(),
    route: z.string(),
    path: z.string(),
    status: z.int(),
    error_code: z.string().nullable(),
    duration_ms: z.int(),
    created_at: timestamp,
  })
  .meta({ id: 'RequestLog' })
export const requestLogList = listOf(requestLogView)
export const listRequestLogsQuery = z
  .strictObject({
    ...listParameters('log'),
    outcome: z.literal('failed').meta({ description: 'Only those that were refused or failed.' }).optional(),
    path: text(1, 255).meta({ description: 'Only those whose path begins so.' }).optional(),
    caller: text(1, 64).meta({ description: 'Only those of this API key or person.' }).optional(),
    created_after: instant.optional(),
    created_before: instant.optional(),
  })
  .superRefine(refuseTwoPositions)

export const customerView = z
  .object({
    id: z.string().meta({ description: 'The email address, or the reference where no invoice has one.' }),
    object: z.literal('customer'),
    livemode: z.boolean(),
    email: z.string().nullable(),
    reference: z.string().nullable().meta({ description: 'That of the newest invoice.' }),
    invoices: z.int(),
    paid: z.int(),
    paid_usd: z.string().meta({ description: 'What the paid ones asked for, in US dollars.' }),
    first_invoice_at: timestamp,
    last_invoice_at: timestamp,
    last_invoice_id: idView('inv'),
  })
  .meta({ id: 'Customer' })
export const customerList = listOf(customerView)
/** `GET /invoices/:id/note`. */
export const invoiceNoteView = z
  .object({
    object: z.literal('invoice_note'),
    text: z.string().nullable(),
    updated_by: z.string().nullable().meta({ description: 'The person who wrote it.' }),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'InvoiceNote' })

/** `PATCH /invoices/:id/note`. */
export const buyerEmailsView = z
  .object({
    object: z.literal('buyer_emails'),
    data: z.array(
      z.object({
        kind: z.enum(BUYER_EMAIL_KINDS),
        status: z.enum(['waiting', 'sent', 'not_sent']),
        reason: z.enum(NOT_SENT_REASONS).nullable().meta({ description: 'Why it was not sent.' }),
        at: timestamp.nullable().meta({
          description: 'When it was sent or refused, or will be due; null where it waits for the payment.',
        }),
      }),
    ),
  })
  .meta({ id: 'BuyerEmails' })

export const updateInvoiceNoteBody = z
  .strictObject({ text: text(0, 2_000) })
  .meta({ id: 'UpdateInvoiceNote' })

/** The lists of the dashboard whose filters can be kept under a name. */
export const SAVED_LISTS = ['invoices', 'payouts', 'events', 'request_logs'] as const
const FILTERS_MAX = 10
const savedQuery = z
  .record(z.string().regex(/^[a-z_]{1,30}$/, 'Must be the name of a filter'), text(1, 255))
  .refine((query) => Object.keys(query).length <= FILTERS_MAX, {
    error: `Must have at most ${FILTERS_MAX} filters`,
  })

/** `GET /saved-views`. */
export const savedViewsView = z
  .object({
    object: z.literal('saved_views'),
    views: z.array(
      z.object({ list: z.enum(SAVED_LISTS), name: z.string(), query: z.record(z.string(), z.string()) }),
    ),
  })
  .meta({ id: 'SavedViews' })

/** `PATCH /saved-views`. */
export const updateSavedViewsBody = z
  .strictObject({
    list: z.enum(SAVED_LISTS, { error: 'Must be a list whose views can be saved' }),
    name: text(1, 60),
    query: savedQuery.nullable(),
  })
  .meta({ id: 'UpdateSavedViews' })

export const listCustomersQuery = z.strictObject({
  limit: wholeNumber(100, 'Maximum items to return, from 1 to 100. Default: 10.'),
  q: text(1, 255).meta({ description: 'The beginning of an email address or a reference.' }).optional(),
})

export const statisticsQuery = z.strictObject({
  days: wholeNumber(180, 'Number of days, including today. Default: 30.'),
})
const figures = {
  received_usd: z.string().meta({
    description:
      'What became final then, in US dollars as it was worth when it came, less what the chain took back then: below zero where that was more.',
  }),
  created: z.int().meta({ description: 'Invoices that were created then.' }),
  paid: z.int().meta({ description: 'How many of those are paid by now.' }),
}
export const statisticsView = z
  .object({
    object: z.literal('statistics'),
    livemode: z.boolean(),
    ...figures,
    needs_review: z.int().meta({ description: 'Invoices that wait for a decision now.' }),
    days: z.array(
      z.object({
        day: z.string().meta({ format: 'date' }),
        ...figures,
        exceptions: z.int().meta({
          description: 'How many of those created are paid in part, overpaid or under review now.',
        }),
        median_seconds_to_pay: z.int().nullable(),
        attempts: z.int().meta({ description: 'Webhook attempts on that day.' }),
        attempts_ok: z.int(),
      }),
    ),
    assets: z.array(
      z.object({
        asset: paymentAssetName,
        received: z.string().meta({ description: 'The same in coins.' }),
        received_usd: figures.received_usd,
        median_seconds_to_pay: z.int().nullable().meta({
          description:
            'From creation to paid, of invoices that nobody had to accept; null where none is paid.',
        }),
      }),
    ),
    webhooks: z.object({ attempts: z.int(), ok: z.int() }),
  })
  .meta({ id: 'Statistics' })

export const merchantView = z
  .object({
    id: idView('mer'),
    object: z.literal('merchant'),
    name: z.string().meta({ description: 'The name of the shop; buyers see it unless a brand name is set.' }),
    email: z.string(),
    brand_name: z.string().nullable(),
    brand_colour: z.string().nullable(),
    logo_url: z.string().nullable(),
    legal_name: z.string().nullable().meta({ description: 'Who sells, for receipts.' }),
    postal_address: z.string().nullable(),
    tax_number: z.string().nullable(),
    home_currency: z.enum(CURRENCIES).nullable().meta({
      description: 'What new prices begin with in the dashboard (ISO 4217). Null is US dollars.',
    }),
    home_currency_usd: z.string().nullable().meta({
      description: 'US dollars that one unit of it is worth now. Null while there is no rate.',
    }),
    role: z.enum(['owner', 'admin', 'member', 'viewer']).meta({ description: 'Yours.' }),
    sends_mail: z.boolean().meta({
      description: 'Whether this server sends emails; without, they are in its log only.',
    }),
    webhook_formats: z.array(endpointFormat).meta({
      description: 'What a webhook endpoint’s `format` may be here; Paylink’s own first.',
    }),
    created_at: timestamp,
  })
  .meta({ id: 'Merchant' })
export const updateMerchantBody = z.strictObject({
  brand_name: text(1, 120).nullable().optional(),
  brand_colour: z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, 'Must be a colour such as "#1a73e8"')
    .nullable()
    .optional(),
  logo: picture.nullable().optional(),
  legal_name: line(1, 200).meta({ description: 'Who sells, for receipts.' }).nullable().optional(),
  postal_address: lines(1, 400, 5).meta({ description: 'At most five lines.' }).nullable().optional(),
  tax_number: line(1, 64)
    .meta({ description: 'Your number with the tax office or the register of companies, for receipts.' })
    .nullable()
    .optional(),
  home_currency: z
    .enum(CURRENCIES, { error: `Must be one of ${CURRENCIES.join(', ')}, or null for US dollars` })
    .nullable()
    .optional(),
})

export const noticesView = z
  .object({
    object: z.literal('notices'),
    paid: z.boolean(),
    attention: z.boolean(),
    endpoint_disabled: z.boolean(),
    sign_in: z.boolean(),
  })
  .meta({ id: 'Notices' })
export const updateNoticesBody = z.strictObject({
  paid: z.boolean().optional(),
  attention: z.boolean().optional(),
  endpoint_disabled: z.boolean().optional(),
  sign_in: z.boolean().optional(),
})

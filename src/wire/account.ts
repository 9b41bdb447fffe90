import { z } from 'zod'
import { amountView, idView, instant, timestamp } from './fields.ts'
import { assetName, paymentAssetName, rateView as rateEvidenceView } from './invoice.ts'
import { listOf, listParameters, refuseTwoPositions } from './list.ts'

/** What a merchant accepts in one asset, and whether an invoice could be made in it now. */
export const assetView = z
  .object({
    asset: assetName,
    object: z.literal('asset'),
    livemode: z.boolean(),
    name: z.string(),
    symbol: z.string(),
    network: z.string().meta({ description: 'The network as a buyer knows it.' }),
    decimals: z.int(),
    minimum: amountView.meta({ description: 'Smallest amount of an invoice, in coins.' }),
    is_default: z.boolean().meta({ description: 'Taken for an invoice that names no asset.' }),
    payment_window_minutes: z.int().meta({ description: 'Window of an invoice made now.' }),
    payment_windows: z.array(z.int()).meta({ description: 'Windows that can be chosen, in minutes.' }),
    available: z.boolean(),
    unavailable_code: z.enum(['asset_unavailable', 'rate_unavailable']).nullable().meta({
      description: 'The code that creating an invoice in US dollars would answer with.',
    }),
    unavailable_reason: z.string().nullable(),
    network_status: z.enum(['starting', 'ok', 'syncing', 'unavailable', 'halted']).nullable().meta({
      description:
        'How the network is followed now. While it is `syncing` or `unavailable` invoices can be made, and their payments are seen once it is `ok` again. Null where no node is connected.',
    }),
    network_reason: z.string().nullable().meta({
      description:
        'What kind of fault it has, or why payments may wait. `paylink doctor` names the cause and the fix.',
    }),
    test_address: z.string().nullable().meta({
      description: 'An address to try a payout with; null where the network is no sandbox chain.',
    }),
  })
  .meta({ id: 'Asset' })

export const assetList = listOf(assetView)

export const rateView = z
  .object({
    asset: assetName,
    object: z.literal('rate'),
    livemode: z.boolean(),
    available: z.boolean(),
    usd_per_unit: z.string().nullable().meta({ description: 'US dollars per coin.' }),
    quoted_at: timestamp.nullable(),
    sources: z.array(z.object({ name: z.string(), usd_per_unit: z.string(), at: timestamp })),
    unavailable_reason: z.string().nullable(),
  })
  .meta({ id: 'Rate' })

export const rateList = listOf(rateView)

/** Frozen deposits of a mode that are listed, at most. */
export const FROZEN_LISTED_MAX = 20

export const balanceView = z
  .object({
    asset: paymentAssetName,
    object: z.literal('balance'),
    livemode: z.boolean(),
    available: amountView.meta({ description: 'Final and yours to pay out.' }),
    pending: amountView.meta({ description: 'In a block, not yet final.' }),
    suspense: amountView.meta({
      description: 'Final, and waiting for your decision, or in a coin that no payout is made in (`WSOL`).',
    }),
    reserved: amountView.meta({ description: 'Set aside for payouts under way.' }),
    frozen: z
      .array(
        z.object({
          invoice_id: idView('inv').nullable(),
          deposit_address_id: idView('da').nullable(),
          amount: amountView,
        }),
      )
      .max(FROZEN_LISTED_MAX)
      .meta({
        description:
          'Part of `available` that the issuer of the token lets nobody move from the address of that invoice, or that permanent address, the largest first: no payout can be made of it.',
      }),
    shortfall: amountView.meta({
      description:
        'Zero, or below it: what was paid out to you of a payment that the chain took back afterwards. What comes next makes up for it before anything is available.',
    }),
  })
  .meta({ id: 'Balance' })

export const balanceList = listOf(balanceView)

/** `GET /balances`. */
export const listBalancesQuery = z.strictObject({
  at: instant
    .meta({ description: 'The balances as they stood then, without `frozen`. Default: now.' })
    .optional(),
})

const ACCOUNTS = ['available', 'pending', 'suspense', 'reserved', 'shortfall'] as const

/** `GET /balances/entries`. */
export const listBalanceEntriesQuery = z
  .strictObject({
    ...listParameters('ent'),
    asset: paymentAssetName.meta({ description: 'Only entries in this asset.' }).optional(),
    account: z
      .enum(ACCOUNTS, { error: `Must be one of ${ACCOUNTS.join(', ')}` })
      .meta({ description: 'Only entries of this balance.' })
      .optional(),
    created_after: instant
      .meta({ description: 'Only what moved `GET /balances?at=` this time to what it is now.' })
      .optional(),
    created_before: instant.meta({ description: 'Only what made `GET /balances?at=` this time.' }).optional(),
  })
  .superRefine(refuseTwoPositions)

/** One line of the statement: what came into an account of the merchant's or went out of it, and what stood there then. */
export const balanceEntryView = z
  .object({
    id: idView('ent'),
    object: z.literal('balance_entry'),
    livemode: z.boolean(),
    asset: paymentAssetName,
    account: z.enum(ACCOUNTS).meta({ description: 'Which of the balances of this asset it moved.' }),
    amount: z
      .string()
      .meta({ description: 'Coins that came in, or, with a minus, went out.', examples: ['-0.015'] }),
    balance_after: amountView.meta({ description: 'What stood in that account right after it.' }),
    usd_value: z
      .string()
      .nullable()
      .meta({
        description:
          "What the amount was worth in US dollars when it came: at the invoice's rate where it counts towards the invoice by itself, else at the price of that moment, as for money that came much too late. What the chain takes back goes out at the same value. Null where no price had ever been known.",
        examples: ['-49.99'],
      }),
    home_value: z
      .object({
        currency: z.string(),
        amount: z
          .string()
          .nullable()
          .meta({
            description:
              'With a minus where it went out. Null where no rate was kept on the day of the entry, or `usd_value` is null.',
            examples: ['-45.45'],
          }),
        rate: rateEvidenceView.nullable().meta({
          description: 'US dollars per unit of the currency, and where that came from.',
        }),
      })
      .nullable()
      .meta({
        description:
          "The same value in the shop's own currency: money at its invoice's terms is its share of the invoice's price, all else is `usd_value` at the rate that was kept on that day (UTC). Null where the shop's currency is the US dollar.",
      }),
    type: z.string().meta({
      description:
        'What moved it: `deposit`, a payment on its way to your balance; `deposit_void`, one that the chain took back; `payout`, money set aside for one; `payout_return`, such money back; `payout_sent` and `network_fee`, what a confirmed payout paid; `service_fee`, what the operator keeps, and `service_fee_return`, such a fee given back; `shortfall`, what is missing because the chain took back money that was paid out, and `shortfall_repaid`, what made up for it. More may come.',
    }),
    invoice_id: idView('inv').nullable(),
    deposit_id: idView('dep').nullable().meta({
      description: 'What came to a permanent address; `invoice_id` is then null.',
    }),
    payment_id: idView('pay').nullable(),
    payout_id: idView('po').nullable(),
    reference: z.string().nullable().meta({
      description:
        "The invoice's `order_reference`, or else its `external_reference`; of a deposit, its customer's reference.",
    }),
    created_at: timestamp,
  })
  .meta({ id: 'BalanceEntry' })

export const balanceEntryList = listOf(balanceEntryView)

import { z } from 'zod'
import { isCurrency, parseFiat } from '../core/card/fiat.ts'
import type { ProviderUpdate } from '../core/card/provider-update.ts'

const money = z.string().refine((text) => parseFiat(text) !== null)
const currency = z.string().refine(isCurrency)

/** GET /onramp/v1/buy/options: what can be bought in a place, with what, and within which limits. */
export const optionsSchema = z.object({
  payment_currencies: z.array(
    z.object({
      id: z.string(),
      limits: z.array(z.object({ id: z.string(), min: money, max: money })),
    }),
  ),
  purchase_currencies: z.array(
    z.object({ symbol: z.string(), networks: z.array(z.object({ name: z.string() })) }),
  ),
})
export type CoinbaseOptions = z.output<typeof optionsSchema>

/** POST /platform/v2/onramp/sessions. The quote is there where amount, payment method and place were given. */
export const sessionSchema = z.object({
  session: z.object({ onrampUrl: z.url() }),
  quote: z
    .object({
      paymentTotal: money,
      paymentSubtotal: money,
      paymentCurrency: currency,
      purchaseAmount: z.string(),
      purchaseCurrency: z.string(),
      destinationNetwork: z.string(),
    })
    .optional(),
})

export const errorSchema = z.object({ errorType: z.string().max(100), errorMessage: z.string().optional() })

/** GET /onramp/v1/buy/user/{partnerUserRef}/transactions: the newest first. */
export const transactionsSchema = z.object({
  transactions: z.array(
    z.object({
      transaction_id: z.string().min(1).max(200),
      status: z.string(),
      wallet_address: z.string().nullish(),
    }),
  ),
})

/** Statuses before a purchase begins, such as a page being opened, are left out: the checkout page says as much. */
export const COINBASE_UPDATES: { readonly [status: string]: Exclude<ProviderUpdate, 'abandoned'> } = {
  ONRAMP_TRANSACTION_STATUS_IN_PROGRESS: 'pending',
  ONRAMP_TRANSACTION_STATUS_SUCCESS: 'completed',
  ONRAMP_TRANSACTION_STATUS_FAILED: 'failed',
  ONRAMP_ORDER_STATUS_PROCESSING: 'pending',
  ONRAMP_ORDER_STATUS_COMPLETED: 'completed',
  ONRAMP_ORDER_STATUS_FAILED: 'failed',
}

import { z } from 'zod'
import { isCurrency, parseFiat } from '../core/card/fiat.ts'

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
export type CoinbaseSession = z.output<typeof sessionSchema>

export const errorSchema = z.object({ errorType: z.string().max(100), errorMessage: z.string().optional() })

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { ASSETS, type AssetId, type Chain, isSplToken } from '../core/assets.ts'
import { fiatOf, parseFiat } from '../core/card/fiat.ts'
import type { CardOrder, CardRefusal, OnrampProvider, ProviderAnswer } from '../core/card/onramp-provider.ts'
import { parsePlace } from '../core/card/places.ts'
import type { ProviderUpdate } from '../core/card/provider-update.ts'
import { formatCoinAmount } from '../core/money.ts'
import type { Clock } from '../runtime/clock.ts'
import { createListCache, type Kept } from './list-cache.ts'
import { type ProviderResponse, REQUEST_DEADLINE_MS, requestProvider } from './request-provider.ts'
import { isFresh, jsonOf, type ReadWebhook } from './webhook-reading.ts'

export type MoonpaySettings = {
  /** `pk_live_…` */
  readonly apiKey: string
  /** `sk_live_…`, which signs the widget's URL. */
  readonly secretKey: string
  /** `https://api.moonpay.com` */
  readonly apiUrl: string
  /** `https://buy.moonpay.com` */
  readonly widgetUrl: string
}

type Deps = { readonly clock: Clock; readonly dispatcher: Dispatcher; readonly deadlineMs?: number }

const ANSWER_BYTES_MAX = 64 * 1024
/** Hundreds of currencies, and countries with their documents. */
const LIST_BYTES_MAX = 8 * 1024 * 1024
const LIST_KEPT_MS = 60 * 60_000
/** The URL itself does not expire, but its price does. */
const USABLE_SECONDS = 240
const CURRENCY = 'usd'
const CARD_PAYMENT = {
  baseCurrencyCode: CURRENCY,
  paymentMethod: 'credit_debit_card',
  areFeesIncluded: 'false',
}

/** Chains that MoonPay does not name: a ticker alone is the coin of its own chain, or on Ethereum. */
const UNNAMED: readonly Chain[] = ['bitcoin', 'litecoin', 'ethereum', 'solana']

/** MoonPay's code of a coin: `eth`, `eth_base`, `usdc_sol`. What its list of currencies lacks it does not sell. */
function codeOf(asset: AssetId): string {
  const { symbol, chain } = ASSETS[asset]
  if (isSplToken(asset)) return `${symbol}_sol`.toLowerCase()
  return (UNNAMED.includes(chain) ? symbol : `${symbol}_${chain}`).toLowerCase()
}

/** MoonPay's amounts are JSON numbers. They serve to compare limits and show prices, never to credit. */
const amount = z.number().nonnegative().transform(decimalOf).pipe(z.string())
const currencySchema = z.object({
  code: z.string(),
  type: z.string(),
  precision: z.number().int().min(0).max(18),
  isSuspended: z.boolean().optional(),
  supportsLiveMode: z.boolean().optional(),
  isSupportedInUS: z.boolean().optional(),
  notAllowedCountries: z.array(z.string()).optional(),
  notAllowedUSStates: z.array(z.string()).optional(),
})
type Currency = z.output<typeof currencySchema>
/** The list holds fiat currencies too, which have other fields. */
const currenciesSchema = z.array(z.unknown()).transform((entries) =>
  entries.flatMap((entry) => {
    const parsed = currencySchema.safeParse(entry)
    return parsed.success ? [parsed.data] : []
  }),
)
const countriesSchema = z.array(
  z.object({
    alpha2: z.string(),
    isBuyAllowed: z.boolean(),
    states: z.array(z.object({ code: z.string(), isBuyAllowed: z.boolean() })).optional(),
  }),
)
type Countries = z.output<typeof countriesSchema>
const limitsSchema = z.object({
  quoteCurrency: z.object({ minBuyAmount: amount, maxBuyAmount: amount.nullish() }),
  baseCurrency: z.object({ code: z.literal(CURRENCY), minBuyAmount: amount }),
})
const quoteSchema = z.object({
  totalAmount: amount,
  feeAmount: amount,
  extraFeeAmount: amount,
  networkFeeAmount: amount,
})

/** MoonPay's widget on its own page, with a signed URL. Its lists say what it sells and where, its quote at which price. */
export function createMoonpayOnramp(settings: MoonpaySettings, deps: Deps): OnrampProvider {
  const kept = { clock: deps.clock, keptMs: LIST_KEPT_MS }
  const currencies = createListCache<readonly Currency[]>(kept)
  const countries = createListCache<Countries>(kept)
  const ask = (path: string, query: { readonly [name: string]: string }, bytesMax = ANSWER_BYTES_MAX) => {
    const url = new URL(path, settings.apiUrl)
    for (const [name, value] of Object.entries({ apiKey: settings.apiKey, ...query }))
      url.searchParams.set(name, value)
    const deadlineMs = deps.deadlineMs ?? REQUEST_DEADLINE_MS
    return requestProvider(deps.dispatcher, { method: 'GET', url, bytesMax, deadlineMs })
  }
  const list =
    <Value>(path: string, schema: z.ZodType<Value>) =>
    async () =>
      readList(await ask(path, {}, LIST_BYTES_MAX), schema)
  return {
    id: 'moonpay',
    livemode: true,
    sells: () => true,
    begin: async (order) => {
      const [known, places] = await Promise.all([
        currencies.get('all', list('/v3/currencies', currenciesSchema)),
        countries.get('all', list('/v3/countries', countriesSchema)),
      ])
      if (known.kind !== 'kept') return known.answer
      if (places.kind !== 'kept') return places.answer
      const code = codeOf(order.asset)
      const currency = known.value.find((one) => one.code === code && one.type === 'crypto')
      const refusal = refusalOf(currency, places.value, order.place)
      if (refusal !== null || currency === undefined) return refused(refusal ?? 'not_offered')
      const units = roundedUp(order, currency.precision)
      const quoteCurrencyAmount = formatCoinAmount(units, ASSETS[order.asset].decimals)
      const [limits, quote] = await Promise.all([
        ask(`/v3/currencies/${code}/limits`, CARD_PAYMENT),
        ask(`/v3/currencies/${code}/buy_quote`, { ...CARD_PAYMENT, quoteCurrencyAmount }),
      ])
      const url = widgetUrl(settings, order, { currencyCode: code, quoteCurrencyAmount })
      return offerOf({ limits, quote, amount: units, quoteCurrencyAmount, url })
    },
    fault: async () => {
      const response = readLimits(await ask(`/v3/currencies/${codeOf('USDC_BASE')}/limits`, CARD_PAYMENT))
      return response.kind === 'failed' ? response.reason : null
    },
  }
}

const refused = (reason: CardRefusal): ProviderAnswer => ({ kind: 'refused', reason, minimum: null })
type Failed = Extract<ProviderAnswer, { kind: 'failed' }>
const failed = (reason: string, cause?: unknown): Failed => ({ kind: 'failed', reason, cause })

function readList<Value>(response: ProviderResponse, schema: z.ZodType<Value>): Kept<Value> {
  if (response.kind === 'failed') return { kind: 'not_kept', answer: failed(response.reason, response.cause) }
  if (response.status !== 200) return { kind: 'not_kept', answer: errorOf(response) }
  const parsed = schema.safeParse(response.body)
  return parsed.success
    ? { kind: 'kept', value: parsed.data }
    : { kind: 'not_kept', answer: failed('its lists cannot be understood', parsed.error) }
}

/** Why it does not sell this there; null where it does. */
function refusalOf(currency: Currency | undefined, countries: Countries, text: string): CardRefusal | null {
  const place = parsePlace(text)
  const country = countries.find(({ alpha2 }) => alpha2 === place?.country)
  if (place === null || country === undefined || !country.isBuyAllowed) return 'region'
  const state = country.states?.find(({ code }) => code === place.state)
  if (state !== undefined && !state.isBuyAllowed) return 'region'
  if (currency === undefined || currency.isSuspended === true || currency.supportsLiveMode === false)
    return 'not_offered'
  if (currency.notAllowedCountries?.includes(place.country) === true) return 'region'
  if (place.state === null) return null
  const isBarred =
    currency.isSupportedInUS === false || currency.notAllowedUSStates?.includes(place.state) === true
  return isBarred ? 'region' : null
}

/** Rounds up to MoonPay's precision: the buyer gets more than was asked for, never less. */
function roundedUp({ asset, amount: units }: CardOrder, precision: number): bigint {
  const step = 10n ** BigInt(Math.max(0, ASSETS[asset].decimals - precision))
  return ((units + step - 1n) / step) * step
}

type Limits = z.output<typeof limitsSchema>

function readLimits(
  response: ProviderResponse,
): { readonly kind: 'limits'; readonly limits: Limits } | Failed {
  if (response.kind === 'failed') return failed(response.reason, response.cause)
  if (response.status !== 200) return errorOf(response)
  const limits = limitsSchema.safeParse(response.body)
  return limits.success
    ? { kind: 'limits', limits: limits.data }
    : failed('its limits cannot be understood', limits.error)
}

function offerOf(answers: {
  readonly limits: ProviderResponse
  readonly quote: ProviderResponse
  readonly amount: bigint
  readonly quoteCurrencyAmount: string
  readonly url: string
}): ProviderAnswer {
  const { limits, quote } = answers
  const read = readLimits(limits)
  if (read.kind === 'failed') return read
  const { quoteCurrency, baseCurrency } = read.limits
  const minimum = fiatOf(parseFiat(baseCurrency.minBuyAmount) ?? 0n, 'USD')
  const bought = parseFiat(answers.quoteCurrencyAmount) ?? 0n
  // Checked here, because the error for a quote out of bounds says less.
  if (bought < (parseFiat(quoteCurrency.minBuyAmount) ?? 0n))
    return { kind: 'refused', reason: 'below_minimum', minimum }
  const most = parseFiat(quoteCurrency.maxBuyAmount ?? '')
  if (most !== null && bought > most) return refused('above_maximum')
  if (quote.kind === 'failed') return failed(quote.reason, quote.cause)
  if (quote.status !== 200) return errorOf(quote)
  const price = quoteSchema.safeParse(quote.body)
  if (!price.success) return failed('its quote cannot be understood', price.error)
  const { totalAmount, feeAmount, extraFeeAmount, networkFeeAmount } = price.data
  const fees = [feeAmount, extraFeeAmount, networkFeeAmount].reduce(
    (sum, text) => sum + (parseFiat(text) ?? 0n),
    0n,
  )
  return {
    kind: 'offered',
    quote: { total: fiatOf(parseFiat(totalAmount) ?? 0n, 'USD'), fees: fiatOf(fees, 'USD') },
    minimum,
    amount: answers.amount,
    url: answers.url,
    usableSeconds: USABLE_SECONDS,
  }
}

/**
 * The widget's URL, signed over its query as it is sent, question mark included: base64 of HMAC-SHA-256 under the
 * secret key. Only a signed URL may give the wallet's address.
 */
function widgetUrl(
  { apiKey, secretKey, widgetUrl }: MoonpaySettings,
  order: CardOrder,
  bought: { readonly currencyCode: string; readonly quoteCurrencyAmount: string },
): string {
  const url = new URL(widgetUrl)
  const query = {
    apiKey,
    currencyCode: bought.currencyCode,
    walletAddress: order.address,
    baseCurrencyCode: CURRENCY,
    quoteCurrencyAmount: bought.quoteCurrencyAmount,
    lockAmount: 'true',
    externalTransactionId: order.reference,
    redirectURL: order.returnUrl,
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const signature = createHmac('sha256', secretKey).update(url.search).digest('base64')
  return `${url.href}&signature=${encodeURIComponent(signature)}`
}

/** `{message, type}`: what the buyer cannot change goes to the log only. */
const errorBody = z.object({ type: z.string().max(100) })
function errorOf({ status, body }: Extract<ProviderResponse, { kind: 'answer' }>): Failed {
  const error = errorBody.safeParse(body)
  return failed(`HTTP status ${status}, ${error.success ? error.data.type : 'an error without a type'}`)
}

/** A JSON number as a plain decimal; JavaScript writes the very small and the very large with exponents. */
function decimalOf(value: number): string {
  const text = String(value)
  return /e/i.test(text) ? value.toFixed(18).replace(/\.?0+$/, '') : text
}

const HEADER = 'moonpay-signature-v2'
/** `t=1492774577,s=<lower-case hex>`, with no other part and none twice. */
const SIGNATURE = /^t=([0-9]{1,12}),s=([0-9a-f]{64})$/

const eventSchema = z.object({
  type: z.string(),
  data: z.object({
    id: z.string().min(1).max(200),
    status: z.string(),
    walletAddress: z.string().nullish(),
    externalTransactionId: z.string().nullish(),
  }),
})

const TYPES: readonly string[] = ['transaction_created', 'transaction_updated', 'transaction_failed']
/** Statuses in which MoonPay waits for the buyer are left out: there is nothing to show them. */
const UPDATES: { readonly [status: string]: ProviderUpdate } = {
  pending: 'pending',
  completed: 'completed',
  failed: 'failed',
}

/** Verifies a webhook from MoonPay (HMAC-SHA-256 of `t.body` under the webhook key), and reads which purchase it is about. */
export function readMoonpayWebhook(
  key: string,
  request: { readonly headers: Headers; readonly body: Uint8Array },
  nowMs: number,
): ReadWebhook {
  const [, t, given] = SIGNATURE.exec(request.headers.get(HEADER) ?? '') ?? []
  if (t === undefined || given === undefined) return { kind: 'rejected', reason: 'no signature' }
  if (!isFresh(t, nowMs)) return { kind: 'rejected', reason: 'a signature of another time' }
  const expected = createHmac('sha256', key).update(`${t}.`).update(request.body).digest()
  if (!timingSafeEqual(expected, Buffer.from(given, 'hex')))
    return { kind: 'rejected', reason: 'a wrong signature' }
  const body = jsonOf(request.body)
  const event = eventSchema.safeParse(body)
  if (!event.success || !TYPES.includes(event.data.type)) return { kind: 'ignored' }
  const { id, status, walletAddress, externalTransactionId } = event.data.data
  const update = UPDATES[status]
  if (update === undefined || typeof externalTransactionId !== 'string') return { kind: 'ignored' }
  return {
    kind: 'reported',
    update: {
      provider: 'moonpay',
      purchaseId: externalTransactionId,
      transaction: id,
      update,
      address: walletAddress ?? null,
    },
  }
}

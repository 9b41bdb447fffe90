import { type KeyObject, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Dispatcher } from 'undici'
import { ASSETS, type AssetId } from '../core/assets.ts'
import { FIAT_UNIT, fiatOf, fiatOfCents, parseFiat } from '../core/card/fiat.ts'
import type {
  CardOrder,
  CardRefusal,
  OnrampProvider,
  ProviderAnswer,
  ReportedTransactions,
} from '../core/card/onramp-provider.ts'
import { parsePlace } from '../core/card/places.ts'
import { formatCoinAmount } from '../core/money.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  COINBASE_UPDATES,
  type CoinbaseOptions,
  errorSchema,
  optionsSchema,
  sessionSchema,
  transactionsSchema,
} from './coinbase-schemas.ts'
import { createListCache } from './list-cache.ts'
import { isRealProvider } from './real-provider.ts'
import { type ProviderResponse, REQUEST_DEADLINE_MS, requestProvider } from './request-provider.ts'

/** The longest that Coinbase accepts. */
const VALID_SECONDS = 120
const NONCE_BYTES = 16

/**
 * A bearer token for one request to Coinbase's Developer Platform: bound by `uris` to method, host and path (without
 * the query), signed with EdDSA or, by older keys, ES256.
 */
function coinbaseJwt(
  key: { readonly id: string; readonly secret: KeyObject },
  request: { readonly method: string; readonly url: URL },
  nowMs: number,
): Promise<string> {
  const alg = key.secret.asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'ES256'
  const now = Math.floor(nowMs / 1_000)
  const { host, pathname } = request.url
  return new SignJWT({ uris: [`${request.method} ${host}${pathname}`] })
    .setProtectedHeader({ alg, typ: 'JWT', kid: key.id, nonce: randomBytes(NONCE_BYTES).toString('hex') })
    .setSubject(key.id)
    .setIssuer('cdp')
    .setAudience(['cdp_service'])
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + VALID_SECONDS)
    .sign(key.secret)
}

export type CoinbaseSettings = {
  readonly keyId: string
  readonly keySecret: KeyObject
  /** `https://api.cdp.coinbase.com`: sessions. */
  readonly apiUrl: string
  /** `https://api.developer.coinbase.com`: what is sold where. */
  readonly optionsUrl: string
  /** Whether it has to be a stand-in, whose page takes no real money. */
  readonly staging?: boolean
}

type Deps = {
  readonly clock: Clock
  readonly dispatcher: Dispatcher
  readonly deadlineMs?: number
}

const ANSWER_BYTES_MAX = 64 * 1024
/** Some hundred coins with their networks. */
const OPTIONS_BYTES_MAX = 4 * 1024 * 1024
/** Limits and places change seldom. */
const OPTIONS_KEPT_MS = 10 * 60_000
/** A session's token lives five minutes; the last of them is left for the way to Coinbase's page. */
const USABLE_SECONDS = 240
/** A buyer's tries at one purchase. */
const TRANSACTIONS_MAX = 10
const CARD = 'CARD'

type Place = { readonly country: string; readonly state: string | null }
/** A place where it certainly sells, for `paylink doctor`. */
const PROBED_PLACE: Place = { country: 'US', state: 'CA' }

/** Coinbase's names of a coin. What its options lack it does not sell. */
const soldAs = (asset: AssetId): { readonly currency: string; readonly network: string } => ({
  currency: ASSETS[asset].symbol,
  network: ASSETS[asset].chain,
})

/** The hosted onramp of Coinbase's Developer Platform: one session for each purchase, with its quote. */
export function createCoinbaseOnramp(settings: CoinbaseSettings, deps: Deps): OnrampProvider {
  const options = createListCache<CoinbaseOptions>({ clock: deps.clock, keptMs: OPTIONS_KEPT_MS })
  const ask = (method: 'GET' | 'POST', url: URL, bytesMax: number, body?: object) =>
    requestSigned(settings, deps, { method, url, bytesMax, ...(body === undefined ? {} : { body }) })
  const requestOptions = async (place: Place) => {
    const url = new URL('/onramp/v1/buy/options', settings.optionsUrl)
    url.searchParams.set('country', place.country)
    if (place.state !== null) url.searchParams.set('subdivision', place.state)
    return readOptions(await ask('GET', url, OPTIONS_BYTES_MAX))
  }
  return {
    id: 'coinbase',
    livemode: true,
    sells: () => true,
    begin: async (order) => {
      const place = parsePlace(order.place)
      if (place === null) return refused('region')
      const offered = await options.get(order.place, () => requestOptions(place))
      if (offered.kind !== 'kept') return offered.answer
      const terms = termsOf(offered.value, order)
      if (terms.kind !== 'terms') return terms
      const body = { ...sessionRequest(order, place), paymentCurrency: terms.currency }
      const url = new URL('/platform/v2/onramp/sessions', settings.apiUrl)
      return readSession(await ask('POST', url, ANSWER_BYTES_MAX, body), order, terms, settings)
    },
    transactionsOf: async (reference) => {
      const url = new URL(
        `/onramp/v1/buy/user/${encodeURIComponent(reference)}/transactions`,
        settings.optionsUrl,
      )
      url.searchParams.set('page_size', String(TRANSACTIONS_MAX))
      return readTransactions(await ask('GET', url, ANSWER_BYTES_MAX))
    },
    fault: async () => {
      const response = await requestOptions(PROBED_PLACE)
      if (response.kind === 'kept') return null
      return response.answer.kind === 'failed' ? response.answer.reason : 'it serves nobody'
    },
  }
}

async function requestSigned(
  settings: CoinbaseSettings,
  deps: Deps,
  question: {
    readonly method: 'GET' | 'POST'
    readonly url: URL
    readonly bytesMax: number
    readonly body?: object
  },
): Promise<ProviderResponse> {
  const { body, ...rest } = question
  const key = { id: settings.keyId, secret: settings.keySecret }
  const token = await coinbaseJwt(key, question, deps.clock().getTime())
  return requestProvider(deps.dispatcher, {
    ...rest,
    deadlineMs: deps.deadlineMs ?? REQUEST_DEADLINE_MS,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

const refused = (reason: CardRefusal): ProviderAnswer => ({ kind: 'refused', reason, minimum: null })
const failed = (reason: string, cause?: unknown): ProviderAnswer => ({ kind: 'failed', reason, cause })

type KeptOrAnswer<Value> =
  | { readonly kind: 'kept'; readonly value: Value }
  | { readonly kind: 'not_kept'; readonly answer: ProviderAnswer }
const notKept = (answer: ProviderAnswer) => ({ kind: 'not_kept', answer }) as const

function readOptions(response: ProviderResponse): KeptOrAnswer<CoinbaseOptions> {
  if (response.kind === 'failed') return notKept(failed(response.reason, response.cause))
  // It does not serve a place that it does not know.
  if (response.status === 400 || response.status === 404) return notKept(refused('region'))
  if (response.status !== 200) return notKept(errorOf(response))
  const options = optionsSchema.safeParse(response.body)
  return options.success
    ? { kind: 'kept', value: options.data }
    : notKept(failed('its options cannot be understood', options.error))
}

type Terms = { readonly kind: 'terms'; readonly currency: string; readonly minimum: bigint }

/** Whether a card buys this there: the coin, the currency to pay in, and its limits. */
function termsOf(options: CoinbaseOptions, { asset, usdCents }: CardOrder): Terms | ProviderAnswer {
  const { currency, network } = soldAs(asset)
  const isSold = options.purchase_currencies.some(
    ({ symbol, networks }) => symbol === currency && networks.some(({ name }) => name === network),
  )
  if (!isSold) return refused(options.purchase_currencies.length === 0 ? 'region' : 'not_offered')
  const byCard = options.payment_currencies.flatMap(({ id, limits }) =>
    limits.filter((limit) => limit.id === CARD).map(({ min, max }) => ({ id, min, max })),
  )
  const paid = byCard.find(({ id }) => id === 'USD') ?? byCard[0]
  if (paid === undefined) return refused('region')
  const minimum = parseFiat(paid.min) ?? 0n
  const maximum = parseFiat(paid.max) ?? 0n
  // Limits in another currency cannot be compared with dollars; the session's own answer decides there.
  if (usdCents !== null && paid.id === 'USD') {
    const value = fiatOfCents(usdCents)
    if (value < minimum)
      return { kind: 'refused', reason: 'below_minimum', minimum: fiatOf(minimum, paid.id) }
    if (value > maximum) return refused('above_maximum')
  }
  return { kind: 'terms', currency: paid.id, minimum }
}

function sessionRequest(order: CardOrder, place: Place) {
  const { asset, amount, address, clientAddress } = order
  return {
    purchaseCurrency: soldAs(asset).currency,
    destinationNetwork: soldAs(asset).network,
    destinationAddress: address,
    purchaseAmount: formatCoinAmount(amount, ASSETS[asset].decimals),
    paymentMethod: CARD,
    country: place.country,
    ...(place.state === null ? {} : { subdivision: place.state }),
    redirectUrl: order.returnUrl,
    ...(clientAddress === null ? {} : { clientIp: clientAddress }),
    partnerUserRef: order.reference,
  }
}

function readSession(
  response: ProviderResponse,
  order: CardOrder,
  terms: Terms,
  settings: CoinbaseSettings,
): ProviderAnswer {
  if (response.kind === 'failed') return failed(response.reason, response.cause)
  if (response.status !== 201) return errorOf(response)
  const parsed = sessionSchema.safeParse(response.body)
  if (!parsed.success) return failed('its session cannot be understood', parsed.error)
  const { session, quote } = parsed.data
  const url = new URL(session.onrampUrl)
  if (url.protocol !== 'https:' && url.protocol !== new URL(settings.apiUrl).protocol)
    return failed('its page is not on https')
  if (settings.staging === true && isRealProvider(url))
    return failed('its page is the real one, which takes real money, and STAGING is 1')
  const amount = quote === undefined ? order.amount : soldAmount(quote, order)
  if (amount === null) return failed('its quote is over something else than was asked for')
  return {
    kind: 'offered',
    quote: quote === undefined ? null : quoteOf(quote),
    minimum: terms.minimum === 0n ? null : fiatOf(terms.minimum, terms.currency),
    amount,
    url: url.href,
    usableSeconds: USABLE_SECONDS,
  }
}

/** Base units that a quote is over, which it may round up; null where that is less than was asked for, or another coin. */
function soldAmount(
  quote: { purchaseAmount: string; purchaseCurrency: string; destinationNetwork: string },
  { asset, amount }: CardOrder,
): bigint | null {
  const { currency, network } = soldAs(asset)
  const isOurs = quote.purchaseCurrency === currency && quote.destinationNetwork === network
  // Compared by eight decimals: quotes of finer coins are cut there.
  const [sold, response] = [
    parseFiat(quote.purchaseAmount),
    parseFiat(formatCoinAmount(amount, ASSETS[asset].decimals)),
  ]
  if (!isOurs || sold === null || response === null || sold < response) return null
  if (sold === response) return amount
  return (sold * 10n ** BigInt(ASSETS[asset].decimals)) / FIAT_UNIT
}

function readTransactions(response: ProviderResponse): ReportedTransactions {
  if (response.kind === 'failed') return response
  if (response.status !== 200) return { kind: 'failed', reason: `HTTP status ${response.status}` }
  const parsed = transactionsSchema.safeParse(response.body)
  if (!parsed.success)
    return { kind: 'failed', reason: 'its transactions cannot be understood', cause: parsed.error }
  const { transactions } = parsed.data
  return {
    kind: 'reported',
    isBegun: transactions.length > 0,
    transactions: transactions.flatMap(({ transaction_id: transaction, status, wallet_address }) => {
      const update = COINBASE_UPDATES[status]
      return update === undefined ? [] : [{ transaction, update, address: wallet_address ?? null }]
    }),
  }
}

function quoteOf(quote: { paymentTotal: string; paymentSubtotal: string; paymentCurrency: string }) {
  const total = parseFiat(quote.paymentTotal) ?? 0n
  const subtotal = parseFiat(quote.paymentSubtotal) ?? 0n
  const fees = total > subtotal ? total - subtotal : 0n
  const { paymentCurrency } = quote
  return { total: fiatOf(total, paymentCurrency), fees: fiatOf(fees, paymentCurrency) }
}

const REFUSALS: { readonly [errorType: string]: CardRefusal } = {
  guest_region_forbidden: 'region',
  network_not_tradable: 'not_offered',
  guest_transaction_limit: 'above_maximum',
  guest_transaction_count: 'not_offered',
}

/** `{errorType, errorMessage}`: what the buyer cannot change goes to the log only. */
function errorOf({ status, body }: Extract<ProviderResponse, { kind: 'answer' }>): ProviderAnswer {
  const error = errorSchema.safeParse(body)
  const type = error.success ? error.data.errorType : 'an error without a type'
  const reason = REFUSALS[type]
  if (reason !== undefined) return refused(reason)
  return failed(`HTTP status ${status}, ${type}`)
}

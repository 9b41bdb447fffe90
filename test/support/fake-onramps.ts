import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { decodeProtectedHeader, jwtVerify } from 'jose'

/** What a fake provider does instead of answering as it should. */
export type Trouble =
  | { readonly status: number; readonly body: unknown }
  | { readonly raw: string }
  | 'hang'
  | 'reset'
  | null

type Answer = { readonly status: number; readonly body: unknown }
type Handler = (request: {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  body: string
}) => Answer | Promise<Answer>

/** A provider on loopback that answers as its documentation says, or with the trouble that a test gives a path. */
async function startFake(handler: Handler) {
  const trouble = new Map<string, Trouble>()
  const requests: { readonly path: string; readonly body: string; readonly search: string }[] = []
  const hanging = new Set<ServerResponse>()
  const server: Server = createServer(async (incoming, response) => {
    const url = new URL(incoming.url ?? '/', `http://${incoming.headers.host}`)
    // A browser asks for it by itself.
    if (url.pathname === '/favicon.ico') return void response.writeHead(204).end()
    const chunks: Uint8Array[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    requests.push({ path: url.pathname, body, search: url.search })
    const wrong = trouble.get(url.pathname) ?? null
    if (wrong === 'hang') return void hanging.add(response)
    if (wrong === 'reset') return void incoming.socket.destroy()
    if (wrong !== null && 'raw' in wrong) return void response.end(wrong.raw)
    const { method = 'GET', headers } = incoming
    const answer = wrong ?? (await handler({ method, url, headers, body }))
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    trouble,
    /** Gives up on whoever it lets wait. */
    release: () => {
      for (const response of hanging) response.destroy()
    },
    close: async () => {
      for (const response of hanging) response.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export const COINBASE_KEY_ID = 'organizations/6ba7/apiKeys/11d1'

/** A key as Coinbase gives it out: 64 bytes in base64, or PEM. */
export function coinbaseKey(kind: 'ed25519' | 'ec'): { secret: string; publicKey: KeyObject } {
  if (kind === 'ec') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return { secret: String(privateKey.export({ type: 'sec1', format: 'pem' })), publicKey }
  }
  const { privateKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  const bytes = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')])
  return { secret: bytes.toString('base64'), publicKey: createPublicKey(privateKey) }
}

const UNAUTHORIZED = { status: 401, body: { errorType: 'unauthorized', errorMessage: 'bad token' } }
const SESSION_FIELDS = [
  'purchaseCurrency',
  'destinationNetwork',
  'destinationAddress',
  'purchaseAmount',
  'paymentAmount',
  'paymentCurrency',
  'paymentMethod',
  'country',
  'subdivision',
  'redirectUrl',
  'clientIp',
  'partnerUserRef',
]

/** Coinbase's Developer Platform: it checks the token as documented before anything else, then the request. */
export async function startFakeCoinbase(publicKey: KeyObject, clock = () => new Date()) {
  let sessions = 0
  const seen = new Set<string>()
  const transactions = new Map<string, readonly object[]>()
  const fake = await startFake(async ({ method, url, headers, body }) => {
    if (url.pathname === '/buy') return { status: 200, body: { page: 'card' } }
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    const isGenuine = await isToken(token, publicKey, {
      uri: `${method} ${url.host}${url.pathname}`,
      seen,
      now: clock(),
    })
    if (!isGenuine) return UNAUTHORIZED
    if (method === 'GET' && url.pathname === '/onramp/v1/buy/options') return options(url)
    const reference = /^\/onramp\/v1\/buy\/user\/([^/]+)\/transactions$/.exec(url.pathname)?.[1]
    if (method === 'GET' && reference !== undefined)
      return transactionList(url, transactions.get(decodeURIComponent(reference)) ?? [])
    if (method === 'POST' && url.pathname === '/platform/v2/onramp/sessions')
      return session(url, body, ++sessions)
    return { status: 404, body: { errorType: 'not_found', errorMessage: 'no such path' } }
  })
  /** What it knows of each purchase, newest first. */
  return { ...fake, transactions }
}

/** One to a page, unless more are asked for. */
function transactionList(url: URL, all: readonly object[]): Answer {
  const page = all.slice(0, Number(url.searchParams.get('page_size') ?? '1'))
  const next_page_key = page.length < all.length ? 'next' : ''
  return { status: 200, body: { transactions: page, next_page_key, total_count: String(all.length) } }
}

async function isToken(
  token: string,
  key: KeyObject,
  { uri, seen, now }: { readonly uri: string; readonly seen: Set<string>; readonly now: Date },
): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, key, {
      issuer: 'cdp',
      currentDate: now,
      subject: COINBASE_KEY_ID,
      algorithms: ['EdDSA', 'ES256'],
      requiredClaims: ['iat', 'nbf', 'exp', 'uris'],
    })
    const { nonce } = decodeProtectedHeader(token) as { nonce?: unknown }
    const uris = payload.uris
    const isOnce = typeof nonce === 'string' && !seen.has(nonce)
    if (typeof nonce === 'string') seen.add(nonce)
    return (
      isOnce &&
      protectedHeader.kid === COINBASE_KEY_ID &&
      protectedHeader.typ === 'JWT' &&
      Array.isArray(uris) &&
      uris.length === 1 &&
      uris[0] === uri &&
      (payload.exp ?? 0) - (payload.nbf ?? 0) <= 120
    )
  } catch {
    // Whatever is wrong with a token, it opens nothing; the caller sees the 401.
    return false
  }
}

function options(url: URL): Answer {
  const country = url.searchParams.get('country')
  if (country === 'US' && url.searchParams.get('subdivision') === null)
    return { status: 400, body: { errorType: 'invalid_request', errorMessage: 'subdivision is required' } }
  if (country === 'KP')
    return { status: 400, body: { errorType: 'invalid_request', errorMessage: 'unsupported country' } }
  const limits = [
    { id: 'ACH', min: '1', max: '25000' },
    { id: 'CARD', min: '5', max: '500' },
  ]
  return {
    status: 200,
    body: {
      payment_currencies: [{ id: 'EUR', limits }, ...(country === 'FR' ? [] : [{ id: 'USD', limits }])],
      purchase_currencies:
        country === 'JP'
          ? []
          : [
              { id: 'x', name: 'USDC', symbol: 'USDC', networks: [{ name: 'base' }, { name: 'ethereum' }] },
              { id: 'y', name: 'Litecoin', symbol: 'LTC', networks: [{ name: 'litecoin' }] },
            ],
    },
  }
}

function session(url: URL, text: string, number: number): Answer {
  const body: { [field: string]: string } = JSON.parse(text)
  const invalid = (errorMessage: string) => ({
    status: 400,
    body: { errorType: 'invalid_request', errorMessage },
  })
  const unknown = Object.keys(body).find((name) => !SESSION_FIELDS.includes(name))
  if (unknown !== undefined) return invalid(`${unknown} is not known`)
  for (const name of ['purchaseCurrency', 'destinationNetwork', 'destinationAddress'])
    if (typeof body[name] !== 'string' || body[name] === '') return invalid(`${name} is required`)
  if ((body.paymentAmount === undefined) === (body.purchaseAmount === undefined))
    return invalid('one of paymentAmount and purchaseAmount')
  if (body.country === 'US' && body.subdivision === undefined) return invalid('subdivision is required')
  if ((body.partnerUserRef ?? '').length >= 50) return invalid('partnerUserRef is too long')
  const amount = Number(body.purchaseAmount)
  const currency = body.paymentCurrency ?? ''
  const fee = { type: 'FEE_TYPE_EXCHANGE', amount: (amount * 0.02).toFixed(2), currency }
  return {
    status: 201,
    body: {
      session: { onrampUrl: `${url.origin}/buy?sessionToken=token${number}` },
      quote: {
        paymentTotal: (amount * 1.02 + 0.25).toFixed(2),
        paymentSubtotal: amount.toFixed(2),
        paymentCurrency: currency,
        purchaseAmount: body.purchaseAmount,
        purchaseCurrency: body.purchaseCurrency,
        destinationNetwork: body.destinationNetwork,
        fees: [fee, { type: 'FEE_TYPE_NETWORK', amount: '0.25', currency }],
        exchangeRate: '1',
      },
    },
  }
}

export const MOONPAY_KEYS = { apiKey: 'pk_live_heron', secretKey: 'sk_live_heron' }

/** MoonPay: its lists, limits and quotes, and the widget's page, which opens for a genuine signature alone. */
export async function startFakeMoonpay() {
  return await startFake(({ url }) => {
    if (url.pathname === '/') return widget(url)
    if (url.searchParams.get('apiKey') !== MOONPAY_KEYS.apiKey)
      return { status: 401, body: { message: 'Unauthorized', type: 'UnauthorizedError' } }
    if (url.pathname === '/v3/currencies') return { status: 200, body: CURRENCIES }
    if (url.pathname === '/v3/countries') return { status: 200, body: COUNTRIES }
    const [, code, what] = /^\/v3\/currencies\/([a-z_]+)\/(limits|buy_quote)$/.exec(url.pathname) ?? []
    const currency = CURRENCIES.find((one) => one.code === code)
    if (currency === undefined || url.searchParams.get('baseCurrencyCode') !== 'usd')
      return { status: 404, body: { message: 'Not found', type: 'NotFoundError' } }
    return what === 'limits' ? limits(code) : moonpayQuote(url, currency.precision)
  })
}

const CURRENCIES = [
  { code: 'usd', type: 'fiat', precision: 2, minBuyAmount: 20, maxBuyAmount: 12_000 },
  {
    code: 'usdc_base',
    type: 'crypto',
    precision: 2,
    isSuspended: false,
    supportsLiveMode: true,
    isSupportedInUS: true,
    notAllowedCountries: ['CA'],
    notAllowedUSStates: ['NY'],
  },
  ...['usdc', 'usdc_sol'].map((code) => ({
    ...{ code, type: 'crypto', precision: 2, isSuspended: false, supportsLiveMode: true },
    ...{ isSupportedInUS: true, notAllowedCountries: [], notAllowedUSStates: [] },
  })),
  {
    code: 'ltc',
    type: 'crypto',
    precision: 4,
    isSuspended: false,
    supportsLiveMode: true,
    isSupportedInUS: false,
    notAllowedCountries: [],
    notAllowedUSStates: [],
  },
  { code: 'btc', type: 'crypto', precision: 5, isSuspended: true, supportsLiveMode: true },
]
const COUNTRIES = [
  { alpha2: 'DE', alpha3: 'DEU', isAllowed: true, isBuyAllowed: true, isSellAllowed: true, name: 'Germany' },
  { alpha2: 'CA', alpha3: 'CAN', isAllowed: true, isBuyAllowed: true, isSellAllowed: true, name: 'Canada' },
  {
    alpha2: 'GB',
    alpha3: 'GBR',
    isAllowed: true,
    isBuyAllowed: false,
    isSellAllowed: true,
    name: 'United Kingdom',
  },
  {
    alpha2: 'US',
    alpha3: 'USA',
    isAllowed: true,
    isBuyAllowed: true,
    isSellAllowed: true,
    name: 'United States',
    states: [
      { code: 'CA', isBuyAllowed: true, isSellAllowed: true, name: 'California' },
      { code: 'NY', isBuyAllowed: true, isSellAllowed: true, name: 'New York' },
      { code: 'LA', isBuyAllowed: false, isSellAllowed: false, name: 'Louisiana' },
    ],
  },
]

function limits(code: string | undefined): Answer {
  const quoteCurrency =
    code === 'ltc' ? { minBuyAmount: 0.0002, maxBuyAmount: 100 } : { minBuyAmount: 20, maxBuyAmount: 12_000 }
  return {
    status: 200,
    body: {
      paymentMethod: 'credit_debit_card',
      quoteCurrency: { code, ...quoteCurrency },
      baseCurrency: { code: 'usd', minBuyAmount: 20, maxBuyAmount: 12_000 },
    },
  }
}

function moonpayQuote(url: URL, precision: number): Answer {
  const text = url.searchParams.get('quoteCurrencyAmount') ?? ''
  const decimals = text.split('.')[1]?.length ?? 0
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text) || decimals > precision)
    return {
      status: 400,
      body: {
        message: 'Invalid queries, check errors',
        type: 'BadRequestError',
        errors: [{ quoteCurrencyAmount: 'must be a decimal number' }],
      },
    }
  const base = Number(text)
  return {
    status: 200,
    body: {
      baseCurrencyCode: 'usd',
      baseCurrencyAmount: base,
      quoteCurrencyAmount: base,
      feeAmount: 3.99,
      extraFeeAmount: 0,
      networkFeeAmount: 0.02,
      totalAmount: Math.round((base + 4.01) * 100) / 100,
    },
  }
}

/** As the documentation says: the signature is that of the query before it, the question mark included. */
function widget(url: URL): Answer {
  const [query = '', signature = ''] = url.search.split('&signature=')
  const expected = createHmac('sha256', MOONPAY_KEYS.secretKey).update(query).digest()
  const given = Buffer.from(decodeURIComponent(signature), 'base64')
  const isGenuine = given.length === expected.length && timingSafeEqual(given, expected)
  return isGenuine
    ? { status: 200, body: { opened: true } }
    : { status: 403, body: { message: 'Invalid signature', type: 'ForbiddenError' } }
}

/** A webhook of Coinbase's, signed as Hook0 signs. `headers` are signed too. */
export function coinbaseWebhook(
  secret: string,
  event: object,
  options: {
    readonly atMs: number
    readonly headers?: { readonly [name: string]: string }
    readonly only?: 'v0'
  },
): { body: string; headers: { [name: string]: string } } {
  const { atMs, headers = { 'x-event-id': 'evt1' }, only } = options
  const body = JSON.stringify(event)
  const t = Math.floor(atMs / 1_000)
  const names = Object.keys(headers).join(' ')
  const hex = (text: string) => createHmac('sha256', secret).update(text).digest('hex')
  const v0 = hex(`${t}.${body}`)
  const v1 = hex(`${t}.${names}.${Object.values(headers).join('.')}.${body}`)
  const signature = only === 'v0' ? `t=${t},v0=${v0}` : `t=${t},v0=${v0},h=${names},v1=${v1}`
  return { body, headers: { 'content-type': 'application/json', 'x-hook0-signature': signature, ...headers } }
}

/** A webhook of MoonPay's. */
export function moonpayWebhook(
  key: string,
  event: object,
  atMs: number,
): { body: string; headers: { [name: string]: string } } {
  const body = JSON.stringify(event)
  const t = Math.floor(atMs / 1_000)
  const s = createHmac('sha256', key).update(`${t}.${body}`).digest('hex')
  return { body, headers: { 'content-type': 'application/json', 'moonpay-signature-v2': `t=${t},s=${s}` } }
}

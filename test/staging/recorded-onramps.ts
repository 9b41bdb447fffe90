import { createHmac } from 'node:crypto'
import { recordedAnswers, startOutside } from '../outside/outside.ts'
import {
  COINBASE_KEY_ID,
  coinbaseKey,
  coinbaseWebhook,
  MOONPAY_KEYS,
  moonpayWebhook,
} from '../support/fake-onramps.ts'

const WEBHOOK_SECRET = 'stand-in'

/** What a card provider is to sell: the fields of the recorded answers, of which each purchase has its own. */
export type Purchase = { readonly reference: string; readonly address: string }

/**
 * A stand-in of Coinbase Onramp and MoonPay for staging: it answers what is recorded of them, and nothing else. Its
 * pages are its own, for the real ones take real money.
 */
export async function startRecordedOnramps() {
  const { answer } = recordedAnswers('onramps')
  const outside = await startOutside()
  const key = coinbaseKey('ed25519')
  const purchases: Purchase[] = []
  const session = answer('coinbase session')
  const body = session.body as { readonly session: { readonly onrampUrl: string } }
  const recordedPage = new URL(body.session.onrampUrl)
  const page = `${outside.url}${recordedPage.pathname}${recordedPage.search}`
  const answers: {
    readonly [question: string]: Pick<ReturnType<typeof answer>, 'status' | 'body' | 'text'>
  } = {
    'GET /onramp/v1/buy/options': answer('coinbase buy options'),
    'POST /platform/v2/onramp/sessions': { ...session, body: { ...body, session: { onrampUrl: page } } },
    [`GET ${recordedPage.pathname}`]: { status: 200, text: '<h1>Coinbase, rehearsed</h1>' },
    'GET /v3/currencies': answer('moonpay currencies'),
    'GET /v3/countries': answer('moonpay countries'),
    'GET /v3/currencies/usdc_base/limits': answer('moonpay limits'),
    'GET /v3/currencies/usdc_base/buy_quote': answer('moonpay quote'),
  }
  outside.give(({ method, path, body }) => {
    const url = new URL(path, outside.url)
    if (method === 'POST' && body !== '') {
      const { partnerUserRef, destinationAddress } = JSON.parse(body)
      purchases.push({ reference: partnerUserRef, address: destinationAddress })
    }
    if (/^\/onramp\/v1\/buy\/user\/[^/]+\/transactions$/.test(url.pathname))
      return answer('coinbase transactions')
    if (url.pathname === '/') return openWidget(url)
    return answers[`${method} ${url.pathname}`] ?? { status: 404, text: `not recorded: ${method} ${path}` }
  })
  const openWidget = (url: URL) => {
    const [query = '', signature = ''] = url.search.split('&signature=')
    const expected = createHmac('sha256', MOONPAY_KEYS.secretKey).update(query).digest('base64')
    if (decodeURIComponent(signature) !== expected) return { status: 403, text: 'wrong signature' }
    const { externalTransactionId = '', walletAddress = '' } = Object.fromEntries(url.searchParams)
    purchases.push({ reference: externalTransactionId, address: walletAddress })
    return { status: 200, text: '<h1>MoonPay, rehearsed</h1>' }
  }
  const hook = (name: string) => answer(name).body as { readonly data?: object }
  return {
    url: outside.url,
    close: outside.close,
    /** The newest purchase that a provider was told of. */
    purchase: (): Purchase => purchases.at(-1) ?? { reference: '', address: '' },
    /** What makes Paylink ask it in place of the providers. */
    environment: {
      COINBASE_ONRAMP_KEY_ID: COINBASE_KEY_ID,
      COINBASE_ONRAMP_KEY_SECRET: key.secret,
      COINBASE_ONRAMP_WEBHOOK_SECRET: WEBHOOK_SECRET,
      COINBASE_ONRAMP_URL: outside.url,
      COINBASE_ONRAMP_OPTIONS_URL: outside.url,
      MOONPAY_API_KEY: MOONPAY_KEYS.apiKey,
      MOONPAY_SECRET_KEY: MOONPAY_KEYS.secretKey,
      MOONPAY_WEBHOOK_KEY: WEBHOOK_SECRET,
      MOONPAY_URL: outside.url,
      MOONPAY_WIDGET_URL: outside.url,
    },
    /** The recorded webhook of a purchase that is completed, signed as the provider signs. */
    webhook: (provider: 'coinbase' | 'moonpay', { reference, address }: Purchase) => {
      if (provider === 'moonpay') {
        const event = hook('moonpay webhook')
        const data = { ...event.data, walletAddress: address, externalTransactionId: reference }
        return moonpayWebhook(WEBHOOK_SECRET, { ...event, data }, Date.now())
      }
      const event = { ...hook('coinbase webhook, hosted'), walletAddress: address, partnerUserRef: reference }
      return coinbaseWebhook(WEBHOOK_SECRET, event, { atMs: Date.now() })
    },
  }
}
export type RecordedOnramps = Awaited<ReturnType<typeof startRecordedOnramps>>

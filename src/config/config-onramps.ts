import { createPrivateKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { OnrampConfig } from '../onramp/open-onramps.ts'
import { isRealProvider } from '../onramp/real-provider.ts'
import { ConfigError, type Environment, must, origin, readerOf } from './config-values.ts'

const coinbaseKey = z
  .string()
  .transform((text) => parseCoinbaseKey(text))
  .pipe(z.custom<KeyObject>((key) => key !== null))
/** Test keys sell coins of test networks, and test mode has the sandbox's own card page. */
const moonpayKey = (kind: 'pk' | 'sk') => z.string().regex(new RegExp(`^${kind}_live_[A-Za-z0-9]{1,200}$`))
/** Printable ASCII without spaces. */
const token = z.string().regex(/^[!-~]{1,500}$/)

const anOrigin = must('an http or https origin', origin)
const VARIABLES = {
  COINBASE_ONRAMP_KEY_ID: must('the name of a Coinbase Developer Platform key', token),
  COINBASE_ONRAMP_KEY_SECRET: must(
    'the secret of a Coinbase Developer Platform key: 64 bytes in base64 (Ed25519), or an EC private key on P-256 in PEM',
    coinbaseKey,
  ),
  COINBASE_ONRAMP_WEBHOOK_SECRET: must("the secret of Coinbase's webhook subscription", token),
  COINBASE_ONRAMP_URL: anOrigin,
  COINBASE_ONRAMP_OPTIONS_URL: anOrigin,
  MOONPAY_API_KEY: must("MoonPay's publishable live key, pk_live_…", moonpayKey('pk')),
  MOONPAY_SECRET_KEY: must("MoonPay's secret live key, sk_live_…", moonpayKey('sk')),
  MOONPAY_WEBHOOK_KEY: must("MoonPay's webhook key", token),
  MOONPAY_URL: anOrigin,
  MOONPAY_WIDGET_URL: anOrigin,
}
const read = readerOf(VARIABLES)
export const ONRAMP_VARIABLES: readonly string[] = Object.keys(VARIABLES)

/** The card providers that an environment names: one has both its keys, or neither and is absent. Throws `ConfigError`. */
export function readOnramps(env: Environment, staging: boolean): OnrampConfig {
  const keyId = read(env, 'COINBASE_ONRAMP_KEY_ID')
  const keySecret = read(env, 'COINBASE_ONRAMP_KEY_SECRET')
  const apiKey = read(env, 'MOONPAY_API_KEY')
  const secretKey = read(env, 'MOONPAY_SECRET_KEY')
  refuseHalf({ COINBASE_ONRAMP_KEY_ID: keyId, COINBASE_ONRAMP_KEY_SECRET: keySecret })
  refuseHalf({ MOONPAY_API_KEY: apiKey, MOONPAY_SECRET_KEY: secretKey })
  // Checked even when the provider is absent, so that a wrong value shows at the first start and not when the keys
  // are added.
  const coinbase = {
    staging,
    webhookSecret: read(env, 'COINBASE_ONRAMP_WEBHOOK_SECRET') ?? null,
    apiUrl: read(env, 'COINBASE_ONRAMP_URL') ?? 'https://api.cdp.coinbase.com',
    optionsUrl: read(env, 'COINBASE_ONRAMP_OPTIONS_URL') ?? 'https://api.developer.coinbase.com',
  }
  const moonpay = {
    webhookKey: read(env, 'MOONPAY_WEBHOOK_KEY') ?? null,
    apiUrl: read(env, 'MOONPAY_URL') ?? 'https://api.moonpay.com',
    widgetUrl: read(env, 'MOONPAY_WIDGET_URL') ?? 'https://buy.moonpay.com',
  }
  if (staging && keyId !== undefined)
    refuseReal({ COINBASE_ONRAMP_URL: coinbase.apiUrl, COINBASE_ONRAMP_OPTIONS_URL: coinbase.optionsUrl })
  if (staging && apiKey !== undefined)
    refuseReal({ MOONPAY_URL: moonpay.apiUrl, MOONPAY_WIDGET_URL: moonpay.widgetUrl })
  return {
    coinbase: keyId === undefined || keySecret === undefined ? null : { keyId, keySecret, ...coinbase },
    moonpay: apiKey === undefined || secretKey === undefined ? null : { apiKey, secretKey, ...moonpay },
  }
}

/** What a real provider sells would go to a private chain's address. */
function refuseReal(urls: { readonly [name: string]: string }): void {
  for (const [name, url] of Object.entries(urls)) {
    if (!isRealProvider(new URL(url))) continue
    throw new ConfigError(`${name} must be a stand-in's while STAGING is 1: a real provider takes real money`)
  }
}

function refuseHalf(pair: { readonly [name: string]: unknown }): void {
  const given = Object.keys(pair).find((name) => pair[name] !== undefined)
  const missing = Object.keys(pair).find((name) => pair[name] === undefined)
  if (given !== undefined && missing !== undefined)
    throw new ConfigError(`${given} needs ${missing} beside it`)
}

const SEED_BYTES = 32
const ED25519_BYTES = 64
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * The secret of a Coinbase Developer Platform key: 64 bytes in base64, an Ed25519 seed and its public key; or, of
 * older keys, an EC private key on P-256 as PEM, its line ends perhaps written as `\n`. Null for anything else.
 */
export function parseCoinbaseKey(text: string): KeyObject | null {
  try {
    if (text.startsWith('-----BEGIN')) {
      const key = createPrivateKey(text.replaceAll('\\n', '\n'))
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null
    }
    if (!BASE64.test(text)) return null
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length !== ED25519_BYTES) return null
    const d = bytes.subarray(0, SEED_BYTES).toString('base64url')
    const x = bytes.subarray(SEED_BYTES).toString('base64url')
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  } catch {
    // OpenSSL's error says only that this is not a key; the caller names the variable that holds it.
    return null
  }
}

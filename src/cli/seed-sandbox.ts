import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { ASSETS } from '../core/assets.ts'
import { ON_BY_DEFAULT } from '../core/payment-rules.ts'
import { findApiKey } from '../db/people/api-keys.ts'
import { createApiKey } from '../flows/create-api-key.ts'
import { createMerchant } from '../flows/create-merchant.ts'
import { FOLLOWED_CHAINS } from '../nodes/chain-nodes.ts'
import { hashPassword } from '../people/hash-password.ts'
import type { OpenDatabase } from '../postgres/open-database.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { readFileIfPresent, writeSecretFile } from '../runtime/data-dir.ts'
import { withFileLock } from '../runtime/file-lock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { hashApiKey } from '../secrets/new-api-key.ts'
import { randomBase62 } from '../secrets/random-base62.ts'
import { SCOPES } from '../wire/scopes.ts'
import { openCommandSeals } from './open-seals.ts'
import { apiErrorShape, requestOwnApi } from './request-own-api.ts'

const DEMO_NAME = 'Demo Shop'
/** Another demo shop in the same database has another owner: nobody knows the first one's password. */
const EMAIL_TAG_LENGTH = 4
const PASSWORD_LENGTH = 16
const DEMO_INVOICE = { usd_amount: '49.99', asset: 'LTC', external_reference: 'demo-order-1' }
/** A demo invoice with less time left than this is replaced by a fresh one. */
const TIME_LEFT_MS_MIN = 10 * 60_000
/** The signer has to publish its keys and the watcher to derive the first addresses. */
const ADDRESSES_MS_MAX = 30_000
const RETRY_MS = 50
/** Every coin of the sandbox is soon ready; a start does not wait longer for the slowest, or for one that is not there. */
const COINS_MS_MAX = 3_000

const rememberedShape = z.object({
  merchant_id: z.string(),
  email: z.string(),
  password: z.string(),
  api_key: z.string(),
  invoice_id: z.string().optional(),
})
type Remembered = z.output<typeof rememberedShape>
const invoiceShape = z.object({
  id: z.string(),
  status: z.string(),
  expires_at: z.string(),
  checkout_url: z.string(),
})
const assetsShape = z.object({ data: z.array(z.object({ asset: z.string(), available: z.boolean() })) })

export type SeededSandbox = {
  readonly merchantId: string
  readonly email: string
  /** Of the demo shop's owner, for the dashboard. */
  readonly password: string
  /** A test key with every scope. */
  readonly apiKey: string
  readonly checkoutUrl: string
}

/**
 * A demo shop with a test key and an open invoice, made on the first start and found again on every later one:
 * `<dataDir>/sandbox.json` remembers the key, which opens nothing but test mode, and its owner's password. Null where `stop` came first.
 */
export async function seedSandbox(options: {
  config: Config
  database: OpenDatabase
  onStep: (line: string) => void
  stop: AbortSignal
}): Promise<SeededSandbox | null> {
  const { config, database, onStep, stop } = options
  const path = rememberedPath(config)
  const { ownerUrl } = database
  if (ownerUrl === null) return null
  return await withFileLock(`${path}.lock`, async () => {
    const shop = await withPool(ownerUrl, (pool) => findOrMakeShop(config, pool, path, onStep))
    const invoice = await findOrMakeInvoice(config, shop, stop)
    if (invoice === null) return null
    await untilCoinsAreReady(config, shop, stop)
    if (invoice.id !== shop.invoice_id) await remember(path, { ...shop, invoice_id: invoice.id })
    return {
      merchantId: shop.merchant_id,
      email: shop.email,
      password: shop.password,
      apiKey: shop.api_key,
      checkoutUrl: invoice.checkout_url,
    }
  })
}

/** The demo shop that an earlier start of the sandbox made here; null where there was none. */
export async function readDemoShop(config: Config): Promise<Remembered | null> {
  return parseRemembered(await readFileIfPresent(rememberedPath(config)))
}

const rememberedPath = (config: Config): string => join(config.dataDir, 'sandbox.json')

async function findOrMakeShop(
  config: Config,
  pool: Pool,
  path: string,
  onStep: (line: string) => void,
): Promise<Remembered> {
  const seals = await openCommandSeals(config, pool)
  const known = parseRemembered(await readFileIfPresent(path))
  // A key of another database, or one that was revoked, is of no use to anybody.
  const key = known === null ? null : await findApiKey(pool, hashApiKey(known.api_key))
  if (known !== null && key !== null && seals.isSealed('apiKey', key)) return known
  onStep('making a demo shop')
  const deps = { pool, clock: systemClock, seals }
  const password = randomBase62(PASSWORD_LENGTH)
  const passwordHash = await hashPassword(password)
  const email = `owner-${randomBase62(EMAIL_TAG_LENGTH).toLowerCase()}@demo.example`
  const merchant = await createMerchant(deps, { name: DEMO_NAME, email, passwordHash })
  const created = await createApiKey(deps, { merchantId: merchant.id, livemode: false, scopes: SCOPES })
  if (created.kind !== 'created') throw new Error('the demo shop vanished while it was made')
  const shop: Remembered = { merchant_id: merchant.id, email, password, api_key: created.key }
  await remember(path, shop)
  return shop
}

function parseRemembered(text: string | null): Remembered | null {
  if (text === null) return null
  try {
    return rememberedShape.parse(JSON.parse(text))
  } catch {
    // The file holds nothing that cannot be made anew.
    return null
  }
}

const remember = (path: string, content: Remembered): Promise<void> =>
  writeSecretFile(path, `${JSON.stringify(content, null, 2)}\n`)

async function withPool<Result>(url: string, work: (pool: Pool) => Promise<Result>): Promise<Result> {
  const pool = openPool({
    connectionString: url,
    applicationName: 'paylink-start',
    max: 2,
    onError: () => {},
  })
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

type Invoice = z.output<typeof invoiceShape>

/** Through the API itself, as a merchant's server would. */
async function findOrMakeInvoice(
  config: Config,
  shop: Remembered,
  stop: AbortSignal,
): Promise<Invoice | null> {
  if (shop.invoice_id !== undefined) {
    const found = await requestOwnApi(config, shop.api_key, 'GET', `/api/v1/invoices/${shop.invoice_id}`)
    const invoice = found.status === 200 ? invoiceShape.parse(found.body) : null
    if (invoice !== null && isStillOpen(invoice)) return invoice
  }
  const giveUpAt = Date.now() + ADDRESSES_MS_MAX
  while (!stop.aborted) {
    const created = await requestOwnApi(config, shop.api_key, 'POST', '/api/v1/invoices', DEMO_INVOICE)
    if (created.status === 201) return invoiceShape.parse(created.body)
    const { code, message } = apiErrorShape.parse(created.body).error
    if (code !== 'asset_unavailable' && code !== 'rate_unavailable') {
      throw new Error(`the demo invoice was refused: ${code}, ${message}`)
    }
    if (Date.now() > giveUpAt) {
      throw new StartRefused(`the demo invoice could not be created, ${message}: see paylink doctor`)
    }
    await pause(RETRY_MS)
  }
  return null
}

/** Whoever pastes the banner's first command must not be the one who waits for addresses. */
async function untilCoinsAreReady(config: Config, shop: Remembered, stop: AbortSignal): Promise<void> {
  const expected = ON_BY_DEFAULT.filter((asset) =>
    FOLLOWED_CHAINS.some((chain) => chain === ASSETS[asset].chain),
  )
  const giveUpAt = Date.now() + COINS_MS_MAX
  while (!stop.aborted && Date.now() < giveUpAt) {
    const { data } = assetsShape.parse(
      (await requestOwnApi(config, shop.api_key, 'GET', '/api/v1/assets')).body,
    )
    const ready = data.filter(({ available }) => available).map(({ asset }) => asset)
    if (expected.every((asset) => ready.includes(asset))) return
    await pause(RETRY_MS)
  }
}

function isStillOpen(invoice: Invoice): boolean {
  return (
    invoice.status === 'awaiting_payment' && Date.parse(invoice.expires_at) - Date.now() > TIME_LEFT_MS_MIN
  )
}

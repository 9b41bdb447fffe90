import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { AddressShares, RESERVED_ADDRESSES } from '../../src/core/address-shares.ts'
import type { AssetId } from '../../src/core/assets.ts'
import { formatPrice, parsePrice } from '../../src/core/money.ts'
import { createApiKey } from '../../src/flows/create-api-key.ts'
import { createMerchant } from '../../src/flows/create-merchant.ts'
import { createDepositAddressLimit } from '../../src/flows/steps/deposit-address-limit.ts'
import { createOpenInvoiceLimit } from '../../src/flows/steps/open-invoice-limit.ts'
import { type ApiApp, createApiApp } from '../../src/http/api/app.ts'
import type { ApiDeps } from '../../src/http/api/deps.ts'
import { createNetworkStates } from '../../src/http/api/network-states.ts'
import { createCurrencyRates } from '../../src/rates/currency-rates.ts'
import { openAccessSeals } from '../../src/secrets/access-seals.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { SCOPES, type Scope } from '../../src/wire/scopes.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { withDeclaredAnswers } from './declared-answers.ts'
import { sealedWriter, type WriteSealed } from './sealed.ts'

export const BASE_URL = 'https://pay.example.com'
export const START = new Date('2026-11-21T12:00:00.000Z')
/** What a test takes, and what one merchant leaves to others. */
const POOL_SIZE = 400 + RESERVED_ADDRESSES
/** Of every test of the API. */
const keyring = openKeyring(Buffer.alloc(32, 7))

/** US dollars per coin in every test of the API. */
const PRICES: { readonly [asset in AssetId]: string } = {
  BTC: '97123.45',
  LTC: '84.37',
  ETH: '3105.2',
  ETH_BASE: '3105.2',
  USDC_BASE: '1',
  SOL: '187.5',
  USDC_ETHEREUM: '1',
  ETH_ARBITRUM: '3105.2',
  USDC_ARBITRUM: '1',
  USDT_ETHEREUM: '1',
  USDT_ARBITRUM: '1',
  POL_POLYGON: '0.5',
  USDC_POLYGON: '1',
  USDT_POLYGON: '1',
  USDC_SOLANA: '1',
  USDT_SOLANA: '1',
  PYUSD_SOLANA: '1',
}

export type TestApi = {
  readonly app: ApiApp
  readonly database: TestDatabase
  readonly deps: ApiDeps
  /** The service's time of day and its growing milliseconds, moved together. */
  readonly time: { now: Date; advance(ms: number): void }
  /** Assets that have no price until taken out again. */
  readonly unpriced: Set<AssetId>
  /** What the service has logged. */
  readonly logged: string[]
  addMerchant(): Promise<TestMerchant>
  addKey(
    merchantId: string,
    livemode: boolean,
    scopes: readonly Scope[],
  ): Promise<{ id: string; key: string }>
  /** One request; the answer's body parsed, where there is one. */
  call(method: string, path: string, options?: CallOptions): Promise<TestAnswer>
  /** A statement of the test's own about people, members or keys, as if Paylink had written its rows. */
  readonly writeSealed: WriteSealed
  drop(): Promise<void>
}

/** A merchant with a key of every scope in each mode. */
export type TestMerchant = { readonly id: string; readonly testKey: string; readonly liveKey: string }

export type CallOptions = {
  readonly key?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly text?: string | Uint8Array<ArrayBuffer>
  readonly headers?: { readonly [name: string]: string }
}

export type TestAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
  readonly body: any
}

/** The API on a database of its own, with fixed prices, filled address pools on regtest, and a clock that a test moves. */
export async function createTestApi(
  changes: Partial<TestApi['deps']> = {},
  { openInvoicesMax = 20_000, depositAddressesMax = 1_000, server = undefined as string | undefined } = {},
): Promise<TestApi> {
  const database = await createTestDatabase(server)
  const time = createTestTime()
  const unpriced = new Set<AssetId>()
  const logged: string[] = []
  const clock = () => time.now
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) })
  const deps: TestApi['deps'] = {
    pool: database.pools.api,
    clock,
    log,
    keyring,
    seals: openAccessSeals(keyring, log),
    prices: fixedPrices(unpriced, clock),
    // Never asks anybody: test mode has its table, and live mode nothing.
    currencyRates: createCurrencyRates({ urls: {}, clock }),
    baseUrl: BASE_URL,
    serviceFeeBps: 0,
    // The pools hold addresses that no signer issued; tests of the check bring their own.
    issuedAddresses: {
      isIssued: async (keyspace, _pooled, _batch, shownFor) =>
        shownFor !== undefined || !keyspace.startsWith('solana-'),
      shares: new AddressShares(),
    },
    openInvoices: createOpenInvoiceLimit({
      pool: database.pools.api,
      max: openInvoicesMax,
      elapsedMs: time.elapsedMs,
    }),
    depositAddresses: createDepositAddressLimit({
      pool: database.pools.api,
      max: depositAddressesMax,
      elapsedMs: time.elapsedMs,
    }),
    networks: createNetworkStates(database.pools.api, time.elapsedMs),
    notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {}, activity: () => {} },
    rateLimits: { live: 1_000_000, test: 1_000_000 },
    webhookAllowPrivate: true,
    elapsedMs: time.elapsedMs,
    ...changes,
  }
  const app = withDeclaredAnswers(createApiApp(deps))
  await fillPools(database)
  const owner = { pool: database.owner, clock, seals: deps.seals }
  const addKey: TestApi['addKey'] = async (merchantId, livemode, scopes) => {
    const made = await createApiKey(owner, { merchantId, livemode, scopes })
    if (made.kind !== 'created') throw new Error(made.kind)
    return made
  }
  return {
    app,
    database,
    deps,
    time,
    unpriced,
    logged,
    addKey,
    addMerchant: async () => {
      const { id } = await createMerchant(owner, { name: 'Shop', email: 'owner@example.com' })
      const [test, live] = [await addKey(id, false, SCOPES), await addKey(id, true, SCOPES)]
      return { id, testKey: test.key, liveKey: live.key }
    },
    call: (method, path, options) => callApp(app, method, path, options),
    writeSealed: sealedWriter(database.owner, deps.seals),
    drop: () => database.drop(),
  }
}

function createTestTime() {
  let elapsed = 0
  const time = {
    now: START,
    elapsedMs: () => elapsed,
    advance: (ms: number) => {
      elapsed += ms
      time.now = new Date(time.now.getTime() + ms)
    },
  }
  return time
}

function fixedPrices(unpriced: ReadonlySet<AssetId>, clock: () => Date): TestApi['deps']['prices'] {
  return {
    quote: (asset) => {
      const price = parsePrice(PRICES[asset])
      if (price === null || unpriced.has(asset))
        return { kind: 'unavailable', reason: 'taken out by the test' }
      const quotedAt = clock().toISOString()
      const sources = [{ name: 'test', usdPerUnit: formatPrice(price), at: quotedAt }]
      return { kind: 'quote', price, evidence: { usdPerUnit: formatPrice(price), quotedAt, sources } }
    },
    report: () => [],
  }
}

/** Bitcoin and Litecoin in both modes, each with a pool of addresses. The addresses are made up; nobody pays them. */
async function fillPools(database: TestDatabase): Promise<void> {
  for (const chain of ['bitcoin', 'litecoin'] as const) {
    for (const mode of ['live', 'test'] as const) {
      const parameters = mode === 'live' ? 'main' : 'regtest'
      await database.owner.query(
        `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
         values ($1, $2, 100, 'hash', 100, 'ok', now())`,
        [`${chain}-${mode}`, parameters],
      )
      await database.owner.query(
        `insert into network_watch (network, keyspace, through, updated_at) values ($1, $1, 1000000000, now())`,
        [`${chain}-${mode}`],
      )
      await addAddresses(database, `${chain}-${mode}`, parameters, POOL_SIZE)
    }
  }
}

let addressesMade = 0

/** Adds addresses to a pool. */
export async function addAddresses(
  database: TestDatabase,
  keyspace: string,
  parameters: string,
  count: number,
): Promise<void> {
  await database.owner.query(
    `insert into account_key (keyspace, xpub, path, created_at) values ($1, 'xpub', 'm', now()) on conflict do nothing`,
    [keyspace],
  )
  const addresses = Array.from({ length: count }, () => randomBytes(20))
  const first = addressesMade
  addressesMade += count
  await database.owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at)
     select $1, $2 + row_number() over (), program, 'address-' || encode(program, 'hex'), $3, now()
     from unnest($4::bytea[]) as program`,
    [keyspace, first, parameters, addresses],
  )
}

/** One request to any app of the API; the answer's body parsed, where there is one. */
export async function callApp(
  app: ApiApp,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<TestAnswer> {
  const headers: { [name: string]: string } = {}
  if (options.key !== undefined) headers.authorization = `Bearer ${options.key}`
  const body = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  if (body !== undefined) headers['content-type'] = 'application/json'
  const init = {
    method,
    headers: { ...headers, ...options.headers },
    ...(body === undefined ? {} : { body }),
  }
  const response = await app.request(`/api/v1${path}`, init)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  }
}
